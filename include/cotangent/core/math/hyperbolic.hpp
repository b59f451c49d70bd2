// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_HYPERBOLIC_HPP
#define COTANGENT_CORE_MATH_HYPERBOLIC_HPP

#include <cotangent/core/math/exp.hpp>
#include <cotangent/core/math/log.hpp>

namespace cotangent::math {
inline namespace COTANGENT_ABI {

namespace detail {

// Constant evaluations must not overflow: above this limit sinh and cosh do.
template <class V>
inline constexpr double cosh_limit = single<V> ? 0x1.65a9f8p+6 : 0x1.633ce8fb9f87dp+9;

} // namespace detail

/// The hyperbolic tangent.
///
/// Value: within 2.7 ulp.
template <class V>
COTANGENT_FORMULA constexpr V tanh(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::tanh(split(x).low), math::tanh(split(x).high));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && is_nan(x)) return x;
  V const twice = abs(x) + abs(x);
  V const limit = constant<V>(single<V> ? 20 : 40); // from here on it rounds to 1
  V const e = expm1_between(at_most(twice, limit));
  return copysign(e / (e + constant<V>(2)), x);
}

/// The hyperbolic sine.
///
/// Value: within 3 ulp.
template <class V>
COTANGENT_FORMULA constexpr V sinh(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::sinh(split(x).low), math::sinh(split(x).high));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && !(abs(x) <= static_cast<V>(cosh_limit<V>)))
      return is_nan(x) ? x : x < 0 ? -infinity<V> : infinity<V>;
  V const a = abs(x), limit = constant<V>(single<V> ? 10 : 20);
  auto const large = a > limit;
  V const e = expm1_between(at_most(a, limit));
  V const near = mul(e + e / (e + constant<V>(1)), constant<V>(0.5));
  if (!any(large)) [[likely]]
    return copysign(near, x);
  // e^(a - 1) e / 2 is finite whenever the result is.
  V const far = mul(math::exp(a - constant<V>(1)), constant<V>(0x1.5bf0a8b145769p+0));
  return copysign(select(large, far, near), x);
}

/// The hyperbolic cosine.
///
/// Value: within 3 ulp.
template <class V>
COTANGENT_FORMULA constexpr V cosh(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::cosh(split(x).low), math::cosh(split(x).high));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && !(abs(x) <= static_cast<V>(cosh_limit<V>)))
      return is_nan(x) ? x : infinity<V>;
  V const half = mul(math::exp(abs(x) - constant<V>(1)), constant<V>(0x1.5bf0a8b145769p+0)); // e^|x| / 2
  return half + constant<V>(0.25) / half;
}

/// The inverse of the hyperbolic sine.
///
/// Value: within 3 ulp.
template <class V>
COTANGENT_FORMULA constexpr V asinh(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::asinh(split(x).low), math::asinh(split(x).high));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && is_nan(x)) return x;
  V const one = constant<V>(1), a = abs(x),
          limit = constant<V>(single<V> ? 0x1p60 : 0x1p500); // a^2 must be finite
  auto const large = a > limit;
  V const b = at_most(a, limit), square = mul(b, b);
  V const near = b + square / (one + math::sqrt(one + square));
  // log(2 a), if 1 + a^2 rounds to a^2
  V const r = math::log1p(select(large, a, near));
  return copysign(select(large, r + constant<V>(0x1.62e42fefa39efp-1), r), x);
}

/// The inverse of the hyperbolic cosine, at least 0.
///
/// Value: within 4 ulp; NaN for x < 1.
template <class V>
COTANGENT_FORMULA constexpr V acosh(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::acosh(split(x).low), math::acosh(split(x).high));
  V const one = constant<V>(1), limit = constant<V>(single<V> ? 0x1p60 : 0x1p500);
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && !(x >= one && x <= largest<V>)) return is_nan(x) ? x : x > one ? x : nan<V>;
  auto const large = x > limit;
  V const b = at_most(x, limit) - one; // exact where it matters
  V const near = b + math::sqrt(select(x < one, V(-one), V(mul(b, b) + (b + b))));
  V const r = math::log1p(select(large, x, near));
  return select(large, r + constant<V>(0x1.62e42fefa39efp-1), r);
}

/// The inverse of the hyperbolic tangent.
///
/// Value: within 4 ulp; infinite at 1 and -1, NaN beyond.
template <class V>
COTANGENT_FORMULA constexpr V atanh(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::atanh(split(x).low), math::atanh(split(x).high));
  V const one = constant<V>(1), a = abs(x);
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && !(a < one)) return is_nan(x) ? x : a > one ? nan<V> : x > 0 ? infinity<V> : V(-infinity<V>);
  return copysign(mul(math::log1p(V((a + a) / (one - a))), constant<V>(0.5)), x);
}

} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
