// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_NORMAL_QUANTILE_HPP
#define COTANGENT_CORE_MATH_NORMAL_QUANTILE_HPP

#include <cotangent/core/math/normal.hpp>

// The inverse of the standard normal distribution function. (Not part of cotangent.hpp.)

namespace cotangent::math {
inline namespace COTANGENT_ABI {

/// The number below which a standard normal number is with probability p.
///
/// Value: within 5 ulp; infinite at 0 and 1, NaN beyond.
template <class V>
COTANGENT_INLINE constexpr V normal_quantile(V const& p) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::normal_quantile(split(p).low), math::normal_quantile(split(p).high));
  V const one = constant<V>(1), half = constant<V>(0.5), zero{}, inf = broadcast_bits<V>(infinity<V>);
  auto const ordinary = logical_and<mask_t<V>>(p > zero, p < one);
  V const edge = select(p == zero, V(-inf), select(p == one, inf, broadcast_bits<V>(nan<V>)));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && !ordinary) return edge;
  V const safe = select(ordinary, p, half);
  auto const above = safe > half;
  V const rest = select(above, V(one - safe), safe), a = one - (rest + rest); // exact if it is used
  auto const inner = a < half;
  // As erfinv: Winitzki's approximation, then two steps of Halley's method.
  V const l = math::log(V(constant<V>(4) * rest)) + math::log1p(V(-rest)), s = fma(l, half, constant<V>(4.330746750799873));
  V y = math::sqrt(V(-l * constant<V>(1 / 0.147) / (math::sqrt(V(s * s - l * constant<V>(1 / 0.147))) + s)));
  for (int k = 0; k < 2; ++k) {
    V const residual = select(inner, V(math::erf(y) - a), V((rest + rest) - math::erfc(y)));
    V const step = residual * math::exp(V(y * y)) * constant<V>(0x1.c5bf891b4ef6bp-1); // sqrt(pi) / 2
    y = y - step / fma(y, step, one);
  }
  V const root = y * constant<V>(0x1.6a09e667f3bcdp+0);
  return select(ordinary, select(rest == half, zero, select(above, root, V(-root))), edge);
}

} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
