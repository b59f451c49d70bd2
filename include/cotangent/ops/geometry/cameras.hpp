// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_GEOMETRY_CAMERAS_HPP
#define COTANGENT_OPS_GEOMETRY_CAMERAS_HPP

#include <cotangent/ops/function.hpp>
#include <cotangent/ops/geometry/parts.hpp>

#include <source_location>

// Pinhole cameras with radial and tangential distortion, in the conventions of OpenCV.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(distortion_coefficients, equal, coefficients_expected, coefficients_given, "cotangent: distort: the last axis must have 2, 4 or 5 coefficients: k1 k2, p1 p2, k3")
// clang-format on
} // namespace refusals

namespace detail {

struct pinhole {
  term x, y;

  /// Coefficients k1, k2; then p1, p2; then k3.
  constexpr pinhole distorted(term d) const {
    dimension const count = d.rank() == 0 ? 0 : d.dims().size[d.rank() - 1];
    if (count != 2 && count != 4 && count != 5) return d.b->refuse<refusals::distortion_coefficients>(5, count, d.b->place), *this;
    auto const c = [&](dimension k) { return extend::component(d, k); };
    term const xx = x * x, yy = y * y, square = xx + yy;
    term radial = c(1);
    if (count == 5) radial = radial + square * c(4);
    radial = 1 + square * (c(0) + square * radial);
    if (count == 2) return {x * radial, y * radial};
    term const twice = 2 * (x * y);
    return {x * radial + c(2) * twice + c(3) * (square + 2 * xx), y * radial + c(2) * (square + 2 * yy) + c(3) * twice};
  }
  /// Pixels, by focal lengths and the principal point: fx, fy, cx, cy.
  constexpr term pixels(term k) const {
    auto const c = [&](dimension i) { return extend::component(k, i); };
    return extend::vector_of(x * c(0) + c(2), y * c(1) + c(3));
  }
  static constexpr pinhole of(term p) {
    extend::triple const v(p);
    return {v.x / v.z, v.y / v.z};
  }
};
struct distort_fn {
  static constexpr char const* name = "distort";
  constexpr term operator()(term x, term d) const {
    if (!extend::has_components(x, 2)) return x;
    pinhole const y = pinhole{extend::component(x, 0), extend::component(x, 1)}.distorted(d);
    return x.b->failed().why != nullptr ? x : extend::vector_of(y.x, y.y);
  }
};
struct pinhole_project_fn {
  static constexpr char const* name = "pinhole_project";
  constexpr term operator()(term p, term k) const {
    return extend::has_components(p, 3) && extend::has_components(k, 4) ? pinhole::of(p).pixels(k) : p;
  }
  constexpr term operator()(term p, term k, term d) const {
    if (!extend::has_components(p, 3) || !extend::has_components(k, 4)) return p;
    pinhole const y = pinhole::of(p).distorted(d);
    return p.b->failed().why != nullptr ? p : y.pixels(k);
  }
};

} // namespace detail

/// Points of an image plane, distorted by a lens. Coefficients: k1, k2; k1, k2, p1, p2; or k1, k2, p1, p2, k3.
template <detail::operand X, detail::operand D>
constexpr auto distort(X const& x, D const& coefficients, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::distort_fn{}, x, coefficients);
}
/// The pixels of points before a camera of focal lengths and principal point (fx, fy, cx, cy), without distortion or with its
/// coefficients. Edges: as x / z at z = 0.
template <detail::operand X, detail::operand K>
constexpr auto pinhole_project(X const& points, K const& camera, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::pinhole_project_fn{}, points, camera);
}
template <detail::operand X, detail::operand K, detail::operand D>
constexpr auto pinhole_project(X const& points, K const& camera, D const& coefficients,
                               std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::pinhole_project_fn{}, points, camera, coefficients);
}

} // namespace cotangent

#endif
