// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_NORMAL_HPP
#define COTANGENT_CORE_MATH_NORMAL_HPP

#include <cotangent/core/math/power.hpp>

namespace cotangent::math {
inline namespace COTANGENT_ABI {
namespace detail {

// a^2 for a >= 0, to about twice the precision. Without FMA the upper half of the bits of a is squared
// exactly.
template <class V>
COTANGENT_INLINE constexpr twofold<V> exact_square(V const& a) {
  if constexpr (has_fma) return exact_product(a, a);
  else {
    using bits = bits_t<V>;
    constexpr auto upper_half = static_cast<lane_t<bits>>(~((lane_t<bits>{1} << (single<V> ? 12 : 27)) - 1));
    V const upper = bit_cast<V>(bit_cast<bits>(a) & upper_half);
    return ordered_sum(mul(upper, upper), mul<V>(rounded(a - upper), rounded(a + upper)));
  }
}

// The probability that a standard normal number exceeds a >= 0.
//
// Its product with (a + k) e^(a^2/2) is a smooth function of t = (a - k) / (a + k), fitted with a relative
// error of 2^-57 up to a = 39.5 (float: 2^-27 up to 14.5), where the probability is below the smallest
// subnormal number.
template <class V>
COTANGENT_INLINE constexpr V normal_tail(V const& magnitude) {
  constexpr double k = single<V> ? 3.5 : 5;
  V const a = at_most(magnitude, constant<V>(single<V> ? 14.5 : 39.5)), sum = rounded(a + constant<V>(k));
  V const s = constant<V>(2 * k) / sum, t = constant<V>(1) - s, t2 = t * t;
  V even{}, odd{};
  if constexpr (single<V>) {
    even = horner(t2, -0x1.342004p-17, -0x1.b1a0d6p-9, 0x1.868030p-4, 0x1.61c3e2p-2);
    odd = horner(t2, -0x1.a61e1cp-12, 0x1.9d4b16p-9, -0x1.53596ep-6, -0x1.c2bd88p-3);
  } else {
    even = horner(t2, -0x1.bc8abbe8f44e6p-29, 0x1.cce20af0cdaa4p-26, -0x1.3f60eba3bcca9p-24,
                  -0x1.58a6b994373d0p-20, 0x1.0abbc09559386p-15, -0x1.dbc42ed06edb9p-12, 0x1.b57496ad6457cp-9,
                  0x1.a7352989c1767p-5, 0x1.99f4c3b45a0d9p-3, 0x1.7b230486af50bp-2);
    odd = horner(t2, -0x1.d6c29f8d7e751p-28, 0x1.06c9ee76fa286p-24, -0x1.b2aee2bc472bbp-22,
                 0x1.6996f672a36f4p-19, -0x1.2d6662f7e1628p-16, 0x1.7e6801c4ed292p-14, 0x1.68dc415c3260ap-12,
                 -0x1.1e06421f37b7fp-6, -0x1.d051d07921ed9p-4, -0x1.2e37035e49f27p-2);
  }
  V const half = constant<V>(-0.5);
  auto const square = exact_square(a);
  // Corrects the rounding of a + k, too, by an approximate derivative of the logarithm of the smooth part.
  V const added = rounded(sum - a), lost = (a - rounded(sum - added)) + (constant<V>(k) - added);
  V const change = mul(mul(s + s * s, constant<V>(-0.5 / k)), lost);
  V const smooth =
      fma(fma(odd, t, even), s, constant<V>(0x1.9884533d43651p-2)); // 1 / sqrt(2 pi) if s is 0
  return exp_times(smooth, mul(square.high, half), fma(square.low, half, change)) / sum;
}

} // namespace detail

/// The probability that a standard normal number is less than x.
///
/// Value: within 4 ulp, in both tails (without FMA: 4.5).
/// Source: the form of the fit follows Shepherd and Laframboise, Mathematics of Computation 36 (1981).
template <class V>
COTANGENT_INLINE constexpr V normal_cdf(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::normal_cdf(split(x).low), math::normal_cdf(split(x).high));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && is_nan(x)) return x;
  // no overflow if it is not used
  V const one = constant<V>(1), c = at_least(at_most(x, one), -one), z = c * c;
  V slope{};
  if constexpr (single<V>)
    slope = horner(z, 0x1.afc39ap-14, -0x1.35aab4p-10, 0x1.46c620p-7, -0x1.105820p-4, 0x1.988454p-2);
  else
    slope = horner(z, 0x1.1399c76f79617p-29, -0x1.5fc0a151b9d77p-25, 0x1.6574a394bd0a0p-21,
                   -0x1.3ce8892db5accp-17, 0x1.e42b0a8ef5129p-14, -0x1.37403f66ca10bp-10,
                   0x1.46d04297609b0p-7, -0x1.1058377e2ce84p-4, 0x1.9884533d43650p-2);
  V const near = fma(slope, c, constant<V>(0.5)), tail = normal_tail(abs(x));
  return select(abs(x) < constant<V>(0.75), near, select(x > V{}, one - tail, tail));
}

} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
