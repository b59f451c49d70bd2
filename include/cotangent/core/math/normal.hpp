// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_NORMAL_HPP
#define COTANGENT_CORE_MATH_NORMAL_HPP

#include <cotangent/core/math/erf.hpp>
#include <cotangent/core/math/power.hpp>

namespace cotangent::math {
inline namespace COTANGENT_ABI {
namespace detail {

// a^2 for a >= 0, to about twice the precision. Without FMA the upper half of the bits of a is squared
// exactly.
template <class V>
COTANGENT_FORMULA constexpr twofold<V> exact_square(V const& a) {
  if constexpr (has_fma) return exact_product(a, a);
  else {
    using bits = bits_t<V>;
    constexpr auto upper_half = static_cast<lane_t<bits>>(~((lane_t<bits>{1} << (single<V> ? 12 : 27)) - 1));
    V const upper = bit_cast<V>(bit_cast<bits>(a) & upper_half);
    return ordered_sum(mul(upper, upper), mul<V>(rounded(a - upper), rounded(a + upper)));
  }
}

// a b - c, where a b is c but for rounding.
template <class V>
COTANGENT_FORMULA constexpr V product_minus(V const& a, V const& b, V const& c) {
  if constexpr (has_fma) return fma(a, b, -c);
  else {
    auto const p = exact_product(a, b);
    return rounded(p.high - c) + p.low;
  }
}

// The probability that a standard normal number exceeds a >= 0, times e^(a^2/2). `a_low` is the part of a that was
// rounded off.
//
// Its product with a + k is a smooth function of t = (a - k) / (a + k), fitted with a relative
// error of 2^-57 up to a = 39.5 (float: 2^-27 up to 14.5), where the probability is below the smallest
// subnormal number.
template <class V>
struct scaled_tail {
  V smooth, sum, change; // smooth / sum e^change, where |change| is about an ulp
};
template <class V>
inline constexpr double tail_limit = single<V> ? 14.5 : 39.5;
template <class V>
COTANGENT_FORMULA constexpr scaled_tail<V> normal_tail_scaled(V const& a, V const& a_low = V{}) {
  constexpr double k = single<V> ? 3.5 : 5;
  V const sum = rounded(a + constant<V>(k));
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
  // Corrects the rounding of a + k, too, by an approximate derivative of the logarithm of the smooth part.
  V const added = rounded(sum - a), lost = (a - rounded(sum - added)) + (constant<V>(k) - added) + a_low;
  V const excess = product_minus(s, sum, constant<V>(2 * k)); // of s, which is rounded
  V const slope = fma(s, constant<V>(single<V> ? 0.27 : 0.5), constant<V>(single<V> ? 0.48 : 0.42)); // of log(smooth) in s
  V const change = mul(mul(s, constant<V>(-0.5 / k)), fma(slope, fma(s, lost, excess), lost));
  V const c = constant<V>(0x1.9884533d43651p-2), p = fma(odd, t, even); // c = 1 / sqrt(2 pi): smooth if s is 0
  if constexpr (has_fma || !single<V>) return {fma(p, s, c), sum, change};
  else { // and what the last sum rounds off, times an approximation of its reciprocal
    auto const smooth = exact_sum<V>(p * s, c);
    return {smooth.high, sum, V(change + smooth.low * (constant<V>(2.4) - s))};
  }
}

// The probability that a standard normal number exceeds a >= 0.
template <class V>
COTANGENT_FORMULA constexpr V normal_tail(V const& magnitude) {
  V const a = at_most(magnitude, constant<V>(tail_limit<V>)), half = constant<V>(-0.5);
  auto const tail = normal_tail_scaled(a);
  auto const square = exact_square(a);
  return exp_times(tail.smooth, mul(square.high, half), fma(square.low, half, tail.change)) / tail.sum;
}

// The slope of the normal distribution in z = x^2, for |x| <= 1: its integral from 0 to x is x times this.
template <class V>
COTANGENT_FORMULA constexpr V normal_slope(V const& z) {
  V slope{};
  if constexpr (single<V>)
    slope = horner(z, -0x1.00d52cp-17, 0x1.dbff12p-14, -0x1.36fd42p-10, 0x1.46ce4cp-7, -0x1.105832p-4, 0x1.988454p-2);
  else
    slope = horner(z, 0x1.1e87d893495a9p-38, -0x1.e68f401a8fdecp-34, 0x1.380a2620c6894p-29, -0x1.621cb3c43e131p-25,
                   0x1.6589f0b364f00p-21, -0x1.3ce8f9b53d7b1p-17, 0x1.e42b0d4ae4d51p-14, -0x1.37403f6b929d5p-10,
                   0x1.46d0429768ffdp-7, -0x1.1058377e2cedfp-4, 0x1.9884533d43651p-2);
  return slope;
}

} // namespace detail

/// The probability that a standard normal number is less than x.
///
/// Value: within 3.9 ulp, in both tails.
/// Source: the form of the fit follows Shepherd and Laframboise, Mathematics of Computation 36 (1981).
template <class V>
COTANGENT_FORMULA constexpr V normal_cdf(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::normal_cdf(split(x).low), math::normal_cdf(split(x).high));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && is_nan(x)) return x;
  // no overflow if it is not used
  V const one = constant<V>(1), c = at_least(at_most(x, one), -one), z = c * c;
  V const near = fma(normal_slope(z), c, constant<V>(0.5)), tail = normal_tail(abs(x));
  return select(abs(x) < one, near, select(x > V{}, one - tail, tail));
}

/// The logarithm of normal_cdf.
///
/// Value: within 3.5 ulp, in both tails; -infinity at -infinity.
template <class V>
COTANGENT_FORMULA constexpr V normal_log_cdf(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::normal_log_cdf(split(x).low), math::normal_log_cdf(split(x).high));
  V const top = broadcast<V>(largest<V>), one = constant<V>(1), half = constant<V>(-0.5);
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && !(x >= (single<V> ? -0x1p60 : -0x1p500) && x <= top))
      return is_nan(x) ? x : x > 0 ? V{} : V(-infinity<V>);
  V const a = abs(x), b = at_most(a, constant<V>(tail_limit<V>));
  auto const far = a > constant<V>(tail_limit<V>), near = a < one;
  auto const tail = normal_tail_scaled(b);
  V const c = at_most(a, one), beyond = select(near, V(-product_minus(normal_slope(V(c * c)), c, V(-half))), normal_tail(a));
  // Beyond the fit: log(1 / (sqrt(2 pi) a)) and the first terms of its asymptotic series.
  V const w = one / (select(far, a, one) * select(far, a, one));
  V const series = single<V> ? horner(w, 2.5, -1) : horner(w, 353. / 4, -37. / 3, 2.5, -1);
  V const logarithm = math::log(select(far, a, select(near, beyond, V(tail.smooth / tail.sum))));
  V const log_tail = select(far, V(fma(series, w, constant<V>(-0x1.d67f1c864beb5p-1)) - logarithm), V(logarithm + tail.change));
  V const lower = select(near, logarithm, fma(V(a * half), a, log_tail));
  return select(x < V{}, lower, math::log1p(V(-beyond)));
}

namespace detail {

template <class V>
COTANGENT_FORMULA constexpr twofold<V> scaled_by_root_of_two(V const& x) {
  V const root = constant<V>(0x1.6a09e667f3bcdp+0), rest = x * constant<V>(single<V> ? 0x1.9fcef4p-26 : -0x1.bdd3413b26456p-54);
  auto const p = exact_product(x, root);
  return {p.high, V(p.low + rest)};
}

} // namespace detail

/// 1 - erf(x), without the cancellation.
///
/// Value: within 3.7 ulp.
template <class V>
COTANGENT_FORMULA constexpr V erfc(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::erfc(split(x).low), math::erfc(split(x).high));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && is_nan(x)) return x;
  // Twice the normal probability beyond sqrt(2) x, with the exact square of x.
  V const c = at_least(at_most(x, constant<V>(single<V> ? 10.2 : 27.5)), V{}), one = constant<V>(1);
  auto const a = scaled_by_root_of_two(c);
  auto const tail = normal_tail_scaled(a.high, a.low);
  auto const square = exact_square(c);
  V const beyond = exp_times(V(tail.smooth + tail.smooth), V(-square.high), V(tail.change - square.low)) / tail.sum;
  return select(x < constant<V>(0.6), V(one - math::erf(x)), beyond);
}

/// The number whose error function is x.
///
/// Value: within 3 ulp; infinite at 1 and -1, NaN beyond.
template <class V>
COTANGENT_FORMULA constexpr V erfinv(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::erfinv(split(x).low), math::erfinv(split(x).high));
  V const one = constant<V>(1), a = abs(x);
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && !(a < one)) return is_nan(x) ? x : a > one ? nan<V> : x > 0 ? infinity<V> : V(-infinity<V>);
  // Winitzki's approximation, to 0.2 percent; then two steps of Halley's method on erf, or on erfc where x is near 1.
  auto const inner = a < constant<V>(0.5);
  V const rest = one - a; // exact if it is used
  V const l = math::log1p(V(-(mul(a, a)))), s = fma(l, constant<V>(0.5), constant<V>(4.330746750799873)); // 2 / (pi 0.147)
  V const root = math::sqrt(V(mul(s, s) - mul(l, constant<V>(1 / 0.147))));
  V y = math::sqrt(V(-l * constant<V>(1 / 0.147) / (root + s)));
  // (next to 1 these 0.2 percent are too far for two steps)
  y = select(rest < constant<V>(0x1p-40), V(y * constant<V>(0.9986)), y);
  for (int k = 0; k < 2; ++k) {
    V const residual = select(inner, V(math::erf(y) - a), V(rest - math::erfc(y)));
    V const step = residual * math::exp(V(mul(y, y))) * constant<V>(0x1.c5bf891b4ef6bp-1); // sqrt(pi) / 2
    y = y - step / fma(y, step, one);
  }
  auto const ordinary = logical_and<mask_t<V>>(a > V{}, a < one);
  V const edge = select(a == one, broadcast_bits<V>(infinity<V>), V(x - x + x)); // 0, NaN
  return copysign(select(ordinary, y, select(a > one, broadcast_bits<V>(nan<V>), edge)), x);
}

} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
