// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_NORMAL_QUANTILE_HPP
#define COTANGENT_CORE_MATH_NORMAL_QUANTILE_HPP

#include <cotangent/core/math/normal.hpp>

// The inverse of the standard normal distribution function. (Not part of cotangent.hpp.)

namespace cotangent::math {
inline namespace COTANGENT_ABI {

/// The number below which a standard normal number is with probability p.
///
/// Value: within 3.6 ulp, also of subnormal probabilities; infinite at 0 and 1, NaN beyond.
template <class V>
COTANGENT_FORMULA constexpr V normal_quantile(V const& p) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::normal_quantile(split(p).low), math::normal_quantile(split(p).high));
  V const one = constant<V>(1), half = constant<V>(0.5), zero{}, inf = broadcast_bits<V>(infinity<V>);
  V const root_of_two_pi = constant<V>(0x1.40d931ff62705p+1);
  auto const ordinary = logical_and<mask_t<V>>(p > zero, p < one);
  V const edge = select(p == zero, V(-inf), select(p == one, inf, broadcast_bits<V>(nan<V>)));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && !ordinary) return edge;
  V const safe = select(ordinary, p, half);
  auto const above = safe > half;
  V const rest = select(above, V(one - safe), safe), gap = half - rest;
  auto const inner = rest > constant<V>(0.165); // a < 0.975: with the first approximation a < 1, as in normal_cdf
  // As erfinv: Winitzki's approximation, then two steps of Halley's method: on the probability beyond a, or on its logarithm
  // where it is small. Both are computed times e^(a^2 / 2), which is in range also where the probability is subnormal.
  V const l = math::log(V(constant<V>(4) * rest)) + math::log1p(V(-rest)), s = fma(l, half, constant<V>(4.330746750799873));
  V a = math::sqrt(V(-l * constant<V>(2 / 0.147) / (math::sqrt(fma(s, s, V(l * constant<V>(-1 / 0.147)))) + s)));
  for (int k = 0; k < 2; ++k) {
    V const near = at_most(a, one);
    auto const square = exact_square(a);
    auto const tail = normal_tail_scaled(a);
    V const quarter = mul(square.high, constant<V>(0.25)), low = mul(square.low, constant<V>(0.25));
    V const small = math::exp(select(inner, V(quarter + quarter), zero));
    // (A subnormal number is scaled: exp_times rounds in the precision of its factor.)
    constexpr double up = single<V> ? 0x1p30 : 0x1p60;
    V const partly = exp_times(V(rest * constant<V>(up)), quarter, low) * constant<V>(1 / up);
    V const wanted = exp_times(partly, quarter, low);
    V const beyond = root_of_two_pi * (tail.smooth / tail.sum);
    V const step = select(inner, V(-product_minus(normal_slope(V(near * near)), near, gap) * root_of_two_pi * small),
                          V(-beyond * (math::log(V(mul(wanted, tail.sum) / tail.smooth)) - tail.change)));
    a = a + step / fma(half * step, select(inner, V(-a), V(one / beyond - a)), one);
  }
  return select(ordinary, select(rest == half, zero, select(above, a, V(-a))), edge);
}

} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
