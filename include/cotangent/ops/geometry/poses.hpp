// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_GEOMETRY_POSES_HPP
#define COTANGENT_OPS_GEOMETRY_POSES_HPP

#include <cotangent/ops/geometry/rotations.hpp>

#include <source_location>

// Poses: matrices of 4 rows of SE(3). Their tangent vectors are a translation, then a rotation vector.

namespace cotangent {
namespace extend {

/// The matrix of a pose, from the entries of its first three rows.
constexpr term pose_of(term (&rows)[16]) {
  for (int k = 12; k < 16; ++k) rows[k] = constant_like(rows[0], k == 15 ? 1 : 0);
  return joined(rows, matrix_of(4));
}
/// The rotation matrix of a pose, and its translation.
constexpr term rotation_of(term pose) { return slice(slice(pose, pose.rank() - 2, 0, 3), pose.rank() - 1, 0, 3); }
constexpr term translation_of(term pose) { return component(slice(pose, pose.rank() - 2, 0, 3), 3); }

} // namespace extend

namespace detail {

struct se3_pose_fn {
  static constexpr char const* name = "se3_pose";
  constexpr term operator()(term rotation, term translation) const {
    if (!extend::has_sides(rotation, 3) || !extend::has_components(translation, 3)) return rotation;
    term rows[16];
    for (int k = 0; k < 9; ++k) rows[k / 3 * 4 + k % 3] = extend::component(rotation, k / 3, k % 3);
    for (int k = 0; k < 3; ++k) rows[4 * k + 3] = extend::component(translation, k);
    return extend::pose_of(rows);
  }
};
struct se3_exp_fn {
  static constexpr char const* name = "se3_exp";
  using uses = geometry_operations;
  constexpr term operator()(term xi) const {
    if (!extend::has_components(xi, 6)) return xi;
    extend::triple const along(xi), r(xi, 3);
    term rows[16];
    extend::rotation_rows(extend::quaternion_of(r), rows, 4);
    extend::triple const t = extend::jacobian_of_rotation(extend::dot(r, r))(r, along);
    rows[3] = t.x, rows[7] = t.y, rows[11] = t.z;
    return extend::pose_of(rows);
  }
};
struct se3_log_fn {
  static constexpr char const* name = "se3_log";
  constexpr term operator()(term pose) const {
    if (!extend::has_sides(pose, 4)) return pose;
    extend::triple const r = extend::rotation_vector(extend::quaternion_of_matrix(pose)), t(extend::translation_of(pose));
    // the inverse of the left Jacobian: 1 - [r] / 2 + (1 - h cot(h)) / (2 h)^2 [r] [r], h = |r| / 2
    extend::triple const once = extend::cross(r, t);
    term const rest = 0.25 * extend::cotangent_rest(0.25 * extend::dot(r, r));
    extend::triple const along = t - once.times(extend::constant_like(r.x, 0.5)) + extend::cross(r, once).times(rest);
    return extend::vector_of(along.x, along.y, along.z, r.x, r.y, r.z);
  }
};
struct se3_compose_fn {
  static constexpr char const* name = "se3_compose";
  constexpr term operator()(term a, term b) const {
    return extend::has_sides(a, 4) && extend::has_sides(b, 4) ? extend::matmul(a, b) : a;
  }
};
struct se3_inverse_fn {
  static constexpr char const* name = "se3_inverse";
  constexpr term operator()(term pose) const {
    if (!extend::has_sides(pose, 4)) return pose;
    term rows[16];
    extend::triple const t(extend::translation_of(pose));
    for (int k = 0; k < 3; ++k) {
      extend::triple const column(extend::component(pose, 0, k), extend::component(pose, 1, k), extend::component(pose, 2, k));
      rows[4 * k] = column.x, rows[4 * k + 1] = column.y, rows[4 * k + 2] = column.z;
      rows[4 * k + 3] = -extend::dot(column, t);
    }
    return extend::pose_of(rows);
  }
};
struct se3_act_fn {
  static constexpr char const* name = "se3_act";
  constexpr term operator()(term pose, term x) const {
    if (!extend::has_sides(pose, 4) || !extend::has_components(x, 3)) return pose;
    return extend::transformed(extend::rotation_of(pose), x) + extend::translation_of(pose);
  }
};

} // namespace detail

/// The pose of a rotation matrix and a translation.
template <detail::operand R, detail::operand T>
constexpr auto se3_pose(R const& rotation, T const& translation, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::se3_pose_fn{}, rotation, translation);
}
/// The pose of a tangent vector of 6: a translation, then a rotation vector. Adjoints are exact at 0, too.
template <detail::operand X>
constexpr auto se3_exp(X const& xi, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::se3_exp_fn{}, xi);
}
/// The tangent vector of a pose, with an angle of at most pi. Edges: jumps at pi.
template <detail::operand P>
constexpr auto se3_log(P const& pose, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::se3_log_fn{}, pose);
}
/// The product of poses: the motion of b, then that of a.
template <detail::operand A, detail::operand B>
constexpr auto se3_compose(A const& a, B const& b, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::se3_compose_fn{}, a, b);
}
/// The inverse of a pose, by the transpose of its rotation.
template <detail::operand P>
constexpr auto se3_inverse(P const& pose, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::se3_inverse_fn{}, pose);
}
/// Points of 3, moved by poses: one pose for all points, or leading axes that broadcast.
template <detail::operand P, detail::operand X>
constexpr auto se3_act(P const& pose, X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::se3_act_fn{}, pose, x);
}

} // namespace cotangent

#endif
