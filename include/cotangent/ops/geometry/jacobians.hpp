// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_GEOMETRY_JACOBIANS_HPP
#define COTANGENT_OPS_GEOMETRY_JACOBIANS_HPP

#include <cotangent/ops/geometry/rotations.hpp>
#include <cotangent/ops/movement.hpp>

#include <source_location>

// The Jacobians of the exponentials of SO(3) and SE(3), and their inverses, as formulas that are smooth in the squared angle.

namespace cotangent {
namespace extend {

/// The matrix s + [odd] + sum of a b' + b a', by rows.
struct matrix_of_vectors {
  term entries[9];
  constexpr matrix_of_vectors(term s, triple const& odd) : entries{s, -odd.z, odd.y, odd.z, s, -odd.x, -odd.y, odd.x, s} {}
  constexpr matrix_of_vectors plus(triple const& a, triple const& b) const {
    matrix_of_vectors m = *this;
    term const of_a[]{a.x, a.y, a.z}, of_b[]{b.x, b.y, b.z};
    for (int i = 0; i < 3; ++i)
      for (int j = i; j < 3; ++j) {
        term const both = i == j ? 2 * (of_a[i] * of_b[i]) : of_a[i] * of_b[j] + of_b[i] * of_a[j];
        m.entries[3 * i + j] = m.entries[3 * i + j] + both;
        if (i != j) m.entries[3 * j + i] = m.entries[3 * j + i] + both;
      }
    return m;
  }
  constexpr term joined() const { return extend::joined(entries, matrix_of(3)); }
};

/// The Jacobian of a rotation vector, or its inverse. `side` is 1 for the left one, -1 for the right one.
constexpr term rotation_jacobian(triple const& r, int side, bool inverse) {
  term const square = dot(r, r);
  if (inverse) { // 1 - [r] / 2 + c [r] [r], with c = (1 - h cot(h)) / (2 h)^2, h = |r| / 2
    term const c = 0.25 * cotangent_rest<10, 14>(0.25 * square);
    return matrix_of_vectors(1 - c * square, r.times(constant_like(square, -0.5 * side))).plus(r.times(0.5 * c), r).joined();
  }
  jacobian_of_rotation const j(square);
  return matrix_of_vectors(j.a, r.times(side > 0 ? j.b : -j.b)).plus(r.times(0.5 * j.c), r).joined();
}
/// The block of the Jacobian of a pose above its diagonal, of a translation p and a rotation vector r.
constexpr term translation_jacobian(triple const& p, triple const& r, int side) {
  term const square = dot(r, r), along = dot(p, r), near = square < 1, twice = 2 * unless_near(near, square * square);
  term const sine = apply<op::sinc_of_square>(square), cosine = apply<op::cos_of_square>(square);
  term const second = angle_minus_sine(square);
  term const third = select(near, angle_series<4>::of(near, square), (square + 2 * cosine - 2) / twice);
  term const fourth = select(near, -angle_series<3, true>::of(near, square), (2 - 3 * sine + cosine) / twice);
  triple const odd = p.times(0.5 - third * square) + r.times((2 * third - second) * along);
  return matrix_of_vectors(2 * along * (fourth * square - second), side > 0 ? odd : -odd)
      .plus(p.times(second), r)
      .plus(r.times(-(fourth * along)), r)
      .joined();
}

} // namespace extend

namespace detail {

template <bool Left, bool Inverse> struct so3_jacobian_fn {
  static constexpr char const* name = Left ? (Inverse ? "so3_left_jacobian_inverse" : "so3_left_jacobian")
                                           : (Inverse ? "so3_right_jacobian_inverse" : "so3_right_jacobian");
  using uses = geometry_operations;
  constexpr term operator()(term x) const {
    return extend::has_components(x, 3) ? extend::rotation_jacobian(extend::triple(x), Left ? 1 : -1, Inverse) : x;
  }
};
template <bool Left, bool Inverse> struct se3_jacobian_fn {
  static constexpr char const* name = Left ? (Inverse ? "se3_left_jacobian_inverse" : "se3_left_jacobian")
                                           : (Inverse ? "se3_right_jacobian_inverse" : "se3_right_jacobian");
  using uses = geometry_operations;
  constexpr term operator()(term x) const {
    if (!extend::has_components(x, 6)) return x;
    extend::triple const p(x), r(x, 3);
    constexpr int side = Left ? 1 : -1;
    term const of_rotation = extend::rotation_jacobian(r, side, Inverse);
    term block = extend::translation_jacobian(p, r, side);
    if constexpr (Inverse) block = -extend::matmul(extend::matmul(of_rotation, block), of_rotation);
    int const rows = x.rank() - 1, columns = x.rank();
    term const above = joined_along(columns, of_rotation, block);
    return joined_along(rows, above, joined_along(columns, extend::constant_like(block, 0), of_rotation));
  }
};

} // namespace detail

/// The left Jacobian of a rotation vector: exp(r + d) = exp(J d) exp(r), to first order in d.
template <detail::operand R>
constexpr auto so3_left_jacobian(R const& r, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::so3_jacobian_fn<true, false>{}, r);
}
/// The right Jacobian of a rotation vector: exp(r + d) = exp(r) exp(J d), to first order in d.
template <detail::operand R>
constexpr auto so3_right_jacobian(R const& r, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::so3_jacobian_fn<false, false>{}, r);
}
/// The inverse of the left Jacobian: log(exp(d) exp(r)) = r + J d, to first order in d, for angles below 2 pi.
template <detail::operand R>
constexpr auto so3_left_jacobian_inverse(R const& r, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::so3_jacobian_fn<true, true>{}, r);
}
/// The inverse of the right Jacobian: log(exp(r) exp(d)) = r + J d, to first order in d, for angles below 2 pi.
template <detail::operand R>
constexpr auto so3_right_jacobian_inverse(R const& r, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::so3_jacobian_fn<false, true>{}, r);
}
/// The left Jacobian, 6 x 6, of a tangent vector of poses: exp(x + d) = exp(J d) exp(x), to first order in d.
template <detail::operand X>
constexpr auto se3_left_jacobian(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::se3_jacobian_fn<true, false>{}, x);
}
/// The right Jacobian of a tangent vector of poses: exp(x + d) = exp(x) exp(J d), to first order in d.
template <detail::operand X>
constexpr auto se3_right_jacobian(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::se3_jacobian_fn<false, false>{}, x);
}
/// The inverse of the left Jacobian of a tangent vector of poses, for angles below 2 pi.
template <detail::operand X>
constexpr auto se3_left_jacobian_inverse(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::se3_jacobian_fn<true, true>{}, x);
}
/// The inverse of the right Jacobian of a tangent vector of poses, for angles below 2 pi.
template <detail::operand X>
constexpr auto se3_right_jacobian_inverse(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::se3_jacobian_fn<false, true>{}, x);
}

} // namespace cotangent

#endif
