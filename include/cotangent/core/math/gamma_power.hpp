// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_GAMMA_POWER_HPP
#define COTANGENT_CORE_MATH_GAMMA_POWER_HPP

#include <cotangent/core/math/gamma.hpp>

// x^a e^-x / Gamma(a + 1), to a small relative error also where its exponent is large.

namespace cotangent::math {
inline namespace COTANGENT_ABI {
namespace detail {

/// log(q) - y for y = q - 1 > -1.
template <class V>
constexpr V log1p_minus(V const& y, V const& q) {
  auto const near = abs(y) < constant<V>(0.5);
  // log(1 + y) is 2 (s + s^3 / 3 + ...), and y - 2 s is s y
  V const u = select(near, y, V{}), s = u / (constant<V>(2) + u), w = s * s;
  V series{};
  for (int k = single<V> ? 8 : 17; k >= 0; --k) series = fma(series, w, constant<V>(1. / (2 * k + 3)));
  V const inner = fma(V(s * w), V(series + series), V(-s * u));
  return select(near, inner, V(math::log(select(near, constant<V>(1), q)) - y));
}

/// log(x / a) - (x / a - 1) for normal x and a of about the same size, to about 62 bits.
template <class V>
constexpr twofold<V> log_ratio_minus(V const& x, V const& a) {
  V const zero{}, one = constant<V>(1), two = constant<V>(2);
  auto const apart = quotient(exact_sum<V>(x, -a), {a, zero});
  auto const near = abs(apart.high) < constant<V>(0.25);
  // as log1p_minus: s (2 / 3 s^2 + ... - u)
  twofold<V> const u{select(near, apart.high, zero), select(near, apart.low, zero)};
  auto const sum = ordered_sum<V>(two, u.high);
  auto const s = quotient(u, {sum.high, V(sum.low + u.low)}), square = product(s, s), cube = product(square, s);
  auto const second = product(s, u), third = product(cube, {constant<V>(0x1.5555555555555p-1), constant<V>(0x1.5555555555555p-55)});
  V series{};
  for (int k = 8; k >= 0; --k) series = fma(series, square.high, constant<V>(2. / (2 * k + 5)));
  auto const close = exact_sum<V>(third.high, -second.high);
  V const close_low = close.low + fma(mul(cube.high, square.high), series, V(third.low - second.low));
  auto const ratio = quotient<V>({select(near, one, x), zero}, {select(near, one, a), zero});
  auto const logarithm = log_twofold(ratio.high, constant<V>(log_format<V>::exponent_offset));
  auto const far = exact_sum<V>(logarithm.high, -apart.high);
  V const far_low = far.low + (logarithm.low + ratio.low / ratio.high - apart.low);
  return {select(near, close.high, far.high), select(near, close_low, far_low)};
}

/// x^a e^-x / Gamma(a + 1), for floats in double.
template <class V>
constexpr V gamma_power_of_float(V const& a, V const& x) {
  V const one = constant<V>(1), ten = constant<V>(10);
  auto const small = a < ten;
  V exponent{}, divisor{};
  if (any(small)) {
    // Gamma(a + 1) is a (a - 1) ... Gamma(rest + 1) for 0 <= rest < 1
    V const power = select(small, a, one), of = select(small, x, one);
    V rest = power;
    divisor = one;
    for (int k = 0; k < 9 && any(rest >= one); ++k) {
      auto const more = rest >= one;
      divisor = select(more, V(divisor * rest), divisor);
      rest = select(more, V(rest - one), rest);
    }
    V const logarithm_of_gamma = mul<V>(rest * (rest - one), lgamma_smooth(V(rest - constant<V>(0.75))));
    exponent = fma(power, math::log(of), V(-of)) - logarithm_of_gamma;
  }
  if (!all(small)) {
    V const power = select(small, ten, a), ratio = select(small, ten, x) / power, inverse = one / power;
    V const series = mul<V>(horner<V>(inverse * inverse, 1. / 1260, -1. / 360, 1. / 12), inverse);
    exponent = select(small, exponent, V(mul(power, log1p_minus<V>(ratio - one, ratio)) - series));
    divisor = select(small, divisor, math::sqrt(V(constant<V>(6.283185307179586476925286766559) * power)));
  }
  return math::exp(at_least(exponent, constant<V>(-700))) / divisor; // (a smaller power is 0 for a float)
}

/// x^a e^-x / Gamma(a + 1) in double. The exponents are twofold numbers, since their errors are those of the result times the exponent.
template <class V>
constexpr V gamma_power(V const& a, V const& x) {
  V const zero{}, one = constant<V>(1), ten = constant<V>(10);
  auto const small = a < ten;
  V result{};
  if (any(small)) {
    V const of = select(small, at_most(x, constant<V>(800)), one), power = select(small, a, one);
    // Gamma(a + 1) is a (a - 1) ... Gamma(rest + 1) for 0 <= rest < 1
    V rest = power, factors = one, lost{};
    for (int k = 0; k < 9 && any(rest >= one); ++k) {
      auto const more = rest >= one;
      auto const next = exact_product(factors, rest);
      lost = select(more, fma(lost, rest, next.low), lost);
      factors = select(more, next.high, factors);
      rest = select(more, V(rest - one), rest);
    }
    V const logarithm_of_gamma = mul<V>(rest * (rest - one), lgamma_smooth(V(rest - constant<V>(0.75))));
    auto const subnormal = of < constant<V>(0x1p-1022);
    constexpr double offset = log_format<V>::exponent_offset;
    auto const logarithm = log_twofold(select(subnormal, of * constant<V>(0x1p52), of),
                                       select(subnormal, constant<V>(offset + 52), constant<V>(offset)));
    auto const first = exact_product(power, logarithm.high), second = exact_sum<V>(first.high, -of);
    auto const third = exact_sum<V>(second.high, -logarithm_of_gamma);
    V const low = (third.low + second.low) + (fma(power, logarithm.low, first.low) - lost / factors);
    result = exp_of_sum(third.high, low) / factors;
  }
  if (!all(small)) {
    V const power = select(small, ten, a), scale = select(power > constant<V>(0x1p900), constant<V>(0x1p-200), one);
    // (powers below the smallest number and above are those of these limits)
    V const of = at_most(at_least(select(small, ten, x), V(power * constant<V>(1e-35))), V(power * constant<V>(1e3)));
    V const factor = at_most(power, constant<V>(0x1p900)), inverse = one / power;
    auto const exponent = product({factor, zero}, log_ratio_minus<V>(mul(of, scale), mul(power, scale)));
    V const w = inverse * inverse;
    V const series = mul(horner(w, 1. / 156, -691. / 360360, 1. / 1188, -1. / 1680, 1. / 1260, -1. / 360, 1. / 12), inverse);
    V const low = select(exponent.high > constant<V>(-800), V(exponent.low - series), zero);
    V const far = exp_of_sum(exponent.high, low) / math::sqrt(V(constant<V>(6.283185307179586476925286766559) * power));
    result = select(small, result, far);
  }
  return result;
}

} // namespace detail
} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
