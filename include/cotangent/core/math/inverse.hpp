// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_INVERSE_HPP
#define COTANGENT_CORE_MATH_INVERSE_HPP

#include <cotangent/core/math/polynomial.hpp>

namespace cotangent::math {
inline namespace COTANGENT_ABI {

namespace detail {

// The angle whose tangent is a / b: atan(a / b), pi/4 + atan((a - b) / (a + b)), or pi/2 + atan(-b / a), where the argument is
// below sqrt(2) - 1. Both are at least 0, not both 0, and their sum is finite.
template <class V>
COTANGENT_FORMULA constexpr V angle_of_ratio(V const& a, V const& b) {
  V const zero{};
  auto const middle = a > constant<V>(0x1.a827999fcef32p-2) * b, upper = a > constant<V>(0x1.3504f333f9de6p+1) * b;
  V const above = select(upper, -b, select(middle, a - b, a));
  V const below = select(upper, a, select(middle, a + b, b));
  constexpr double quarter = single<V> ? 0x1.921fb6p-1 : 0x1.921fb54442d18p-1;
  constexpr double quarter_rest = single<V> ? -0x1.777a5cp-26 : 0x1.1a62633145c07p-55;
  V const base = select(upper, constant<V>(2 * quarter), select(middle, constant<V>(quarter), zero));
  V const base_rest =
      select(upper, constant<V>(2 * quarter_rest), select(middle, constant<V>(quarter_rest), zero));
  V const t = above / below, z = t * t;
  V p{};
  if constexpr (single<V>)
    p = horner(z, -0x1.f3070ep-5, 0x1.b22adep-4, -0x1.23ba0ap-3, 0x1.9991e6p-3, -0x1.55554ap-2);
  else {
    V const z2 = z * z;
    V const even = horner(z2, -0x1.25839741a756ep-6, -0x1.9cd79b373e460p-5, -0x1.10ebcc193e903p-4,
                          -0x1.745cf8f51583fp-4, -0x1.24924922af2b0p-3, -0x1.555555555553dp-2);
    V const odd = horner(z2, 0x1.37e19d2b4b2a0p-5, 0x1.df10670635c52p-5, 0x1.3b111adbc1fddp-4,
                         0x1.c71c70e6de685p-4, 0x1.999999999589cp-3);
    p = fma(odd, z, even);
  }
  return base + (t + fma(t * z, p, base_rest));
}

// pi, rounded, and the rest.
template <class V>
inline constexpr double pi_high = single<V> ? 0x1.921fb6p+1 : 0x1.921fb54442d18p+1;
template <class V>
inline constexpr double pi_low = single<V> ? -0x1.777a5cp-24 : 0x1.1a62633145c07p-53;

} // namespace detail

/// The angle in (-pi/2, pi/2) that has this tangent.
///
/// Value: within 2 ulp.
template <class V>
COTANGENT_FORMULA constexpr V atan(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::atan(split(x).low), math::atan(split(x).high));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && !is_finite(x))
      return is_nan(x) ? x
             : x > 0   ? static_cast<V>(0x1.921fb54442d18p+0)
                       : static_cast<V>(-0x1.921fb54442d18p+0);
  return copysign(angle_of_ratio(abs(x), constant<V>(1)), x);
}

/// The angle in [-pi, pi] of the point (x, y), with the sign of y.
///
/// Value: within 3 ulp; as in C for zeros and infinities.
template <class V>
COTANGENT_FORMULA constexpr V atan2(V const& y, V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::atan2(split(y).low, split(x).low), math::atan2(split(y).high, split(x).high));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && (is_nan(x) || is_nan(y))) return is_nan(y) ? y : x;
  V const one = constant<V>(1), zero{}, limit = constant<V>(single<V> ? 0x1p100 : 0x1p1000);
  V a = abs(y), b = abs(x);
  auto const ordinary = logical_and<mask_t<V>>(at_least(a, b) > zero, logical_and<mask_t<V>>(a <= limit, b <= limit));
  if (!all(ordinary)) [[unlikely]] {
    // Infinity is to a finite number as 1 to 0; two infinities are equal; NaN stays; two zeros are taken as 0 and 1.
    auto const nothing = [](V const& v) __attribute__((always_inline)) {
      if constexpr (!is_vector<V>)
        if (std::is_constant_evaluated()) return V{};
      return V(v - v);
    };
    V const top = broadcast<V>(largest<V>);
    auto const a_infinite = a > top, b_infinite = b > top, large = logical_or<mask_t<V>>(a > limit, b > limit);
    auto const none = logical_and<mask_t<V>>(a == zero, b == zero);
    V const scale = select(large, constant<V>(0.25), one);
    V const above = select(a_infinite, one, select(b_infinite, nothing(a), V(a * scale)));
    b = select(logical_or<mask_t<V>>(b_infinite, none), one, select(a_infinite, nothing(b), V(b * scale)));
    a = above;
  }
  V const angle = angle_of_ratio(a, b);
  V const turned = constant<V>(pi_high<V>) - (angle - constant<V>(pi_low<V>));
  auto const left = copysign(one, x) < zero;
  return copysign(select(left, turned, angle), y);
}

namespace detail {

// Of a = |sine|: asin(a) = sine + rest up to 1/2, pi/2 - 2 (sine + rest) above, where `sine` is that of half of the angle left.
template <class V>
struct reduced_sine {
  V sine, rest;
  mask_t<V> halved;
};
template <class V>
COTANGENT_FORMULA constexpr reduced_sine<V> reduce_sine(V const& a) {
  V const half = constant<V>(0.5);
  auto const halved = a > half;
  V const z = select(halved, fma(a, -half, half), V(a * a)), s = select(halved, math::sqrt(z), a);
  V p{};
  if constexpr (single<V>)
    p = horner(z, 0x1.59861ep-5, 0x1.8c0cc8p-6, 0x1.7480dcp-5, 0x1.3301ccp-4, 0x1.5555c8p-3);
  else {
    V const z2 = z * z;
    V const even = horner(z2, -0x1.0a5aaeef92718p-6, 0x1.ab561a078d531p-8, 0x1.c6fbb868c8e80p-7, 0x1.6e89f29a0b3c1p-6,
                          0x1.6db6db4247f76p-5, 0x1.555555555538ep-3);
    V const odd = horner(z2, 0x1.059cb94a0a1e1p-5, 0x1.40495ef01b8f7p-6, 0x1.8ed0b1426d127p-7, 0x1.1c6bfb504880dp-6,
                         0x1.f1c72c49f142ep-6, 0x1.333333336ecacp-4);
    p = fma(odd, z, even);
  }
  return {s, mul(V(s * z), p), halved};
}

} // namespace detail

/// The angle in [-pi/2, pi/2] that has this sine.
///
/// Value: within 2 ulp; NaN for |x| > 1.
template <class V>
COTANGENT_FORMULA constexpr V asin(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::asin(split(x).low), math::asin(split(x).high));
  V const a = abs(x);
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && !(a <= 1)) return is_nan(x) ? x : nan<V>;
  auto const [s, rest, halved] = reduce_sine(a);
  V const twice = (s + s) + ((rest + rest) - constant<V>(pi_low<V> / 2));
  return copysign(select(halved, V(constant<V>(pi_high<V> / 2) - twice), V(s + rest)), x);
}

/// The angle in [0, pi] that has this cosine.
///
/// Value: within 2 ulp; NaN for |x| > 1.
template <class V>
COTANGENT_FORMULA constexpr V acos(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::acos(split(x).low), math::acos(split(x).high));
  V const a = abs(x);
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && !(a <= 1)) return is_nan(x) ? x : nan<V>;
  auto const [s, rest, halved] = reduce_sine(a);
  V const near = constant<V>(pi_high<V> / 2) - (copysign(s, x) + (copysign(rest, x) - constant<V>(pi_low<V> / 2)));
  V const high = s + s, low = rest + rest;
  V const far = select(x < V{}, V(constant<V>(pi_high<V>) - (high + (low - constant<V>(pi_low<V>)))), V(high + low));
  return select(halved, far, near);
}

} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
