// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_INCOMPLETE_GAMMA_HPP
#define COTANGENT_CORE_MATH_INCOMPLETE_GAMMA_HPP

#include <cotangent/core/math/gamma_power.hpp>
#include <cotangent/core/math/normal.hpp>

// The incomplete gamma functions and their first two derivatives in the shape a. All methods give the smaller of both functions to a
// relative error, with derivatives carried along: a series for x below a, a continued fraction above, and a quadrature near a
// where both would take many terms.

namespace cotangent::math {
inline namespace COTANGENT_ABI {
namespace detail {

/// A function of a with its first N derivatives.
template <int N, class V>
struct jet {
  V c[N + 1]{};
  constexpr jet operator*(jet const& g) const {
    jet r;
    r.c[0] = mul(c[0], g.c[0]);
    if constexpr (N > 0) r.c[1] = fma(c[1], g.c[0], V(c[0] * g.c[1]));
    if constexpr (N > 1) r.c[2] = fma(c[2], g.c[0], fma(V(c[1] + c[1]), g.c[1], V(c[0] * g.c[2])));
    return r;
  }
  constexpr jet operator+(jet const& g) const {
    jet r;
    for (int k = 0; k <= N; ++k) r.c[k] = c[k] + g.c[k];
    return r;
  }
  constexpr jet times(V const& s) const {
    jet r;
    for (int k = 0; k <= N; ++k) r.c[k] = mul(c[k], s);
    return r;
  }
  constexpr jet where(mask_t<V> const& m, jet const& other) const {
    jet r;
    for (int k = 0; k <= N; ++k) r.c[k] = select(m, c[k], other.c[k]);
    return r;
  }
};

/// x^a e^-x / Gamma(a + 1), with derivatives; and log(x) - digamma(a + 1), trigamma(a + 1).
template <int N, class V>
struct gamma_prefactor {
  jet<N, V> d;
  V slope{}, curve{};

  constexpr gamma_prefactor(V const& a, V const& x) {
    if constexpr (single<V>) d.c[0] = in_double([](auto const& b, auto const& y) { return gamma_power_of_float(b, y); }, a, x);
    else d.c[0] = gamma_power(a, x);
    if constexpr (N > 0) {
      V const one = constant<V>(1), ten = constant<V>(10);
      auto const small = a < ten;
      V const low = select(small, a, one), high = select(small, ten, a);
      V const of_high = at_most(at_least(select(small, ten, x), V(high * constant<V>(single<V> ? 1e-5 : 1e-35))), V(high * constant<V>(1e3)));
      V const y = (of_high - high) / high, quotient = of_high / high;
      auto const near = abs(y) < constant<V>(0.5);
      V const excess = log1p_minus(y, quotient), inverse = one / high, w = inverse * inverse;
      V psi{}; // digamma(a + 1) - log(a)
      if constexpr (single<V>) psi = horner(w, -1. / 252, 1. / 120, -1. / 12);
      else psi = horner(w, -691. / 32760, 1. / 132, -1. / 240, 1. / 252, -1. / 120, 1. / 12) * -one;
      psi = fma(psi, w, V(constant<V>(0.5) * inverse));
      V const logarithm = select(near, V(excess + y), math::log(select(near, one, quotient)));
      V const low_slope = math::log(select(small, x, one)) - math::polygamma<0>(V(low + one));
      slope = select(small, low_slope, V(logarithm - psi));
      curve = math::polygamma<1>(V(a + one));
      d.c[1] = d.c[0] * slope;
      if constexpr (N > 1) d.c[2] = d.c[0] * fma(slope, slope, V(-curve));
    }
  }
};

template <class V>
inline constexpr double least_term = single<V> ? 0x1p-26 : 0x1p-55;

/// The sum of x^n / ((a + 1) ... (a + n)).
template <int N, class V>
constexpr jet<N, V> incomplete_gamma_series(V const& a, V const& x, mask_t<V> active) {
  V const one = constant<V>(1), least = constant<V>(least_term<V>);
  jet<N, V> term{{one}}, sum = term;
  V n = a, lost{}; // what the value of the sum has rounded off
  for (int k = 0; k < 200 && any(active); ++k) {
    n = n + one;
    jet<N, V> r;
    r.c[0] = x / n;
    if constexpr (N > 0) r.c[1] = -(r.c[0] / n);
    if constexpr (N > 1) r.c[2] = constant<V>(-2) * (r.c[1] / n);
    term = term * r;
    jet<N, V> next = sum + term;
    auto const total = ordered_sum<V>(sum.c[0], term.c[0]); // (terms are at most 1)
    next.c[0] = total.high;
    lost = select(active, V(lost + total.low), lost);
    sum = next.where(active, sum);
    for (int j = 0; j <= N; j += N > 0 ? N : 1) {
      auto const more = abs(term.c[j]) > least * abs(sum.c[j]);
      active = j == 0 ? logical_and<mask_t<V>>(active, more) : logical_or<mask_t<V>>(active, logical_and<mask_t<V>>(more, abs(term.c[0]) > least * least * sum.c[0]));
    }
  }
  sum.c[0] = sum.c[0] + lost;
  return sum;
}

/// The continued fraction below, from its end: each level scales down the error of the next one. The number of levels, found by
/// search, leaves an error of 2^-28 for floats and of 2^-57 for doubles, where x > 1 and either x >= a + 1 or a < 1.
template <class V>
constexpr V incomplete_gamma_fraction_from_end(V const& a, V const& x, mask_t<V> const& active) {
  constexpr bool f = single<V>;
  V const apart = x - a, start = constant<V>(f ? 3 : 5) + at_most(V(a * constant<V>(f ? 0.5 : 0.6)), constant<V>(f ? 12 : 18));
  V const levels = select(active, V(constant<V>(f ? 32 : 125) / x + start), V{});
  int k = 0;
  while (any(levels >= constant<V>(k))) ++k;
  V t = apart + constant<V>(2 * k + 1);
  for (; k > 0; --k) {
    V const n = constant<V>(k), before = apart + constant<V>(2 * k - 1);
    t = select(levels >= n, V(before + n * (a - n) / t), before);
  }
  return constant<V>(1) / t;
}

/// The continued fraction 1 / (x + 1 - a + 1 (a - 1) / (x + 3 - a + 2 (a - 2) / (x + 5 - a + ...))).
template <int N, class V>
  requires(N == 0)
constexpr jet<N, V> incomplete_gamma_fraction(V const& a, V const& x, mask_t<V> active) {
  return {{incomplete_gamma_fraction_from_end(a, x, active)}};
}
/// The same with derivatives, from its beginning, until they do not change.
template <int N, class V>
  requires(N > 0)
constexpr jet<N, V> incomplete_gamma_fraction(V const& a, V const& x, mask_t<V> active) {
  V const one = constant<V>(1), least = constant<V>(least_term<V> * 2);
  jet<N, V> b{{V(x + one - a)}}, above{{one}}, above_before, below, below_before{{one}};
  b.c[1] = -one;
  below = b;
  jet<N, V> value;
  V n{};
  for (int k = 0; k < 300 && any(active); ++k) {
    V const scale = one / below.c[0]; // so that the denominator is 1
    above = above.times(scale), below = below.times(scale);
    above_before = above_before.times(scale), below_before = below_before.times(scale);
    jet<N, V> now;
    now.c[0] = above.c[0];
    now.c[1] = fma(V(-now.c[0]), below.c[1], above.c[1]);
    if constexpr (N > 1) now.c[2] = fma(V(-now.c[0]), below.c[2], fma(V(constant<V>(-2) * now.c[1]), below.c[1], above.c[2]));
    auto changes = abs(now.c[0] - value.c[0]) > least * abs(now.c[0]);
    changes = logical_or<mask_t<V>>(changes, abs(now.c[N] - value.c[N]) > fma(least, abs(now.c[N]), V(least * least * abs(now.c[0]))));
    value = now.where(active, value);
    active = logical_and<mask_t<V>>(active, changes);
    n = n + one;
    jet<N, V> const factor{{V(n * (a - n)), n}};
    b.c[0] = b.c[0] + constant<V>(2);
    jet<N, V> const next_above = b * above + factor * above_before, next_below = b * below + factor * below_before;
    above_before = above, below_before = below, above = next_above, below = next_below;
  }
  return value;
}

/// The nodes in (0, 1/2) of Gauss-Legendre quadrature on [0, 1], and weights for a length of 2, of 16 and of 32 nodes: computed to 40
/// digits. The function falls fast from 0, so that nodes need a small relative error.
template <bool Single>
struct gauss_legendre {
  static constexpr int count = 16;
  static constexpr double node[count]{
      0x1.66a18fbf64a0fp-10, 0x1.d77b63ad0c91bp-8, 0x1.20aae7fac455ap-6, 0x1.0a9fed30405eep-5,
      0x1.a8ab25d459a36p-5, 0x1.347ec0a5e57b4p-4, 0x1.a4e5adf8ed0ebp-4, 0x1.123ed9c52d88dp-3,
      0x1.590aec76f00edp-3, 0x1.a62dd72d3a6b8p-3, 0x1.f8ef3af329ac5p-3, 0x1.2844a541c8387p-2,
      0x1.5615518d42105p-2, 0x1.857c20798fdadp-2, 0x1.b607c563a0372p-2, 0x1.e74437b7733b6p-2};
  static constexpr double weight[count]{
      0x1.cbf8bc743cc5cp-8, 0x1.0aa3c248696c9p-6, 0x1.a0060a8531ffap-6, 0x1.18c5800a355d9p-5,
      0x1.5ee963a335495p-5, 0x1.a1c6ae961fbfap-5, 0x1.e0bd76c924981p-5, 0x1.0d9b9a62cac10p-4,
      0x1.2854103b35e0cp-4, 0x1.40483e126fd14p-4, 0x1.553ee25ebebc6p-4, 0x1.6705e18e13ed1p-4,
      0x1.7572bdb3f6e51p-4, 0x1.8062fc0f6fef9p-4, 0x1.87bc776f8c6d7p-4, 0x1.8b6d9eaec77adp-4};
};
template <>
struct gauss_legendre<true> {
  static constexpr int count = 8;
  static constexpr double node[count]{
      0x1.5b4f66ca1e083p-8, 0x1.c60a99e906503p-6, 0x1.132ff2bac6df4p-4, 0x1.f4ee8896e3653p-4,
      0x1.874b732542e90p-3, 0x1.157ed32de2c47p-2, 0x1.6fd1a8cdee642p-2, 0x1.cf5a853312ac1p-2};
  static constexpr double weight[count]{
      0x1.bcddab4b7c211p-6, 0x1.fdfb1a2c1265dp-5, 0x1.85c4ee79cc258p-4, 0x1.fe7af2bad386ap-4,
      0x1.325f61bca3cbfp-3, 0x1.5a6ebbb5a75fcp-3, 0x1.75f8c77e0c00fp-3, 0x1.83feae80e4dfcp-3};
};

/// The integral of t^(a - 1) e^-t x^-a e^x from x on, or to x where x < a, for x near a >= 25. Its derivatives are those of the
/// integral divided by Gamma(a), times Gamma(a).
template <int N, class V>
constexpr jet<N, V> incomplete_gamma_quadrature(V const& a, V const& x, V const& log_slope, V const& log_curve) {
  using rule = gauss_legendre<single<V>>;
  constexpr double end = single<V> ? 18 : 38; // of the exponent
  V const one = constant<V>(1), power = a - one;
  auto const upper = x > a;
  // a parabola reaches the end of the exponent at s; the tail above is longer
  V const tilt = power - x, delta = abs(tilt) / x, kappa = power / (x * x);
  V const s = constant<V>(2 * end) / (delta + math::sqrt(fma(delta, delta, V(constant<V>(2 * end) * kappa)))) / x;
  V const whole = select(upper, V(s * fma(constant<V>(0.37), s, one)), at_most(s, constant<V>(0.9999))), half = constant<V>(0.5) * whole;
  V const side = select(upper, one, V(-one));
  jet<N, V> sum;
  for (int k = 2 * rule::count; k > 0; --k) { // from the far end, where terms are small
    double const node = k > rule::count ? 1 - rule::node[2 * rule::count - k] : rule::node[k - 1];
    V const y = side * mul(whole, constant<V>(node)), excess = log1p_minus(y, V(constant<V>(1) + y));
    V const g = mul(math::exp(at_least(fma(power, excess, V(tilt * y)), constant<V>(-80))), constant<V>(rule::weight[k > rule::count ? 2 * rule::count - k : k - 1]));
    sum.c[0] = sum.c[0] + g;
    if constexpr (N > 0) {
      V const slope = log_slope + (excess + y);
      sum.c[1] = fma(g, slope, sum.c[1]);
      if constexpr (N > 1) sum.c[2] = fma(g, fma(slope, slope, V(-log_curve)), sum.c[2]);
    }
  }
  return sum.times(half);
}

/// The lower function P where `is_upper` is false, else the upper function Q = 1 - P, with derivatives in a; for a > 0 and x > 0.
template <int N, class V>
struct incomplete_gamma {
  jet<N, V> y;
  mask_t<V> is_upper;

  constexpr incomplete_gamma(V const& a, V const& x)
      : is_upper(x > a) {
    using mask = mask_t<V>;
    V const one = constant<V>(1);
    gamma_prefactor<N, V> const pre(a, x);
    auto const near = logical_and<mask>(a >= constant<V>(25), abs(x - a) < constant<V>(0.35) * a);
    auto const beyond = logical_or<mask>(x >= a + one, logical_and<mask>(x >= one, a < one));
    auto const by_fraction = logical_and<mask>(beyond, logical_not(near)), by_series = logical_not(logical_or<mask>(beyond, near));
    is_upper = logical_or<mask>(logical_and<mask>(near, x > a), by_fraction);
    jet<N, V> value;
    if (any(by_series)) {
      V const safe = select(by_series, x, V{}), shape = select(by_series, a, one);
      value = (pre.d * incomplete_gamma_series<N, V>(shape, safe, by_series)).where(by_series, value);
    }
    if (any(logical_or<mask>(by_fraction, near))) {
      jet<N, V> shape{{a}}; // x^a e^-x / Gamma(a) is a times the prefactor
      if constexpr (N > 0) shape.c[1] = one;
      if (any(by_fraction)) {
        V const safe = select(by_fraction, x, constant<V>(3)), of = select(by_fraction, a, one);
        value = (pre.d * shape * incomplete_gamma_fraction<N, V>(of, safe, by_fraction)).where(by_fraction, value);
      }
      if (any(near)) {
        V const safe = select(near, x, constant<V>(30)), of = select(near, a, constant<V>(30)), inverse = one / of;
        jet<N, V> const area = incomplete_gamma_quadrature<N, V>(of, safe, V(pre.slope + inverse), fma(inverse, inverse, pre.curve));
        value = area.times(V(pre.d.c[0] * of)).where(near, value);
      }
    }
    y = value;
  }
};

/// lgamma(1 + a) for 0 <= a < 1, to a relative error: below 1 / 16 by its Taylor series, with coefficients zeta(k) / k.
template <class V>
constexpr V lgamma_above_one(V const& a) {
  auto const near = a < constant<V>(0.0625);
  V const u = select(near, a, V{}), one = constant<V>(1);
  V series{};
  if constexpr (single<V>) series = horner(u, -0.14404989676884612, 0.16955717699740819, -0.20738555102867399, 0.27058080842778455, -0.40068563438653143, 0.82246703342411322, -0.57721566490153286);
  else
    series = horner(u, 0.071432946295361336, -0.076932516411352191, 0.083353840546109004, -0.090954017145829042, 0.10009945751278181, -0.11133426586956469, 0.12550966952474304, -0.14404989676884612, 0.16955717699740819, -0.20738555102867399, 0.27058080842778455, -0.40068563438653143, 0.82246703342411322, -0.57721566490153286);
  return select(near, V(u * series), V(math::lgamma(select(near, one, V(a + one)))));
}
/// Q for x < 1 and a < 1, where P is near 1 for small a.
template <class V>
constexpr V upper_gamma_of_small(V const& a, V const& x) {
  V const one = constant<V>(1);
  V const logarithm = fma(a, math::log(x), V(-lgamma_above_one(a))), power = math::exp(logarithm);
  V sum{}, term = one, n{};
  for (int k = 0; k < (single<V> ? 10 : 18); ++k) {
    n = n + one;
    term = -(term * x) / n;
    sum = sum + term / (a + n);
  }
  return fma(V(-power * a), sum, V(-math::expm1(logarithm)));
}

/// True where a > 0 and x > 0 are finite numbers.
template <class V>
constexpr mask_t<V> gamma_arguments(V const& a, V const& x) {
  V const top = broadcast<V>(largest<V>);
  auto const positive = logical_and<mask_t<V>>(a > V{}, x > V{});
  return logical_and<mask_t<V>>(positive, logical_and<mask_t<V>>(a <= top, x <= top));
}
/// P, or Q, for other arguments.
template <bool Upper, class V>
constexpr V gamma_limit(V const& a, V const& x) {
  using mask = mask_t<V>;
  V const top = broadcast<V>(largest<V>), one = constant<V>(1), zero{};
  V const none = Upper ? one : zero, whole = Upper ? zero : one;
  auto const empty = logical_or<mask>(logical_and<mask>(x == zero, a > zero), logical_and<mask>(a > top, logical_and<mask>(x >= zero, x <= top)));
  auto const full = logical_or<mask>(logical_and<mask>(x > top, logical_and<mask>(a >= zero, a <= top)), logical_and<mask>(a == zero, x > zero));
  return select(empty, none, select(full, whole, broadcast_bits<V>(nan<V>)));
}

} // namespace detail

/// The regularized lower incomplete gamma function P(a, x), and its derivatives of order N in a.
///
/// Value: N = 0 within 7 ulp; NaN for a < 0 or x < 0.
template <int N, class V>
constexpr V gammainc(V const& a, V const& x) {
  using namespace detail;
  auto const ordinary = gamma_arguments(a, x);
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && !ordinary)
      return N == 0 ? gamma_limit<false>(a, x) : a > 0 && x >= 0 ? V{} : nan<V>;
  V const one = constant<V>(1), shape = select(ordinary, a, one), at = select(ordinary, x, one);
  incomplete_gamma<N, V> const g(shape, at);
  V const upper = N == 0 ? V(one - g.y.c[N]) : V(-g.y.c[N]), result = select(g.is_upper, upper, g.y.c[N]);
  if constexpr (N == 0) return select(ordinary, result, gamma_limit<false>(a, x));
  else {
    auto const flat = logical_and<mask_t<V>>(a > V{}, x >= V{});
    return select(ordinary, result, select(flat, V{}, broadcast_bits<V>(nan<V>)));
  }
}
/// 1 - P(a, x), without the cancellation.
///
/// Value: within 7 ulp; for x < a + 1 within 25 ulp.
template <class V>
constexpr V gammaincc(V const& a, V const& x) {
  using namespace detail;
  auto const ordinary = gamma_arguments(a, x);
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && !ordinary) return gamma_limit<true>(a, x);
  V const one = constant<V>(1), shape = select(ordinary, a, one), at = select(ordinary, x, one);
  auto const small = logical_and<mask_t<V>>(shape < one, at < one);
  incomplete_gamma<0, V> const g(shape, at);
  V result = select(g.is_upper, g.y.c[0], V(one - g.y.c[0]));
  if (any(small)) {
    V const half = constant<V>(0.5);
    result = select(small, upper_gamma_of_small(select(small, shape, half), select(small, at, half)), result);
  }
  return select(ordinary, result, gamma_limit<true>(a, x));
}
/// x^(a - 1) e^-x / Gamma(a), the density of the gamma distribution, for a > 0 and x >= 0.
template <class V>
constexpr V gamma_density(V const& a, V const& x) {
  using namespace detail;
  auto const ordinary = gamma_arguments(a, x);
  V const one = constant<V>(1), zero{};
  V const inf = broadcast_bits<V>(infinity<V>), none = broadcast_bits<V>(nan<V>);
  auto const at_0 = logical_and<mask_t<V>>(x == zero, a > zero);
  V const edge = select(at_0, select(a > one, zero, select(a < one, inf, one)), select(logical_and<mask_t<V>>(x > zero, a > zero), zero, none));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && !ordinary) return edge;
  V const shape = select(ordinary, a, one), at = select(ordinary, x, one);
  return select(ordinary, mul(gamma_prefactor<0, V>(shape, at).d.c[0], V(shape / at)), edge);
}

/// The number x with P(a, x) = p.
///
/// Value: to the error of P. 0 for p = 0, infinity for p = 1; NaN for a <= 0 and outside of [0, 1].
template <class V>
constexpr V gammaincinv(V const& a, V const& p) {
  using namespace detail;
  using mask = mask_t<V>;
  V const one = constant<V>(1), zero{}, top = broadcast<V>(largest<V>), half = constant<V>(0.5);
  auto const ordinary = logical_and<mask>(logical_and<mask>(a > zero, a <= top), logical_and<mask>(p > zero, p < one));
  auto const positive = logical_and<mask>(a > zero, a <= top);
  V const edge = select(logical_and<mask>(positive, p == zero), zero,
                        select(logical_and<mask>(positive, p == one), broadcast_bits<V>(infinity<V>), broadcast_bits<V>(nan<V>)));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && !ordinary) return edge;
  V const shape = select(ordinary, a, one), target = select(ordinary, p, half);
  auto const above = target > half;
  V const rest = select(above, V(one - target), target), goal = math::log(rest); // of the smaller side
  // The first term of the series, and for larger a the approximation of Wilson and Hilferty.
  constexpr double least = single<V> ? -80 : -690; // of log(x)
  V const first = (math::log(target) + math::lgamma(V(shape + one))) / shape;
  V const l = goal + math::log(V(constant<V>(4) * (one - rest))), t = fma(l, half, constant<V>(4.330746750799873));
  V const normal = math::sqrt(V(-l * constant<V>(2 / 0.147) / (math::sqrt(fma(t, t, V(l * constant<V>(-1 / 0.147)))) + t)));
  V const ninth = constant<V>(1. / 9) / shape, cube = fma(select(above, normal, V(-normal)), math::sqrt(ninth), V(one - ninth));
  V const start = math::exp(at_least(at_most(first, one), constant<V>(least)));
  auto const by_cube = logical_and<mask>(cube > constant<V>(0.1), logical_or<mask>(shape > half, above));
  V x = select(by_cube, mul(shape, V(cube * cube * cube)), start);
  // Newton's method for the logarithms of both, which are concave in log(x): it converges from every start.
  auto active = logical_and<mask>(ordinary, first > constant<V>(least));
  for (int k = 0; k < 40 && any(active); ++k) {
    incomplete_gamma<0, V> const g(shape, x);
    V const lower = select(g.is_upper, V(one - g.y.c[0]), g.y.c[0]), upper = select(g.is_upper, g.y.c[0], V(one - g.y.c[0]));
    V const side = at_least(select(above, upper, lower), broadcast<V>(std::numeric_limits<lane_t<V>>::min()));
    V const slope = gamma_prefactor<0, V>(shape, x).d.c[0] * shape / side; // of the logarithm, in log(x)
    V const apart = goal - math::log(side);
    V const safe = at_least(slope, broadcast<V>(std::numeric_limits<lane_t<V>>::min() * 16));
    V const step = at_least(at_most(V(select(above, V(-apart), apart) / safe), constant<V>(3)), constant<V>(-3) * at_least(V(one / shape), one));
    x = select(active, at_least(mul(x, math::exp(step)), broadcast<V>(std::numeric_limits<lane_t<V>>::min())), x);
    active = logical_and<mask>(active, abs(step) > constant<V>(single<V> ? 2e-4 : 1e-8));
  }
  V const result = select(first > constant<V>(least), x, math::exp(at_least(first, constant<V>(single<V> ? -104 : -750))));
  return select(ordinary, result, edge);
}

} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
