// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_GEOMETRY_ROTATIONS_HPP
#define COTANGENT_OPS_GEOMETRY_ROTATIONS_HPP

#include <cotangent/ops/function.hpp>
#include <cotangent/ops/geometry/parts.hpp>
#include <cotangent/ops/geometry/smooth.hpp>

#include <source_location>

// Quaternions (w, x, y, z), rotation vectors and rotation matrices, as formulas over their components: their derivatives follow.

namespace cotangent {
namespace extend {

/// A quaternion by its components, real part first.
struct quaternion {
  term w;
  triple v;
  constexpr quaternion(term real, triple const& rest) : w(real), v(rest) {}
  constexpr explicit quaternion(term q) : w(component(q, 0)), v(q, 1) {}
  constexpr term joined() const { return vector_of(w, v.x, v.y, v.z); }
};

/// The quaternion of a rotation vector.
constexpr quaternion quaternion_of(triple const& r) {
  term const half = 0.25 * dot(r, r);
  return {apply<op::cos_of_square>(half), r.times(0.5 * apply<op::sinc_of_square>(half))};
}
/// The vector, rotated by a quaternion of length 1.
constexpr triple rotated(quaternion const& q, triple const& x) {
  triple const twice = cross(q.v + q.v, x);
  return x + twice.times(q.w) + cross(q.v, twice);
}
/// The rows of the rotation matrix of a quaternion of length 1.
constexpr void rotation_rows(quaternion const& q, term* to, int stride = 3) {
  triple const v = q.v, s = v + v, of_w = s.times(q.w);
  term const xx = v.x * s.x, yy = v.y * s.y, zz = v.z * s.z, xy = v.x * s.y, xz = v.x * s.z, yz = v.y * s.z;
  term const rows[]{1 - (yy + zz), xy - of_w.z,     xz + of_w.y,   //
                    xy + of_w.z,   1 - (xx + zz), yz - of_w.x,   //
                    xz - of_w.y,   yz + of_w.x,     1 - (xx + yy)};
  for (int k = 0; k < 9; ++k) to[k / 3 * stride + k % 3] = rows[k];
}
/// The rotation vector, of at most half a turn, of a quaternion of any length, the square of which is a normal number.
constexpr triple rotation_vector(quaternion const& q) {
  term const one = constant_like(q.w, 1), sign = select(q.w < 0, -one, one);
  term const square = dot(q.v, q.v), length = apply<op::sqrt>(q.w * q.w + square);
  // tan(angle / 4) = |v| / (|w| + |q|), at most 1
  term const inverse = apply<op::reciprocal>(sign * q.w + length);
  return q.v.times(4 * sign * inverse * arctangent_of_square(square * inverse * inverse));
}
/// The quaternion of length 1 of a rotation matrix, with a positive largest component.
constexpr quaternion quaternion_of_matrix(term m) {
  term const a = component(m, 0, 0), b = component(m, 1, 1), c = component(m, 2, 2);
  triple const low(component(m, 2, 1), component(m, 0, 2), component(m, 1, 0)), high(component(m, 1, 2), component(m, 2, 0), component(m, 0, 1));
  triple const odd = low - high, even = low + high;
  // Rows of 4 q q': the one with the largest diagonal entry is divided by its root. (Shepperd 1978.)
  term const of_w = 1 + a + b + c, of_x = 1 + a - b - c, of_y = 1 - a + b - c, of_z = 1 - a - b + c;
  quaternion const rows[]{{of_w, odd}, {odd.x, triple(of_x, even.z, even.y)}, {odd.y, triple(even.z, of_y, even.x)}, {odd.z, triple(even.y, even.x, of_z)}};
  term best = of_w;
  quaternion row = rows[0];
  term const diagonal[]{of_w, of_x, of_y, of_z};
  for (int k = 1; k < 4; ++k) {
    term const larger = diagonal[k] > best;
    auto const either = [&](term now, term before) { return select(larger, now, before); };
    row = {either(rows[k].w, row.w), triple(either(rows[k].v.x, row.v.x), either(rows[k].v.y, row.v.y), either(rows[k].v.z, row.v.z))};
    best = either(diagonal[k], best);
  }
  term const scale = 0.5 * apply<op::reciprocal>(apply<op::sqrt>(best));
  return {row.w * scale, row.v.times(scale)};
}
constexpr dimensions matrix_of(dimension n) { return {2, {n, n}}; }

/// The coefficients of the left Jacobian of SO(3), a + b [r] + c r r'.
struct jacobian_of_rotation {
  term a, b, c;
  constexpr explicit jacobian_of_rotation(term square) {
    term const half = 0.25 * square, s = apply<op::sinc_of_square>(half);
    a = s * apply<op::cos_of_square>(half), b = 0.5 * s * s, c = angle_minus_sine(square);
  }
  constexpr triple operator()(triple const& r, triple const& x) const {
    return x.times(a) + cross(r, x).times(b) + r.times(c * dot(r, x));
  }
};

} // namespace extend

namespace detail {

struct quaternion_multiply_fn {
  static constexpr char const* name = "quaternion_multiply";
  constexpr term operator()(term p, term q) const {
    if (!extend::has_components(p, 4) || !extend::has_components(q, 4)) return p;
    extend::quaternion const a(p), b(q);
    extend::triple const v = b.v.times(a.w) + a.v.times(b.w) + extend::cross(a.v, b.v);
    return extend::quaternion(a.w * b.w - extend::dot(a.v, b.v), v).joined();
  }
};
struct quaternion_conjugate_fn {
  static constexpr char const* name = "quaternion_conjugate";
  constexpr term operator()(term q) const {
    if (!extend::has_components(q, 4)) return q;
    extend::quaternion const a(q);
    return extend::quaternion(a.w, -a.v).joined();
  }
};
struct quaternion_normalize_fn {
  static constexpr char const* name = "quaternion_normalize";
  constexpr term operator()(term q) const {
    if (!extend::has_components(q, 4)) return q;
    return q * extend::apply<op::reciprocal>(extend::apply<op::sqrt>(extend::sum(q * q, 1u << (q.rank() - 1), true)));
  }
};
struct quaternion_rotate_fn {
  static constexpr char const* name = "quaternion_rotate";
  constexpr term operator()(term q, term x) const {
    if (!extend::has_components(q, 4) || !extend::has_components(x, 3)) return q;
    return extend::rotated(extend::quaternion(q), extend::triple(x)).joined();
  }
};
struct quaternion_to_matrix_fn {
  static constexpr char const* name = "quaternion_to_matrix";
  constexpr term operator()(term q) const {
    if (!extend::has_components(q, 4)) return q;
    term rows[9];
    extend::rotation_rows(extend::quaternion(q), rows);
    return extend::joined(rows, extend::matrix_of(3));
  }
};
struct matrix_to_quaternion_fn {
  static constexpr char const* name = "matrix_to_quaternion";
  constexpr term operator()(term m) const {
    return extend::has_sides(m, 3) ? extend::quaternion_of_matrix(m).joined() : m;
  }
};
struct axis_angle_to_quaternion_fn {
  static constexpr char const* name = "axis_angle_to_quaternion";
  using uses = geometry_operations;
  constexpr term operator()(term r) const {
    return extend::has_components(r, 3) ? extend::quaternion_of(extend::triple(r)).joined() : r;
  }
};
struct quaternion_to_axis_angle_fn {
  static constexpr char const* name = "quaternion_to_axis_angle";
  constexpr term operator()(term q) const {
    return extend::has_components(q, 4) ? extend::rotation_vector(extend::quaternion(q)).joined() : q;
  }
};
struct rodrigues_fn {
  static constexpr char const* name = "rodrigues";
  using uses = geometry_operations;
  constexpr term operator()(term r, term x) const {
    if (!extend::has_components(r, 3) || !extend::has_components(x, 3)) return r;
    return extend::rotated(extend::quaternion_of(extend::triple(r)), extend::triple(x)).joined();
  }
};
struct so3_hat_fn {
  static constexpr char const* name = "so3_hat";
  constexpr term operator()(term r) const {
    if (!extend::has_components(r, 3)) return r;
    extend::triple const v(r);
    term const zero = extend::constant_like(v.x, 0);
    term const rows[]{zero, -v.z, v.y, v.z, zero, -v.x, -v.y, v.x, zero};
    return extend::joined(rows, extend::matrix_of(3));
  }
};
struct so3_vee_fn {
  static constexpr char const* name = "so3_vee";
  constexpr term operator()(term m) const {
    if (!extend::has_sides(m, 3)) return m;
    auto const odd = [&](dimension i, dimension j) { return 0.5 * (extend::component(m, i, j) - extend::component(m, j, i)); };
    return extend::vector_of(odd(2, 1), odd(0, 2), odd(1, 0));
  }
};
struct so3_exp_fn {
  static constexpr char const* name = "so3_exp";
  using uses = geometry_operations;
  constexpr term operator()(term r) const {
    if (!extend::has_components(r, 3)) return r;
    term rows[9];
    extend::rotation_rows(extend::quaternion_of(extend::triple(r)), rows);
    return extend::joined(rows, extend::matrix_of(3));
  }
};
struct so3_log_fn {
  static constexpr char const* name = "so3_log";
  constexpr term operator()(term m) const {
    return extend::has_sides(m, 3) ? extend::rotation_vector(extend::quaternion_of_matrix(m)).joined() : m;
  }
};
struct so3_compose_fn {
  static constexpr char const* name = "so3_compose";
  constexpr term operator()(term a, term b) const {
    return extend::has_sides(a, 3) && extend::has_sides(b, 3) ? extend::matmul(a, b) : a;
  }
};
struct so3_act_fn {
  static constexpr char const* name = "so3_act";
  constexpr term operator()(term m, term x) const {
    return extend::has_sides(m, 3) && extend::has_components(x, 3) ? extend::transformed(m, x) : m;
  }
};

} // namespace detail

/// The product of quaternions (w, x, y, z): the rotation by q, then that by p.
template <detail::operand P, detail::operand Q>
constexpr auto quaternion_multiply(P const& p, Q const& q, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::quaternion_multiply_fn{}, p, q);
}
/// (w, -x, -y, -z), the inverse of a quaternion of length 1.
template <detail::operand Q>
constexpr auto quaternion_conjugate(Q const& q, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::quaternion_conjugate_fn{}, q);
}
/// q / |q|; NaN at 0.
template <detail::operand Q>
constexpr auto quaternion_normalize(Q const& q, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::quaternion_normalize_fn{}, q);
}
/// A vector of 3, rotated by a quaternion of length 1.
template <detail::operand Q, detail::operand X>
constexpr auto quaternion_rotate(Q const& q, X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::quaternion_rotate_fn{}, q, x);
}
/// The rotation matrix of a quaternion of length 1.
template <detail::operand Q>
constexpr auto quaternion_to_matrix(Q const& q, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::quaternion_to_matrix_fn{}, q);
}
/// The quaternion of a rotation matrix; of the two, the one whose largest component is positive.
template <detail::operand M>
constexpr auto matrix_to_quaternion(M const& m, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::matrix_to_quaternion_fn{}, m);
}
/// The quaternion of a rotation vector, whose direction is the axis and whose length is the angle. Adjoints are exact at 0, too.
template <detail::operand R>
constexpr auto axis_angle_to_quaternion(R const& r, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::axis_angle_to_quaternion_fn{}, r);
}
/// The rotation vector of a quaternion, of an angle of at most pi. Edges: jumps from r to -r at pi; NaN for the quaternion 0.
template <detail::operand Q>
constexpr auto quaternion_to_axis_angle(Q const& q, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::quaternion_to_axis_angle_fn{}, q);
}
/// The vector x, rotated by the rotation vector r, without a matrix.
template <detail::operand R, detail::operand X>
constexpr auto rodrigues(R const& r, X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::rodrigues_fn{}, r, x);
}
/// The matrix [r] of the cross product: [r] x = cross(r, x).
template <detail::operand R>
constexpr auto so3_hat(R const& r, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::so3_hat_fn{}, r);
}
/// The inverse of so3_hat; of any matrix, the vector of its antisymmetric part.
template <detail::operand M>
constexpr auto so3_vee(M const& m, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::so3_vee_fn{}, m);
}
/// The rotation matrix of a rotation vector. Adjoints are exact at 0, too.
template <detail::operand R>
constexpr auto so3_exp(R const& r, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::so3_exp_fn{}, r);
}
/// The rotation vector of a rotation matrix, of an angle of at most pi. Edges: jumps from r to -r at pi.
template <detail::operand M>
constexpr auto so3_log(M const& m, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::so3_log_fn{}, m);
}
/// The product of rotation matrices: the rotation by b, then that by a.
template <detail::operand A, detail::operand B>
constexpr auto so3_compose(A const& a, B const& b, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::so3_compose_fn{}, a, b);
}
/// Vectors of 3, rotated by matrices: one matrix for all vectors, or leading axes that broadcast.
template <detail::operand M, detail::operand X>
constexpr auto so3_act(M const& m, X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::so3_act_fn{}, m, x);
}

} // namespace cotangent

#endif
