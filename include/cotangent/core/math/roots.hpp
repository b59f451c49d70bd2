// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_ROOTS_HPP
#define COTANGENT_CORE_MATH_ROOTS_HPP

#include <cotangent/core/math/exp.hpp>
#include <cotangent/core/math/log.hpp>
#include <cotangent/core/math/power.hpp>

namespace cotangent::math {
inline namespace COTANGENT_ABI {

/// The cube root, with the sign of x.
///
/// Value: within 2 ulp.
template <class V>
COTANGENT_FORMULA constexpr V cbrt(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::cbrt(split(x).low), math::cbrt(split(x).high));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && (!is_finite(x) || x == V{})) return x;
  V const a = abs(x), third = constant<V>(1. / 3);
  V const y = math::exp(V(math::log(a) * third));
  // one step of Newton's method, in a form whose powers are finite
  V const root = y - (y - a / (y * y)) * third;
  auto const ordinary = logical_and<mask_t<V>>(a > V{}, a <= broadcast<V>(largest<V>));
  return select(ordinary, copysign(root, x), x);
}

/// The length of the vector (x, y), without overflow or underflow of the squares.
///
/// Value: within 2 ulp; infinite if a component is, even if the other is NaN.
template <class V>
COTANGENT_FORMULA constexpr V hypot(V const& x, V const& y) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::hypot(split(x).low, split(y).low), math::hypot(split(x).high, split(y).high));
  V const a = abs(x), b = abs(y), top = broadcast<V>(largest<V>), one = constant<V>(1);
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && !(is_finite(x) && is_finite(y))) return a > top || b > top ? infinity<V> : nan<V>;
  auto const swapped = b > a;
  V const larger = select(swapped, b, a), smaller = select(swapped, a, b);
  constexpr double far = single<V> ? 0x1p60 : 0x1p500, step = single<V> ? 0x1p100 : 0x1p600;
  auto const huge = larger > constant<V>(far), tiny = larger < constant<V>(1 / far);
  V const scale = select(huge, constant<V>(1 / step), select(tiny, constant<V>(step), one));
  V const back = select(huge, constant<V>(step), select(tiny, constant<V>(1 / step), one));
  V const u = larger * scale, v = smaller * scale;
  V const length = math::sqrt(fma(u, u, mul(v, v)));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && huge && length > largest<V> * (1 / static_cast<V>(step))) return infinity<V>;
  auto const infinite = logical_or<mask_t<V>>(a > top, b > top);
  return select(infinite, broadcast_bits<V>(infinity<V>), V(length * back));
}

/// The remainder of x / y, with the sign of x.
///
/// Value: exact if |x / y| is less than 2^52 (`float`: 2^23); beyond that to an ulp of x. NaN for y = 0 and infinite x.
template <class V>
COTANGENT_FORMULA constexpr V fmod(V const& x, V const& y) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::fmod(split(x).low, split(y).low), math::fmod(split(x).high, split(y).high));
  else if constexpr (!has_fma && single<V>) { // products of floats are exact in double
    using wide = with_lane<V, double>;
    return convert<V>(math::fmod(convert<wide>(x), convert<wide>(y)));
  } else {
    if constexpr (!is_vector<V>)
      if (std::is_constant_evaluated()) {
        if (is_nan(x) || is_nan(y)) return is_nan(x) ? x : y;
        if (!is_finite(x) || y == V{}) return nan<V>;
        if (!is_finite(y)) return x;
      }
    V const a = abs(x), b = abs(y);
    V const scale = select(b > constant<V>(single<V> ? 0x1p90 : 0x1p900), constant<V>(0x1p-32), constant<V>(1)); // parts of products must be finite
    V const u = a * scale, v = b * scale;
    V const count = floor(V(u / v));
    auto const product = exact_product(count, v);
    V rest = (u - product.high) - product.low;
    // The rounded quotient may be one too large or too small.
    rest = select(rest < V{}, V(rest + v), rest);
    rest = select(rest >= v, V(rest - v), rest);
    return select(a < b, x, copysign(V(rest * select(scale == constant<V>(1), constant<V>(1), constant<V>(0x1p32))), x));
  }
}

} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
