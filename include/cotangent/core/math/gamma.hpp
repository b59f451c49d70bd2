// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_GAMMA_HPP
#define COTANGENT_CORE_MATH_GAMMA_HPP

#include <cotangent/core/math/inverse.hpp>
#include <cotangent/core/math/log.hpp>
#include <cotangent/core/math/trigonometric.hpp>

// The logarithm of the gamma function and its derivatives. Positive arguments: by recurrence to an interval with a polynomial
// (the logarithm between 1 and 2.5), or to large arguments, where the asymptotic series ends in a few terms. Negative
// arguments: by reflection, whose angle pi x is reduced exactly.

namespace cotangent::math {
inline namespace COTANGENT_ABI {
namespace detail {

// x - n for the nearest integer n: exact. (|x| below 2^51; beyond that 0.)
template <class V>
COTANGENT_FORMULA constexpr V beside_integer(V const& x) {
  V const magic = constant<V>(single<V> ? 0x1.8p23 : 0x1.8p52), limit = constant<V>(single<V> ? 0x1p21 : 0x1p50);
  V const a = at_least(at_most(x, limit), -limit);
  return select(abs(x) < limit, V(a - rounded(rounded(a + magic) - magic)), V{});
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
  V const z = select(below, V(a - constant<V>(0.75)), V(a - constant<V>(1.75))), z2 = z * z;
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
  V const smooth = fma(odd, z, even);
  // One logarithm: of the factor, or of x in Stirling's series.
  V const logarithm = math::log(select(large, x, factor));
  V const near = fma(V(first * second), smooth, select(below, V(-logarithm), logarithm));
  V const inverse = one / select(large, x, one), w = inverse * inverse;
  V series{};
  if constexpr (single<V>) series = horner(w, -0x1.6c16c2p-9, 0x1.555556p-4);
  else
    series = horner(w, -0x1.f6ab0d9993c7dp-10, 0x1.b951e2b18ff23p-11, -0x1.3813813813814p-11, 0x1.a01a01a01a01ap-11,
                    -0x1.6c16c16c16c17p-9, 0x1.5555555555555p-4);
  V const rest = fma(series, inverse, constant<V>(0x1.acfe390c97d69p-2)); // log(2 pi) / 2 - 1/2
  V const far = fma(V(x - constant<V>(0.5)), V(logarithm - one), rest);
  return select(large, far, near);
}

} // namespace detail

/// The logarithm of the absolute value of the gamma function.
///
/// Value: within 3.2 ulp for x > 0; below, within 24 ulp of the larger of |y| and 1; infinite at 0 and the negative integers.
template <class V>
COTANGENT_FORMULA constexpr V lgamma(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::lgamma(split(x).low), math::lgamma(split(x).high));
  V const one = constant<V>(1), zero{}, top = broadcast<V>(largest<V>);
  V const r = beside_integer(x);
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated()) {
      if (is_nan(x)) return x;
      if (abs(x) > top || (x <= zero && r == zero) || x > (single<V> ? 0x1p120 : 0x1p1000)) return infinity<V>;
    }
  auto const negative = x < zero;
  V const positive = lgamma_positive(V(select(negative, V(one - x), x)));
  V result = positive;
  if (any(negative)) [[unlikely]] {
    // log(pi / |sin(pi x)|) - lgamma(1 - x)
    // (beside an integer, sin(pi r) / pi is r; pi r would round a subnormal r)
    auto const beside = abs(r) < constant<V>(0x1p-40);
    V const s = select(beside, abs(r), abs(math::sin(V(r * constant<V>(pi_high<V>)))));
    V const log_of_pi = select(beside, zero, constant<V>(0x1.250d048e7a1bdp+0));
    V const reflected = log_of_pi - math::log(select(s == zero, one, s)) - positive;
    result = select(negative, reflected, positive);
  }
  auto const pole = logical_and<mask_t<V>>(x <= zero, r == zero);
  auto const infinite = logical_or<mask_t<V>>(pole, abs(x) > top);
  return select(infinite, broadcast_bits<V>(infinity<V>), result);
}

namespace detail {

// 1 / a^(N+1). Powers of large numbers are taken of their quotients, since constant evaluations must not overflow.
template <int N, class V>
COTANGENT_FORMULA constexpr V inverse_power(V const& a) {
  V const base = at_most(a, constant<V>(0x1p30)), quotient = base / a; // 1 for a up to there
  V power = base, rest = quotient;
  for (int n = 0; n < N; ++n) power = power * base, rest = rest * quotient;
  return rest / power;
}

// The N-th derivative of digamma, (-1)^(N+1) N! sum of (x + k)^-(N+1), for x > 0.
template <int N, class V>
COTANGENT_FORMULA constexpr V polygamma_positive(V const& x) {
  constexpr int steps = single<V> ? 6 : 10 + 2 * N; // to arguments where the series is exact enough
  V const one = constant<V>(1), limit = constant<V>(steps);
  V a = x, sum{}, lost{}; // and what the sum has rounded off
  for (int k = 0; k < steps; ++k) {
    auto const below = a < limit;
    V const term = select(below, inverse_power<N>(select(below, a, one)), V{});
    V const total = rounded(sum + term), larger = select(sum > term, sum, term), smaller = select(sum > term, term, sum);
    V const finite = select(total < infinity<V>, larger, V{}); // (near a pole nothing else matters)
    lost = lost + select(total < infinity<V>, rounded(smaller - rounded(total - finite)), V{});
    sum = total;
    a = select(below, V(a + one), a);
  }
  double factorial = 1;
  for (int n = 2; n <= N; ++n) factorial *= n;
  V const inverse = one / a, w = inverse * inverse;
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
  if constexpr (N == 0) return (math::log(a) - sum) - (fma(series, w, V(constant<V>(0.5) * inverse)) + lost);
  else {
    // (N - 1)! / a^N + N! / (2 a^(N+1)) + the series / a^(N+2)
    V const small = fma(series, w, V(constant<V>(factorial / 2) * inverse));
    V const power = inverse_power<N - 1>(a);
    V const tail = fma(power, small, V(constant<V>(factorial / N) * power));
    V const magnitude = fma(sum, constant<V>(factorial), fma(lost, constant<V>(factorial), tail));
    return N % 2 == 0 ? V(-magnitude) : magnitude;
  }
}

// The N-th derivative of pi cot(pi x), where x is an integer and r.
template <int N, class V>
COTANGENT_FORMULA constexpr V reflection_term(V const& r) {
  constexpr double pi = 0x1.921fb54442d18p+1;
  // the cosine as a sine of the complement, which is exact where it is small
  V const one = constant<V>(1), s = math::sin(V(r * constant<V>(pi_high<V>)));
  V const c = math::sin(V((constant<V>(0.5) - abs(r)) * constant<V>(pi_high<V>)));
  V const cot = c / s, q = one / (s * s); // 1 + cot^2
  if constexpr (N == 0) return mul(constant<V>(pi), cot);
  else if constexpr (N == 1) return mul(constant<V>(-pi * pi), q);
  else if constexpr (N == 2) return mul(constant<V>(2 * pi * pi * pi), V(cot * q));
  else return mul(constant<V>(-2 * pi * pi * pi * pi), V(q * fma(V(constant<V>(3) * cot), cot, one)));
}

} // namespace detail

/// The N-th derivative of the digamma function; N = 0 is digamma itself, 1 is trigamma.
///
/// Value: within 4.2 ulp for x > 0 (N = 0: of the larger of |y| and 1); below, 15 ulp of the larger of |y| and 1; NaN at 0 and the
/// negative integers.
template <int N, class V>
COTANGENT_FORMULA constexpr V polygamma(V const& x) {
  static_assert(N >= 0 && N <= 3);
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::polygamma<N>(split(x).low), math::polygamma<N>(split(x).high));
  V const one = constant<V>(1), zero{}, top = broadcast<V>(largest<V>);
  V const r = beside_integer(x);
  auto const pole = logical_and<mask_t<V>>(x <= zero, r == zero);
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated()) {
      if (is_nan(x)) return x;
      if (pole) return nan<V>;
      if (x > top) return N == 0 ? infinity<V> : V{};
    }
  auto const negative = x < zero;
  V result = polygamma_positive<N>(V(select(negative, V(one - x), x)));
  if (any(negative)) [[unlikely]] {
    // psi(1 - x) - pi cot(pi x), differentiated: N changes of sign of the first
    V const turned = N % 2 == 0 ? result : V(-result);
    V const reflected = turned - reflection_term<N>(select(r == zero, one, r));
    result = select(negative, reflected, result);
  }
  return select(pole, broadcast_bits<V>(nan<V>), result);
}

} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
