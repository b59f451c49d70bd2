// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_POWER_HPP
#define COTANGENT_CORE_MATH_POWER_HPP

#include <cotangent/core/math/exp.hpp>
#include <cotangent/core/math/log.hpp>

namespace cotangent::math {
inline namespace COTANGENT_ABI {
namespace detail {

// A sum high + low, where |low| is at most half an ulp of high or a little more.
template <class V>
struct twofold {
  V high, low;
};

template <class V>
COTANGENT_FORMULA constexpr twofold<V> exact_product(V const& a, V const& b) {
  V const p = rounded(mul(a, b));
  if constexpr (has_fma) return {p, fma(a, b, -p)};
  else { // Dekker's splitting
    V const splitter = constant<V>(single<V> ? 4097 : 134217729);
    V const as = rounded(a * splitter), bs = rounded(b * splitter);
    V const ah = rounded(as - rounded(as - a)), bh = rounded(bs - rounded(bs - b));
    V const al = rounded(a - ah), bl = rounded(b - bh);
    V const low = rounded(rounded(rounded(ah * bh - p) + ah * bl) + al * bh);
    return {p, rounded(low + al * bl)};
  }
}

// a + b for |a| >= |b|.
template <class V>
COTANGENT_FORMULA constexpr twofold<V> ordered_sum(V const& a, V const& b) {
  V const s = rounded(a + b);
  return {s, rounded(b - rounded(s - a))};
}

// a + b.
template <class V>
COTANGENT_FORMULA constexpr twofold<V> exact_sum(V const& a, V const& b) {
  V const s = rounded(a + b), part = rounded(s - a);
  return {s, rounded(rounded(a - rounded(s - part)) + rounded(b - part))};
}

template <class V>
COTANGENT_FORMULA constexpr twofold<V> product(twofold<V> const& a, twofold<V> const& b) {
  auto const p = exact_product(a.high, b.high);
  return ordered_sum<V>(p.high, p.low + fma(a.high, b.low, mul(a.low, b.high)));
}

template <class V>
COTANGENT_FORMULA constexpr twofold<V> quotient(twofold<V> const& a, twofold<V> const& b) {
  V const q = a.high / b.high;
  auto const back = exact_product(q, b.high);
  V const rest = rounded(rounded(a.high - back.high) - back.low);
  return {q, V((rest + fma(-q, b.low, a.low)) / b.high)};
}

// log(x) for positive normal x to about 68 bits: log(1 + f) = 2 s + s^3 (2/3 + s^2 (2/5 + ...)) with s = f /
// (2 + f); s, s^2, s^3 and the bracket are computed as twofold numbers.
template <class V>
COTANGENT_FORMULA constexpr twofold<V> log_twofold(V const& x, V const& offset) {
  auto const parts = split_exponent(x, offset);
  V const one = constant<V>(1), two = constant<V>(2);
  V const f = rounded(parts.m - one);
  V const d = rounded(two + f), d_low = rounded(f - rounded(d - two));
  V const inverse = one / d;
  V const s = mul(f, inverse);
  auto const back = exact_product(s, d);
  V const s_low = mul<V>(rounded(f - back.high) - back.low - mul(s, d_low), inverse);
  auto const square = exact_product(s, s);
  V const z = square.high, z_low = square.low + mul(s + s, s_low);
  V const tail =
      horner(z, 0x1.eacac8db89eaep-4, 0x1.de3cdf0bf8264p-4, 0x1.1120727c1cdcdp-3, 0x1.3b1364b596151p-3,
             0x1.745d182995925p-3, 0x1.c71c71c59629cp-3, 0x1.2492492492f53p-2, 0x1.9999999999996p-2);
  // the bracket
  auto const bracket = ordered_sum(constant<V>(0x1.5555555555555p-1), mul(tail, z));
  V const bracket_low = bracket.low + fma(tail, z_low, constant<V>(0x1.5555555555555p-55));
  // s z bracket
  auto const cube = exact_product(s, z);
  V const cube_low = cube.low + fma(s, z_low, mul(s_low, z));
  auto const rest = exact_product(cube.high, bracket.high);
  V const rest_low = rest.low + fma(cube.high, bracket_low, mul(cube_low, bracket.high));
  // k ln 2 + 2 s + rest; k times the first part of ln 2 is exact
  auto const first = ordered_sum(s + s, rest.high);
  V const first_low = first.low + (rest_low + (s_low + s_low));
  V const k_high = mul(parts.k, constant<V>(0x1.62e42fefa3800p-1));
  // k = 0: the sum starts from `first`; else |k ln 2| is larger.
  auto const sum = ordered_sum(k_high, first.high);
  V const low = sum.low + fma(parts.k, constant<V>(0x1.ef35793c76730p-45), first_low);
  return ordered_sum(sum.high, low);
}

// x^y for floats, in double, to about 2^-31: its rounding to float is then almost always the nearest one. x is positive
// and finite, and 2^k m with m in [sqrt(1/2), sqrt(2)).
template <class W>
COTANGENT_FORMULA constexpr W power_of_float(W const& x, W const& y) {
  auto const [k, m, exponent] = split_exponent(x, constant<W>(log_format<W>::exponent_offset));
  W const f = m - constant<W>(1), f2 = f * f;
  W const even = horner(f2, 0x1.0f62653b1ffe1p-3, 0x1.0acdf64b6e1dcp-3, 0x1.481fac67cdc61p-3, 0x1.a61b7dd43360ep-3,
                        0x1.2776b6cce9e83p-2, 0x1.ec709de33cb12p-2, 0x1.71547652b58f7p+0);
  W const odd = horner(f2, -0x1.1da6c8a50bffdp-4, -0x1.13b87fb24fdcbp-3, -0x1.23d6553b2354ep-3, -0x1.7188d286178a3p-3,
                       -0x1.ec6f2e07fb2dep-3, -0x1.71547888295ebp-2, -0x1.71547651b7161p-1);
  W const logarithm = fma(fma(odd, f, even), f, k); // to base 2, relative to it: 2^-38
  // Beyond these limits a float is zero or infinite.
  W const z = at_least(at_most(W(logarithm * y), constant<W>(150)), constant<W>(-200));
  W const sum = rounded(z + constant<W>(0x1.8p52));
  W const r = z - rounded(sum - constant<W>(0x1.8p52)), r2 = r * r;
  W const upper = horner(r2, 0x1.c04555d127429p-17, 0x1.5dc053af88f8bp-10, 0x1.c6b0551b173b0p-5, 0x1.62e4300b9e704p-1);
  W const lower = horner(r2, 0x1.443f95dd95260p-13, 0x1.3b2a1bf5ae4e6p-7, 0x1.ebfbe045708dcp-3);
  W const power = fma(fma(lower, r, upper), r, constant<W>(1)); // 2^r
  return bit_cast<W>(bit_cast<bits_t<W>>(power) + (bit_cast<bits_t<W>>(sum) << mantissa_bits<W>));
}

// |x|^y for positive finite |x|.
template <class V>
COTANGENT_FORMULA constexpr V power_of_magnitude(V const& x, V const& y) {
  // A larger exponent gives 0, 1 or infinity already.
  V const limited = at_least(at_most(y, constant<V>(0x1p70)), constant<V>(-0x1p70));
  if constexpr (single<V>) {
    using wide = with_lane<V, double>;
    if constexpr (is_wide<wide> && lanes<V> > 1)
      return join<V>(power_of_magnitude(split(x).low, split(y).low), power_of_magnitude(split(x).high, split(y).high));
    else {
      wide const power = power_of_float(convert<wide>(x), convert<wide>(limited));
      if constexpr (!is_vector<V>)
        if (std::is_constant_evaluated() && power >= 0x1.ffffffp127) return infinity<V>;
      return convert<V>(power);
    }
  } else {
    auto const subnormal = x < constant<V>(0x1p-1022);
    V const normal = select(subnormal, x * constant<V>(0x1p52), x);
    constexpr double offset = log_format<V>::exponent_offset;
    auto const logarithm =
        log_twofold(normal, select(subnormal, constant<V>(offset + 52), constant<V>(offset)));
    auto const z = exact_product(logarithm.high, limited);
    V const low = fma(logarithm.low, limited, z.low);
    if constexpr (!is_vector<V>)
      if (std::is_constant_evaluated() && !(z.high > -800 && z.high <= exp_limit<V>))
        return z.high > 0 ? infinity<V> : V{};
    // Far outside the range, low may be arbitrary.
    return exp_of_sum(z.high, select(abs(z.high) < constant<V>(800), low, V{}));
  }
}

// x^y from |x|^y, if x is not a positive number or y is NaN.
template <class V>
COTANGENT_FORMULA constexpr V power_outside(V const& x, V const& y, V const& power) {
  using bits = bits_t<V>;
  V const zero{}, one = constant<V>(1), a = abs(x), inf = broadcast_bits<V>(infinity<V>),
                  top = broadcast<V>(largest<V>), half = y * constant<V>(0.5);
  auto const extreme = logical_or<mask_t<V>>(a == zero, a > top);
  auto const rises = select(a == zero, select(y > zero, zero, inf), select(y > zero, inf, zero));
  V const magnitude = select(y == zero, one, select(extreme, rises, power));
  auto const odd = logical_and<mask_t<V>>(floor(y) == y, floor(half) != half);
  bits const sign = bit_cast<bits>(select(odd, x, zero)) & std::numeric_limits<lane_t<bits>>::min();
  V const signed_power = bit_cast<V>(bit_cast<bits>(magnitude) | sign);
  auto const undefined = logical_and<mask_t<V>>(logical_and<mask_t<V>>(x < zero, a <= top), floor(y) != y);
  V const r = select(undefined, broadcast_bits<V>(nan<V>), signed_power);
  V const with_nan =
      select(is_nan(y), select(x == one, one, y), select(is_nan(x), select(y == zero, one, x), r));
  return with_nan;
}

} // namespace detail

/// x to the power y.
///
/// Value: within 1.5 ulp; special cases as in C (x^0 = 1^y = 1 even for NaN; NaN for a negative x unless y is
/// an integer).
template <class V>
COTANGENT_FORMULA constexpr V pow(V const& x, V const& y) {
  using namespace detail;
  if constexpr (is_wide<V>)
    return join<V>(math::pow(split(x).low, split(y).low), math::pow(split(x).high, split(y).high));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && is_nan(y)) return x == 1 ? x : y;
  auto const special = logical_or<mask_t<V>>(mask_cast<mask_t<V>>(log_special(x)), is_nan(y));
  if (!any(special)) [[likely]]
    return power_of_magnitude(x, y);
  V const a = abs(x), one = constant<V>(1);
  auto const ordinary = logical_and<mask_t<V>>(a > V{}, a <= broadcast<V>(largest<V>));
  return power_outside(x, y, power_of_magnitude(select(ordinary, a, one), select(is_nan(y), one, y)));
}

} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
