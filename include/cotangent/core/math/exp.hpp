// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_EXP_HPP
#define COTANGENT_CORE_MATH_EXP_HPP

#include <cotangent/core/math/polynomial.hpp>

namespace cotangent::math {
inline namespace COTANGENT_ABI {
namespace detail {

// x = n ln 2 + r with |r| <= ln 2 / 2. Adding the magic number rounds x / ln 2 to the integer n, and leaves n
// - 1, biased like an exponent, in the lowest bits of the sum. Shifted into place they are 2^(n - 1), which
// is finite even if 2^n is not.
template <class V>
struct exp_reduction {
  V sum, n, r;
};

template <class V>
inline constexpr double exp_magic = single<V> ? 0x1.8p23 + 126 : 0x1.8p52 + 1022;

template <class V>
COTANGENT_FORMULA constexpr exp_reduction<V> reduce_exp(V const& x) {
  V const magic = constant<V>(exp_magic<V>);
  V const sum = rounded(fma(x, constant<V>(0x1.71547652b82fep+0), magic));
  V const n = rounded(sum - magic);
  constexpr double high = single<V> ? -0x1.62e4p-1 : -0x1.62e42fefa3800p-1; // high n is exact
  constexpr double low = single<V> ? -0x1.7f7d1cp-20 : -0x1.ef35793c76730p-45;
  return {sum, n, fma(n, constant<V>(low), rounded(fma(n, constant<V>(high), x)))};
}

template <class V>
inline constexpr int mantissa_bits = single<V> ? 23 : 52;

// Constant evaluations must not overflow: above this limit e^x does.
template <class V>
inline constexpr double exp_limit = single<V> ? 0x1.62e42ep+6 : 0x1.62e42fefa39efp+9;

// Placeholder for the factor 1 in exp_times.
struct no_factor {};

// factor 2^n e^r for a reduced r, where `sum` is n and the magic number. A factor costs half the rounding error of a product.
template <class Factor, class V>
COTANGENT_FORMULA constexpr V exp_of_reduced(Factor const& factor, V const& sum, V const& r) {
  constexpr bool f = single<V>, native = native_power_of_two<V>::exists;
  constexpr double c = native ? 1 : 2; // times e^r: doubled coefficients, with the same roundings
  V const r2 = r * r;
  V even{}, odd{}; // c e^r = c + r (c + r (c / 2 + ...))
  if constexpr (f) {
    even = horner(r2, c * 0x1.122fc0p-7, c * 0x1.5554a4p-3);
    odd = horner(r2, c * 0x1.6b6e06p-10, c * 0x1.555688p-5);
  } else {
    even = horner(r2, c * 0x1.ad1f488253352p-26, c * 0x1.71df56106fea6p-19, c * 0x1.a01a011baa52ap-13,
                  c * 0x1.1111111128a11p-7, c * 0x1.5555555555501p-3);
    odd = horner(r2, c * 0x1.289fb08b18e02p-22, c * 0x1.a019ab0acc52cp-16, c * 0x1.6c16c17ccced9p-10,
                 c * 0x1.55555555531ecp-5);
  }
  V const cubic = fma(odd, r, even);
  V const slope = fma(fma(cubic, r, constant<V>(c / 2)), r, constant<V>(c));
  V p{};
  if constexpr (std::is_same_v<Factor, no_factor>) p = fma(slope, r, constant<V>(c));
  else p = fma(mul(factor, slope), r, native ? factor : V(factor + factor));
  if constexpr (native) return native_power_of_two<V>::times(p, rounded(sum - constant<V>(exp_magic<V>)));
  else {
    // 2^(n - 1) if it is normal; the rest of the scaling, 1 otherwise, comes last and rounds once.
    V const normal = at_least(sum, constant<V>(exp_magic<V> - (f ? 120 : 1000)));
    V const scale = shift_bits_left<mantissa_bits<V>>(normal);
    auto const missing = (bit_cast<bits_t<V>>(sum) - bit_cast<bits_t<V>>(normal)) << mantissa_bits<V>;
    V const rest = bit_cast<V>(missing + bit_cast<lane_t<bits_t<V>>>(lane_t<V>{1}));
    return mul<V>(p * scale, rest);
  }
}

// factor e^(high + low...), with at most one `low` of about an ulp of high.
template <class Factor, class V, class... Low>
COTANGENT_FORMULA constexpr V exp_times(Factor const& factor, V const& high, Low const&... low) {
  constexpr bool f = single<V>;
  // Arguments out of range become infinity and zero.
  V const a = at_least(at_most(high, constant<V>(f ? 89 : 709.8)), constant<V>(f ? -104 : -746));
  auto const [sum, n, reduced] = reduce_exp(a);
  return exp_of_reduced(factor, sum, V((reduced + ... + low)));
}

template <class V, class... Low>
COTANGENT_FORMULA constexpr V exp_of_sum(V const& high, Low const&... low) {
  return exp_times(no_factor{}, high, low...);
}

} // namespace detail

/// e to the x.
///
/// Value: within 1 ulp (without FMA: 1.2); subnormal, zero or infinite if the power is.
template <class V>
COTANGENT_FORMULA constexpr V exp(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::exp(split(x).low), math::exp(split(x).high));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && !(x > -800 && x <= static_cast<V>(exp_limit<V>)))
      return is_nan(x) ? x : x > 0 ? infinity<V> : V{};
  return exp_of_sum(x);
}

/// 2 to the x.
///
/// Value: within 1 ulp; exact for integers; subnormal, zero or infinite if the power is.
template <class V>
COTANGENT_FORMULA constexpr V exp2(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::exp2(split(x).low), math::exp2(split(x).high));
  constexpr bool f = single<V>;
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && !(x > -1200 && x < (f ? 128 : 1024)))
      return is_nan(x) ? x : x > 0 ? infinity<V> : V{};
  V const a = at_least(at_most(x, constant<V>(f ? 128.25 : 1024.25)), constant<V>(f ? -151 : -1076));
  V const magic = constant<V>(exp_magic<V>);
  V const sum = rounded(a + magic);
  V const rest = rounded(a - rounded(sum - magic)); // exact
  V const r = fma(rest, constant<V>(f ? 0x1.62e430p-1 : 0x1.62e42fefa39efp-1),
                  mul(rest, constant<V>(f ? -0x1.05c610p-29 : 0x1.abc9e3b39803fp-56)));
  return exp_of_reduced(no_factor{}, sum, r);
}

namespace detail {

// expm1 for arguments between -42 and 709.8 (float: -20 and 89) and NaN, with +0 for -0.
template <class V>
COTANGENT_FORMULA constexpr V expm1_between(V const& x) {
  auto const [sum, n, r] = reduce_exp(x);
  V const scale = shift_bits_left<mantissa_bits<V>>(sum);
  V const r2 = r * r;
  V q{};
  if constexpr (single<V>) {
    q = horner(r, 0x1.a18a56p-13, 0x1.6d4126p-10, 0x1.1110a2p-7, 0x1.5554f2p-5, 0x1.555556p-3);
  } else {
    V const even = horner(r2, 0x1.af5eb8c7b4bd8p-26, 0x1.71ddf85dc3218p-19, 0x1.a01a01afddd92p-13,
                          0x1.111111110f6ccp-7, 0x1.5555555555559p-3);
    V const odd = horner(r2, 0x1.1f93372fc27f6p-29, 0x1.27e4c76dd8b73p-22, 0x1.a01a01af90e6bp-16,
                         0x1.6c16c16c149e8p-10, 0x1.5555555555559p-5);
    q = fma(odd, r, even);
  }
  V const p = fma(r2, fma(q, r, constant<V>(0.5)), r); // e^r - 1
  V const scaled = fma(p, scale, rounded(scale - constant<V>(0.5)));
  return select(n == V{}, p, scaled + scaled);
}

} // namespace detail

/// e to the x, minus 1, without the cancellation near zero.
///
/// Value: within 2 ulp.
template <class V>
COTANGENT_FORMULA constexpr V expm1(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::expm1(split(x).low), math::expm1(split(x).high));
  constexpr double highest = single<V> ? 89 : 709.8, lowest = single<V> ? -20 : -42;
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && !(x <= static_cast<V>(exp_limit<V>)))
      return is_nan(x) ? x : broadcast<V>(infinity<V>);
  return copysign(expm1_between(at_least(at_most(x, constant<V>(highest)), constant<V>(lowest))), x);
}

} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
