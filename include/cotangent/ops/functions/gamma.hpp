// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_FUNCTIONS_GAMMA_HPP
#define COTANGENT_OPS_FUNCTIONS_GAMMA_HPP

#include <cotangent/core/math/incomplete_gamma.hpp>
#include <cotangent/core/math/normal_quantile.hpp>
#include <cotangent/ops/functions/composed.hpp>

#include <limits>
#include <source_location>

// Further special functions: the incomplete gamma functions with derivatives in both arguments, beta functions, entropies, the quantiles
// of the normal and the gamma distribution. (Not part of cotangent.hpp.)

namespace cotangent {
namespace op {

/// x^(a - 1) e^-x / Gamma(a). Adjoints: dy y (log(x) - digamma(a)), dy y ((a - 1) / x - 1).
struct gamma_density : extend::elementwise<2> {
  static constexpr char const* name = "gamma_density";
  static constexpr float cost = 250;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& a, V const& x) { return math::gamma_density(a, x); }
  static constexpr term partial(auto const& r, int k) {
    if (k == 0) return r.y() * log_slope(r);
    term const a = r.x(0), x = r.x(1), edge = at_edge(r), one = extend::constant_like(x, 1);
    term const at_zero = extend::select(a > 2, extend::constant_like(x, 0), extend::select(a < 2, extend::constant_like(x, math::detail::infinity<double>), one));
    return extend::select(edge, at_zero, r.y() * ((a - 1) / extend::select(edge, one, x) - 1));
  }
  /// Where the density is 0, and the derivative of its logarithm infinite.
  static constexpr term at_edge(auto const& r) { return r.x(1) == 0 && r.x(0) > 1; }
  /// The derivative of the logarithm in a; any finite number where the density is 0.
  static constexpr term log_slope(auto const& r) {
    term const x = r.x(1);
    return extend::apply<log>(extend::select(at_edge(r), extend::constant_like(x, 1), x)) - extend::apply<digamma>(r.x(0));
  }
};
/// The second derivative of gammainc in a. A derivative of it is refused.
struct gammainc_curve : extend::elementwise<2> {
  static constexpr char const* name = "gammainc_curve";
  static constexpr float cost = 1200;
  static constexpr derivative_kind derivative = derivative_kind::none_;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& a, V const& x) { return math::gammainc<2>(a, x); }
};
/// The derivative of gammainc in a. Adjoints: dy gammainc_curve(a, x), dy gamma_density(a, x) (log(x) - digamma(a)).
struct gammainc_slope : extend::elementwise<2> {
  static constexpr char const* name = "gammainc_slope";
  static constexpr float cost = 900;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& a, V const& x) { return math::gammainc<1>(a, x); }
  static constexpr term partial(auto const& r, int k) {
    if (k == 0) return extend::apply<gammainc_curve>(r.x(0), r.x(1));
    return extend::apply<gamma_density>(r.x(0), r.x(1)) * gamma_density::log_slope(r);
  }
};
/// Value: the regularized lower incomplete gamma function P(a, x), the integral of the density of the gamma distribution up to x
/// Adjoint: dy gammainc_slope(a, x), dy gamma_density(a, x)
struct gammainc : extend::elementwise<2> {
  static constexpr char const* name = "gammainc";
  static constexpr float cost = 600;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& a, V const& x) { return math::gammainc<0>(a, x); }
  static constexpr term partial(auto const& r, int k) {
    return k == 0 ? extend::apply<gammainc_slope>(r.x(0), r.x(1)) : extend::apply<gamma_density>(r.x(0), r.x(1));
  }
};
/// Value: 1 - gammainc(a, x), without the cancellation
/// Adjoint: -dy gammainc_slope(a, x), -dy gamma_density(a, x)
struct gammaincc : extend::elementwise<2> {
  static constexpr char const* name = "gammaincc";
  static constexpr float cost = 600;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& a, V const& x) { return math::gammaincc(a, x); }
  static constexpr term partial(auto const& r, int k) { return -gammainc::partial(r, k); }
};
/// Value: the x with gammainc(a, x) = p, a quantile of the gamma distribution
/// Adjoint: -dy gammainc_slope(a, y) / gamma_density(a, y), dy / gamma_density(a, y)
struct gammaincinv : extend::elementwise<2> {
  static constexpr char const* name = "gammaincinv";
  static constexpr float cost = 4000;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& a, V const& p) { return math::gammaincinv(a, p); }
  static constexpr term partial(auto const& r, int k) {
    // (at y = 0 the derivative in a is 0)
    term const a = r.x(0), y = r.y(), one = extend::constant_like(y, 1), inside = y > 0, at = extend::select(inside, y, one);
    if (k == 1) return one / extend::apply<gamma_density>(a, y);
    return extend::select(inside, -(extend::apply<gammainc_slope>(a, at) / extend::apply<gamma_density>(a, at)), 0 * y);
  }
};
/// Value: the number below which a standard normal number is with probability x (SciPy: ndtri); 3.6 ulp
/// Adjoint: dy sqrt(2 pi) exp(y y / 2)
/// Edges: infinite at 0 and 1, NaN beyond
struct normal_quantile : extend::elementwise<1> {
  static constexpr char const* name = "normal_quantile";
  static constexpr float cost = 220;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::normal_quantile(x); }
  static constexpr term partial(auto const& r, int) {
    return 2.506628274631000502415765284811 * extend::apply<exp>(0.5 * (r.y() * r.y()));
  }
};

} // namespace op

namespace detail {
using gamma_operations = operations<op::normal_quantile, op::gamma_density, op::gammainc, op::gammaincc, op::gammainc_slope, op::gammainc_curve, op::gammaincinv>;
} // namespace detail

namespace detail {

struct gammainc_fn {
  static constexpr char const* name = "gammainc";
  using uses = gamma_operations;
  constexpr term operator()(auto a, auto x) const { return extend::apply<op::gammainc>(a, x); }
};
struct gammaincc_fn {
  static constexpr char const* name = "gammaincc";
  using uses = gamma_operations;
  constexpr term operator()(auto a, auto x) const { return extend::apply<op::gammaincc>(a, x); }
};
struct gammaincinv_fn {
  static constexpr char const* name = "gammaincinv";
  using uses = gamma_operations;
  constexpr term operator()(auto a, auto p) const { return extend::apply<op::gammaincinv>(a, p); }
};
struct normal_quantile_fn {
  static constexpr char const* name = "normal_quantile";
  using uses = gamma_operations;
  constexpr term operator()(auto p) const { return extend::apply<op::normal_quantile>(p); }
};
struct betaln_fn {
  static constexpr char const* name = "betaln";
  /// From 10 on, the difference of the larger one's lgamma and that of the sum is that of their Stirling series, since it is small
  /// compared with both. (Source: Didonato and Morris, "Algorithm 708: significant digit computation of the incomplete beta function
  /// ratios", 1992.)
  constexpr term operator()(auto a, auto b) const {
    auto const less = a < b; // (of equal ones, minimum and maximum would have no second derivative)
    auto const low = extend::select(less, a, b), high = extend::select(less, b, a);
    auto const large = high >= 10;
    auto const below = extend::select(large, extend::constant_like(high, 1), high), from = extend::select(large, high, extend::constant_like(high, 10));
    auto const other = extend::select(large, low, extend::constant_like(low, 1)), sum = from + other;
    auto const direct = extend::apply<op::lgamma>(below) - extend::apply<op::lgamma>(below + low);
    auto const difference = (other - (from - 0.5) * extend::apply<op::log1p>(other / from)) - other * extend::apply<op::log>(sum);
    return extend::apply<op::lgamma>(low) + extend::select(large, difference + (stirling(from) - stirling(sum)), direct);
  }

private:
  static constexpr term stirling(term x) {
    term const inverse = extend::apply<op::reciprocal>(x), w = inverse * inverse;
    return inverse * (1. / 12 - w * (1. / 360 - w * (1. / 1260 - w * (1. / 1680 - w * (1. / 1188 - w * (691. / 360360))))));
  }
};
struct beta_fn {
  static constexpr char const* name = "beta";
  constexpr term operator()(auto a, auto b) const { return extend::apply<op::exp>(betaln_fn{}(a, b)); }
};
template <int D> struct multigammaln_fn {
  static constexpr char const* name = "multigammaln";
  constexpr term operator()(auto a) const {
    term sum = extend::apply<op::lgamma>(a);
    for (int k = 1; k < D; ++k) sum = sum + extend::apply<op::lgamma>(a - 0.5 * k);
    return sum + D * (D - 1) * 0.2861824714623499681757253463; // log(pi) / 4
  }
};
struct entr_fn {
  static constexpr char const* name = "entr";
  constexpr term operator()(auto x) const { return extend::select(x < 0, extend::constant_like(x, -math::detail::infinity<double>), -extend::apply<op::xlogy>(x, x)); }
};
struct xlog1py_fn {
  static constexpr char const* name = "xlog1py";
  constexpr term operator()(auto x, auto y) const {
    auto const zero = x == 0 && y == y; // (as xlogy, without the rounding of 1 + y)
    return extend::select(zero, 0 * x, x * extend::apply<op::log1p>(extend::select(zero, extend::constant_like(y, 0), y))) +
           extend::select(zero, x * extend::apply<op::log1p>(extend::select(y > -1, y, extend::constant_like(y, 0))), extend::constant_like(y, 0));
  }
};
struct log1mexp_fn {
  static constexpr char const* name = "log1mexp";
  constexpr term operator()(auto x) const {
    auto const near = x < 0.69314718055994530941723212145818, inside = extend::select(near, x, extend::constant_like(x, 0.5));
    return extend::select(near, extend::apply<op::log>(-extend::apply<op::expm1>(-inside)), extend::apply<op::log1p>(-extend::apply<op::exp>(-x)));
  }
};

} // namespace detail

/// The regularized lower incomplete gamma function P(a, x), for a > 0 and x >= 0. Edges: P(a, 0) = 0, P(a, infinity) = 1, NaN for a < 0
/// or x < 0.
template <detail::operand A, detail::operand X>
constexpr auto gammainc(A const& a, X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::gammainc_fn{}, a, x);
}
/// The regularized upper incomplete gamma function, 1 - gammainc(a, x) without the cancellation.
template <detail::operand A, detail::operand X>
constexpr auto gammaincc(A const& a, X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::gammaincc_fn{}, a, x);
}
/// The x with gammainc(a, x) = p. Edges: 0 for p = 0, infinity for p = 1, NaN outside.
template <detail::operand A, detail::operand P>
constexpr auto gammaincinv(A const& a, P const& p, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::gammaincinv_fn{}, a, p);
}
/// The number below which a standard normal number is with probability p (SciPy: ndtri).
template <detail::operand P> constexpr auto normal_quantile(P const& p, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::normal_quantile_fn{}, p);
}
/// The logarithm of the beta function of positive numbers.
template <detail::operand A, detail::operand B>
constexpr auto betaln(A const& a, B const& b, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::betaln_fn{}, a, b);
}
/// The beta function of positive numbers.
template <detail::operand A, detail::operand B>
constexpr auto beta(A const& a, B const& b, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::beta_fn{}, a, b);
}
/// The logarithm of the multivariate gamma function of D dimensions, for a > (D - 1) / 2.
template <int D, detail::operand A>
  requires(D > 0)
constexpr auto multigammaln(A const& a, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::multigammaln_fn<D>{}, a);
}
/// -x log(x), and 0 at 0. Edges: -infinity below 0.
template <detail::operand X> constexpr auto entr(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::entr_fn{}, x);
}
/// x log(1 + y), and 0 for x = 0.
template <detail::operand X, detail::operand Y>
constexpr auto xlog1py(X const& x, Y const& y, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::xlog1py_fn{}, x, y);
}
/// log(1 - exp(-x)), for x >= 0, accurate near 0 and for large x.
template <detail::operand X> constexpr auto log1mexp(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::log1mexp_fn{}, x);
}

} // namespace cotangent

#endif
