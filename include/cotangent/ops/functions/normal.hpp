// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_FUNCTIONS_NORMAL_HPP
#define COTANGENT_OPS_FUNCTIONS_NORMAL_HPP

#include <cotangent/core/math/normal.hpp>
#include <cotangent/ops/functions.hpp>

// The error function, the distribution function of normal numbers, and their relatives.

namespace cotangent::op {

/// Value: 2 / sqrt(pi) times the integral of exp(-t t) from 0 to x; 2 ulp
/// Adjoint: dy 2 / sqrt(pi) exp(-x x)
/// Example: for `x = {0, 1}`, `ct::erf(x)` is `{0, 0.842701}`; the gradient of its sum is `{1.12838, 0.415107}`
struct erf : extend::elementwise<1> {
  static constexpr char const* name = "erf";
  static constexpr float cost = 24;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::erf(x); }
  static constexpr term partial(auto const& r, int) {
    return 1.1283791670955125738961589031215 * extend::apply<exp>(-(r.x() * r.x()));
  }
};
/// Value: 1 - erf(x), without its cancellation; 3.7 ulp
/// Adjoint: -dy 2 / sqrt(pi) exp(-x x)
/// Example: for `x = {0, 1}`, `ct::erfc(x)` is `{1, 0.157299}`; the gradient of its sum is `{-1.12838, -0.415107}`
struct erfc : extend::elementwise<1> {
  static constexpr char const* name = "erfc";
  static constexpr float cost = 60;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::erfc(x); }
  static constexpr term partial(auto const& r, int) {
    return -1.1283791670955125738961589031215 * extend::apply<exp>(-(r.x() * r.x()));
  }
};
/// Value: the number that has the error function x; 3 ulp
/// Adjoint: dy sqrt(pi) / 2 exp(y y)
/// Edges: infinite at -1 and 1, NaN beyond
/// Example: for `x = {0, 0.5}`, `ct::erfinv(x)` is `{0, 0.476936}`; the gradient of its sum is `{0.886227, 1.11258}`
struct erfinv : extend::elementwise<1> {
  static constexpr char const* name = "erfinv";
  static constexpr float cost = 200;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::erfinv(x); }
  static constexpr term partial(auto const& r, int) {
    return 0.88622692545275801364908374167057 * extend::apply<exp>(r.y() * r.y());
  }
};
/// Value: the probability that a standard normal number is less than x; 3.9 ulp in both tails
/// Adjoint: dy exp(-x x / 2) / sqrt(2 pi)
/// Example: for `x = {0, 1}`, `ct::normal_cdf(x)` is `{0.5, 0.841345}`; the gradient of its sum is `{0.398942, 0.241971}`
struct normal_cdf : extend::elementwise<1> {
  static constexpr char const* name = "normal_cdf";
  static constexpr float cost = 40;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::normal_cdf(x); }
  static constexpr term partial(auto const& r, int) {
    return 0.39894228040143267793994605993438 * extend::apply<exp>(-0.5 * (r.x() * r.x()));
  }
};
/// Value: the logarithm of normal_cdf, 3.5 ulp in both tails
/// Adjoint: dy exp(-x x / 2 - y) / sqrt(2 pi)
/// Example: for `x = {0, -10}`, `ct::normal_log_cdf(x)` is `{-0.693147, -53.2313}`; the gradient of its sum is `{0.797885,
///   10.0981}`
struct normal_log_cdf : extend::elementwise<1> {
  static constexpr char const* name = "normal_log_cdf";
  static constexpr float cost = 100;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::normal_log_cdf(x); }
  static constexpr term partial(auto const& r, int) {
    // The exponent is a difference of numbers of size x x / 2. So far below 0 the slope is the reciprocal of the asymptotic series of
    // Mills' ratio (Abramowitz and Stegun, 26.2.12).
    auto const x = r.x();
    auto const far = x < (x.type() == element::float32 ? -8 : -20);
    auto const near_x = extend::select(far, extend::constant_like(x, 0), x), far_x = extend::select(far, x, extend::constant_like(x, -20));
    auto const near_y = extend::select(far, extend::constant_like(x, 0), r.y());
    auto const inverse = extend::apply<reciprocal>(far_x), w = inverse * inverse;
    auto series = extend::constant_like(x, 1); // 1 - w (1 - 3 w (1 - 5 w (...)))
    for (int k = 19; k > 0; k -= 2) series = 1 - (k * w) * series;
    return extend::select(far, -far_x / series, 0.39894228040143267793994605993438 * extend::apply<exp>(-0.5 * (near_x * near_x) - near_y));
  }
};

} // namespace cotangent::op

namespace cotangent::detail {
using normal_operations = operations<op::erf, op::erfc, op::erfinv, op::normal_cdf, op::normal_log_cdf>;
} // namespace cotangent::detail

#endif
