// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_GAMMA_HPP
#define COTANGENT_CORE_MATH_GAMMA_HPP

#include <cotangent/core/math/inverse.hpp>
#include <cotangent/core/math/log.hpp>
#include <cotangent/core/math/power.hpp>
#include <cotangent/core/math/trigonometric.hpp>

// The logarithm of the gamma function and its derivatives. Positive arguments: by recurrence to an interval with a polynomial
// (the logarithm between 1 and 2.5), or to large arguments, where the asymptotic series ends in a few terms. Negative
// arguments: by recurrence or by reflection, in double, and with twofold numbers where terms cancel.

namespace cotangent::math {
inline namespace COTANGENT_ABI {
namespace detail {

// x - n for the nearest integer n: exact.
template <class V>
COTANGENT_FORMULA constexpr V beside_integer(V const& x) {
  V const limit = constant<V>(single<V> ? 0x1p24 : 0x1p53), a = at_least(at_most(x, limit), -limit);
  return a - round_to_even(a);
}

// True for 0, the negative integers and -infinity.
template <class V>
COTANGENT_FORMULA constexpr mask_t<V> is_pole(V const& x) {
  return logical_and<mask_t<V>>(x <= V{}, beside_integer(x) == V{});
}

// of(x...), for floats in double.
template <class Of, class V, class... Same>
COTANGENT_FORMULA constexpr V in_double(Of const& of, V const& x, Same const&... more) {
  if constexpr (!single<V>) return of(x, more...);
  else {
    using wide = with_lane<V, double>;
    if constexpr (is_wide<wide> && lanes<V> > 1)
      return join<V>(in_double(of, split(x).low, split(more).low...), in_double(of, split(x).high, split(more).high...));
    else return convert<V>(of(convert<wide>(x), convert<wide>(more)...));
  }
}

// The sine and the cosine of pi r for 0 < r <= 1/2, each to about 2^-55 of it.
template <class V>
struct half_turn {
  twofold<V> sine, cosine;
};
template <class V>
COTANGENT_FORMULA constexpr half_turn<V> turn(V const& r) {
  static_assert(!single<V>);
  V const one = constant<V>(1), half = constant<V>(0.5);
  auto const swap = r > constant<V>(0.25);
  V const u = select(swap, V(half - r), r);
  auto const angle = exact_product(u, constant<V>(0x1.921fb54442d18p+1));
  V const t = angle.high, t_low = fma(u, constant<V>(0x1.1a62633145c07p-53), angle.low);
  auto const square = exact_product(t, t);
  V const z = square.high, z_low = fma(V(t + t), t_low, square.low);
  // the terms of the Taylor series from z^(3/2) and from z^2 on
  V const p = horner(z, 1. / 355687428096000, -1. / 1307674368000, 1. / 6227020800, -1. / 39916800, 1. / 362880, -1. / 5040,
                     1. / 120, -1. / 6);
  V const q = horner(z, 1. / 6402373705728000, -1. / 20922789888000, 1. / 87178291200, -1. / 479001600, 1. / 3628800,
                     -1. / 40320, 1. / 720, -1. / 24);
  auto const s = ordered_sum<V>(t, fma(V(t * z), p, mul<V>(t_low, one - mul(half, z))));
  auto const first = ordered_sum<V>(one, mul(-half, z));
  auto const c = ordered_sum<V>(first.high, first.low - fma(V(z * z), q, mul(half, z_low)));
  return {{select(swap, c.high, s.high), select(swap, c.low, s.low)}, {select(swap, s.high, c.high), select(swap, s.low, c.low)}};
}

// lgamma(x) / ((x - 1) (x - 2)) for x = z + 1.75 in [1, 2.5].
template <class V>
COTANGENT_FORMULA constexpr V lgamma_smooth(V const& z) {
  V const z2 = z * z;
  V even{}, odd{};
  if constexpr (single<V>) {
    even = horner(z2, 0x1.32ea7ep-14, 0x1.03cb54p-13, 0x1.2244f2p-11, 0x1.1278f2p-9, 0x1.1f966ap-7, 0x1.6cb624p-5, 0x1.ccf152p-2);
    odd = horner(z2, -0x1.1f335ap-13, -0x1.f1f032p-13, -0x1.1a4746p-10, -0x1.14c9d4p-8, -0x1.382eeap-6, -0x1.e96586p-4);
  } else {
    even = horner(z2, 0x1.75c8e4b0bb849p-24, -0x1.501038e3f4b02p-26, 0x1.bcd359ab28bccp-22, 0x1.019ed5c944fcep-20,
                  0x1.d6ba7178cecadp-19, 0x1.90f34771375dep-17, 0x1.5dd9d31d90f48p-15, 0x1.3776543d9d2b2p-13, 0x1.1daed609e7d16p-11,
                  0x1.12aa72f6bf91dp-9, 0x1.1f9587fa1eb1dp-7, 0x1.6cb62517118fcp-5, 0x1.ccf151e09cde8p-2);
    odd = horner(z2, -0x1.52d04301dad55p-23, 0x1.246de568fe6f2p-25, -0x1.9603c1167a065p-21, -0x1.da7f8ddb1afb2p-20,
                 -0x1.b3649525282a8p-18, -0x1.759940c57cab0p-16, -0x1.491a21f13e967p-14, -0x1.28f25561c32fep-12, -0x1.160562c0a01a1p-10,
                 -0x1.14f7c58de2671p-8, -0x1.382e176f619f5p-6, -0x1.e965863079469p-4);
  }
  return fma(odd, z, even);
}

// The first terms of Stirling's series in w = 1 / x^2, of B_2k / (2k (2k - 1)).
template <class V>
COTANGENT_FORMULA constexpr V stirling_series(V const& w) {
  if constexpr (single<V>) return horner(w, -0x1.6c16c2p-9, 0x1.555556p-4);
  else
    return horner(w, -0x1.f6ab0d9993c7dp-10, 0x1.b951e2b18ff23p-11, -0x1.3813813813814p-11, 0x1.a01a01a01a01ap-11,
                    -0x1.6c16c16c16c17p-9, 0x1.5555555555555p-4);
}

// lgamma(x) for x > 0.
template <class V>
COTANGENT_FORMULA constexpr V lgamma_positive(V const& x) {
  V const one = constant<V>(1), limit = constant<V>(single<V> ? 6.5 : 10.5);
  // To [1, 2.5]: the factors above multiply, one below divides.
  auto const large = x > limit;
  V a = select(large, constant<V>(2), x), product = one;
  constexpr int steps = single<V> ? 4 : 8;
  for (int k = 0; k < steps; ++k) {
    auto const above = a > constant<V>(2.5);
    V const lower = a - one;
    product = select(above, V(product * lower), product);
    a = select(above, lower, a);
  }
  auto const below = a < one;
  V const factor = select(below, a, product);
  // The roots 1 and 2, and a smooth function, with the argument a - 1.75.
  V const first = select(below, a, V(a - one)), second = select(below, V(a - one), V(a - constant<V>(2)));
  V const smooth = lgamma_smooth(select(below, V(a - constant<V>(0.75)), V(a - constant<V>(1.75))));
  // One logarithm: of the factor, or of x in Stirling's series.
  V const logarithm = math::log(select(large, x, factor));
  V const near = fma(V(first * second), smooth, select(below, V(-logarithm), logarithm));
  V const inverse = one / select(large, x, one), w = inverse * inverse;
  V const rest = fma(stirling_series(w), inverse, constant<V>(0x1.acfe390c97d69p-2)); // log(2 pi) / 2 - 1/2
  V const far = fma(V(x - constant<V>(0.5)), V(logarithm - one), rest);
  return select(large, far, near);
}

// lgamma(x) for x < 0 in double, not an integer.
template <class V>
COTANGENT_FORMULA constexpr V lgamma_negative(V const& x) {
  V const one = constant<V>(1), zero{};
  constexpr int steps = 13; // to arguments where Stirling's series is exact enough
  auto const far = x < constant<V>(-steps);
  V result{};
  if (!all(far)) {
    // lgamma(1 + y) - log |x (x + 1) ... y| for y = x + n in (0, 1]. All x + k are exact, unless x is near 0.
    V y = select(far, constant<V>(-0.5), x), product = y, low{};
    for (int k = 0; k < steps; ++k) {
      auto const more = y < zero;
      y = select(more, V(y + one), y);
      auto const next = exact_product(product, y);
      low = select(more, fma(low, y, next.low), low);
      product = select(more, next.high, product);
    }
    V const root = y * (y - one), correction = low / product;
    result = fma(root, lgamma_smooth(V(y - constant<V>(0.75))), V(-correction)) - math::log(abs(product));
  }
  if (any(far)) {
    // log(pi / |sin(pi x)|) - log(a) - lgamma(a) for a = -x, which may cancel
    V const a = select(far, V(-x), constant<V>(steps)), inverse = one / a, offset = constant<V>(log_format<V>::exponent_offset);
    auto const s = turn(abs(beside_integer(x))).sine;
    auto const of_a = log_twofold(a, offset), of_sine = log_twofold(s.high, offset);
    V const half = constant<V>(0.5), factor = rounded(a + half), lost = half - rounded(factor - a);
    auto const large = exact_product(of_a.high, factor);
    auto const first = ordered_sum<V>(large.high, -a), sum = exact_sum<V>(first.high, of_sine.high);
    V const constants = fma(stirling_series<V>(inverse * inverse), inverse, constant<V>(-0x1.ce6bb25aa1316p-3)); // log(pi / 2) / 2
    V const low = (sum.low + first.low) + (fma(of_a.low, factor, fma(of_a.high, lost, large.low)) + (of_sine.low + s.low / s.high));
    result = select(far, V(-sum.high - (low + constants)), result);
  }
  return result;
}

} // namespace detail

/// The logarithm of the absolute value of the gamma function.
///
/// Value: within 3.2 ulp for x > 0; below, within 2 ulp of the larger of |y| and 1; infinite at 0 and the negative integers.
template <class V>
COTANGENT_FORMULA constexpr V lgamma(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::lgamma(split(x).low), math::lgamma(split(x).high));
  V const one = constant<V>(1), zero{}, top = broadcast<V>(largest<V>);
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated()) {
      if (is_nan(x)) return x;
      if (abs(x) > top || is_pole(x) || x > (single<V> ? 0x1p120 : 0x1p1000)) return infinity<V>;
    }
  auto const beyond = x <= zero;
  V result = select(abs(x) > top, broadcast_bits<V>(infinity<V>), lgamma_positive(select(beyond, one, x)));
  if (any(beyond)) [[unlikely]] {
    auto const pole = is_pole(x), below = logical_and<mask_t<V>>(beyond, logical_not(pole));
    V const reflected = in_double([](auto const& v) { return lgamma_negative(v); }, select(below, x, constant<V>(-0.5)));
    result = select(pole, broadcast_bits<V>(infinity<V>), select(below, reflected, result));
  }
  return result;
}

namespace detail {

// 1 / a^(N+1). Powers of large numbers are taken of their quotients, since constant evaluations must not overflow; those of
// small ones too, since subnormal powers lose bits.
template <int N, class V>
COTANGENT_FORMULA constexpr V inverse_power(V const& a) {
  constexpr double least = bit_cast<double>(std::int64_t{1023 - ((single<V> ? 126 : 1022) + N) / (N + 1)} << 52);
  V const base = at_least(at_most(a, constant<V>(0x1p30)), constant<V>(least)), quotient = base / a; // 1 for a between
  V power = base, rest = quotient;
  for (int n = 0; n < N; ++n) power = power * base, rest = rest * quotient;
  return rest / power;
}

constexpr double factorial(int n) {
  double product = 1;
  for (int k = 2; k <= n; ++k) product *= k;
  return product;
}

// For the sum of (x + k)^-(N+1): its first terms, what that sum has rounded off, and an a = x + n for the other terms.
template <class V>
struct first_terms {
  V a, sum, lost;
};
template <int N, class V>
COTANGENT_FORMULA constexpr first_terms<V> sum_first_terms(V const& x) {
  constexpr int steps = single<V> ? 6 : 10 + 2 * N; // to arguments where the series is exact enough
  V const one = constant<V>(1), limit = constant<V>(steps);
  V a = N > 2 ? at_most(x, broadcast<V>(largest<V>)) : x, sum{}, lost{};
  for (int k = 0; k < steps; ++k) {
    auto const below = a < limit;
    V const term = select(below, inverse_power<N>(select(below, a, one)), V{});
    V const total = rounded(sum + term), larger = select(sum > term, sum, term), smaller = select(sum > term, term, sum);
    V const finite = select(total < infinity<V>, larger, V{}); // (near a pole nothing else matters)
    lost = lost + select(total < infinity<V>, rounded(smaller - rounded(total - finite)), V{});
    sum = total;
    V const next = rounded(a + one);
    // The rounding of a counts N + 1 times. The sum of the terms from a + 1 on has a derivative of about (a + 1/2)^-(N+1).
    if constexpr (N > 2) lost = fma(rounded(rounded(next - a) - one), at_most(V(term * constant<V>(0.7)), constant<V>(0.04)), lost);
    a = select(below, next, a);
  }
  return {a, sum, lost};
}

// The rest of that sum, times N!, without its first term (N - 1)! / a^N and without a factor of a^-N.
template <int N, class V>
COTANGENT_FORMULA constexpr V other_terms(V const& a) {
  V const inverse = constant<V>(1) / a, w = inverse * inverse;
  constexpr double bernoulli[]{1. / 6, -1. / 30, 1. / 42, -1. / 30, 5. / 66, -691. / 2730, 7. / 6, -3617. / 510};
  constexpr int terms = single<V> ? 4 : 8;
  V series{};
  for (int k = terms; k > 0; --k) { // B_2k (2k + N - 1)! / (2k)!
    double c = bernoulli[k - 1];
    if constexpr (N == 0) c /= 2 * k;
    else
      for (int n = 2 * k + 1; n < 2 * k + N; ++n) c *= n;
    series = fma(series, w, constant<V>(c));
  }
  return fma(series, w, V(constant<V>(factorial(N) / 2) * inverse));
}

// The N-th derivative of digamma, (-1)^(N+1) N! sum of (x + k)^-(N+1), for x > 0.
template <int N, class V>
COTANGENT_FORMULA constexpr V polygamma_positive(V const& x) {
  auto const first = sum_first_terms<N>(x); // (no structured binding: clang's constant evaluations cannot capture one)
  V const a = first.a, sum = first.sum, lost = first.lost, other = other_terms<N>(a);
  if constexpr (N == 0)
    // log(a) - sum, where the sum starts from the exact k ln 2
    return logarithm(a, [&](V const& k, V const& f) __attribute__((always_inline)) {
      auto const start = exact_sum<V>(mul(k, constant<V>(single<V> ? 0x1.62e4p-1 : 0x1.62e42fefa3800p-1)), -sum);
      V const low = fma(k, constant<V>(single<V> ? 0x1.7f7d1cp-20 : 0x1.ef35793c76730p-45), select(sum < infinity<V>, start.low, V{}));
      return V(start.high + (log_of_parts(V{}, f) + (low - (other + lost))));
    });
  else {
    V const power = inverse_power<N - 1>(a);
    V const tail = fma(power, other, V(constant<V>(factorial(N - 1)) * power));
    V const magnitude = fma(sum, constant<V>(factorial(N)), fma(lost, constant<V>(factorial(N)), tail));
    return N % 2 == 0 ? V(-magnitude) : magnitude;
  }
}

// The N-th derivative of pi cot(pi r), for 0 < r <= 1/2.
template <int N, class V>
COTANGENT_FORMULA constexpr twofold<V> reflection_term(V const& r) {
  auto const [s, c] = turn(r);
  auto const square = product(s, s);
  auto const times = [](twofold<V> const& a, double high, double low) { return product(a, {constant<V>(high), constant<V>(low)}); };
  if constexpr (N == 0) return quotient(times(c, 0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53), s); // pi
  else if constexpr (N == 1) return quotient({constant<V>(-0x1.3bd3cc9be45dep+3), constant<V>(-0x1.692b71366cc04p-51)}, square); // pi^2
  else if constexpr (N == 2) return quotient(times(c, 0x1.f019b59389d7cp+5, 0x1.e019558e5380dp-51), product(square, s)); // 2 pi^3
  else { // -2 pi^4 (1 + 2 cos^2)
    auto const sum = ordered_sum<V>(constant<V>(3), square.high * constant<V>(-2));
    twofold<V> const factor{sum.high, V(sum.low - (square.low + square.low))};
    return quotient(times(factor, -0x1.85a2e8c290826p+7, 0x1.cc0cdf4bfa1e7p-47), product(square, square));
  }
}

// The N-th derivative of digamma for x < 0 in double, not an integer.
template <int N, class V>
COTANGENT_FORMULA constexpr V polygamma_negative(V const& x) {
  V const one = constant<V>(1), a = -x, r = beside_integer(x);
  auto const tiny = a < constant<V>(0x1p-80); // the value is (-1)^(N+1) N! / x^(N+1)
  V const argument = select(tiny, a, V(one - x)), outer = N % 2 == 0 ? copysign(one, r) : one;
  // psi(1 - x) - pi cot(pi x), differentiated: N changes of sign of the first, and the second is odd for even N
  auto const term = reflection_term<N>(select(tiny, constant<V>(0.5), abs(r)));
  if constexpr (N == 0) { // near its roots both cancel
    auto const [b, sum, lost] = sum_first_terms<0>(argument);
    auto const logarithm = log_twofold(b, constant<V>(log_format<V>::exponent_offset));
    auto const positive = exact_sum<V>(logarithm.high, -sum), difference = exact_sum<V>(positive.high, -outer * term.high);
    V const low = difference.low + (positive.low - outer * term.low) + (logarithm.low - lost - other_terms<0>(b));
    return select(tiny, sum, V(difference.high + low));
  } else {
    V const positive = polygamma_positive<N>(argument);
    if constexpr (N % 2 == 0) return select(tiny, V(-positive), V((positive - outer * term.low) - outer * term.high));
    else return select(tiny, positive, V(-term.high - (term.low + positive)));
  }
}

} // namespace detail

/// The N-th derivative of the digamma function; N = 0 is digamma itself, 1 is trigamma.
///
/// Value: within 4 ulp (N = 0, and below 0: of the larger of |y| and 1); NaN at 0 and the negative integers.
template <int N, class V>
COTANGENT_FORMULA constexpr V polygamma(V const& x) {
  static_assert(N >= 0 && N <= 3);
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::polygamma<N>(split(x).low), math::polygamma<N>(split(x).high));
  V const one = constant<V>(1), zero{}, top = broadcast<V>(largest<V>);
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated()) {
      if (is_nan(x)) return x;
      if (is_pole(x)) return nan<V>;
      if (x > top) return N == 0 ? infinity<V> : V{};
    }
  auto const beyond = x <= zero;
  V result = polygamma_positive<N>(select(beyond, one, x));
  if (any(beyond)) [[unlikely]] {
    auto const pole = is_pole(x), below = logical_and<mask_t<V>>(beyond, logical_not(pole));
    V const reflected = in_double([](auto const& v) { return polygamma_negative<N>(v); }, select(below, x, constant<V>(-0.5)));
    result = select(pole, broadcast_bits<V>(nan<V>), select(below, reflected, result));
  }
  return result;
}

} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
