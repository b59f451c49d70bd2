// SPDX-License-Identifier: BSL-1.0
// Scans over the rows of a series, with gradients, against reverse sweeps by hand.
#include "graphs.hpp"
#include "hand.hpp"
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

#include <cotangent/core/math/hyperbolic.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

namespace {

using namespace bench::hand;

inline constexpr std::ptrdiff_t length = 1000;
using series = ct::view<double const, length>;
using series_out = ct::view<double, length>;

// ---- y <- tanh(w y + x_i): y + the sum of squares of all y

struct filter_results {
  double *value, *dx, *dw, *ds;
};

template <double (*Tanh)(double)> void filter_sweep(double const* x, double const* w, double const* s, filter_results const& r, double* y) {
  y[0] = *s;
  double value = 0;
  for (std::ptrdiff_t i = 0; i < length; ++i) {
    y[i + 1] = Tanh(*w * y[i] + x[i]);
    value += y[i + 1] * y[i + 1];
  }
  double d = 1, dw = 0;
  for (std::ptrdiff_t i = length; i-- > 0;) {
    double const t = (d + 2 * y[i + 1]) * (1 - y[i + 1] * y[i + 1]);
    r.dx[i] = t;
    dw += t * y[i];
    d = t * *w;
  }
  *r.value = value + y[length], *r.dw = dw, *r.ds = d;
}
inline double own_tanh(double x) { return math::tanh(x); }
inline double std_tanh(double x) { return std::tanh(x); }

inline constexpr auto filter = [](auto x, auto w, auto s) {
  auto const [last, rows] = ct::scan(
      [&](auto y, auto row) {
        auto const next = ct::tanh(w * y + row);
        return std::pair(next, next);
      },
      s, x);
  return last + ct::sum(rows * rows);
};

// The same, which reads the element of each iteration and sums the squares as it goes.
inline constexpr auto indexed_filter = [](auto x, auto w, auto s) {
  auto const [last, sum] = ct::for_loop(
      length,
      [&](auto i, auto y, auto total) {
        auto const next = ct::tanh(w * y + x(i));
        return std::tuple(next, total + next * next);
      },
      s, 0.0);
  return last + sum;
};

template <class F> void measure_filter(bench::suite& suite, char const* name, F f) {
  bench::buffer<double> x(length), dx(length), scalars(16), tape(length + 1);
  bench::numbers random;
  random.fill(x, -1.0, 1.0);
  double *const p = x.data(), *const s = scalars.data(), *const t = tape.data();
  s[0] = .8, s[1] = .3;
  filter_results const r{s + 2, dx.data(), s + 3, s + 4};
  bench::comparison c{name, "double", std::to_string(length), length, {}, {}, {}, {}};
  c.results = {bench::written("dx", r.dx, length), bench::written("results", r.value, 3, length)};
  c.hand = {bench::named("sweep", [=] { filter_sweep<own_tanh>(p, s, s + 1, r, t); })};
  c.loops = {bench::named("loops", [=] { filter_sweep<std_tanh>(p, s, s + 1, r, t); })};
  bench::run_both<0, 1, 2>(suite, c, f, bench::into(*r.value, series_out(r.dx), *r.dw, *r.ds), series(p), s[0], s[1]);
}

// ---- stochastic volatility: h_i = mu + s_i, s <- phi s + sigma z_i; the log-density of returns y and of z

struct volatility_results {
  double *value, *dz, *dmu, *dphi, *dsigma;
};

/// Between the two recurrences, the terms of all days are independent: a register of them at a time, or one.
template <class V, class Exp>
void volatility_sweep(double const* z, double const* y, double const* p, volatility_results const& r, double* s, Exp exp) {
  constexpr auto step = static_cast<std::ptrdiff_t>(sizeof(V) / sizeof(double));
  static_assert(length % step == 0);
  double const mu = p[0], phi = p[1], sigma = p[2];
  s[0] = 0;
  for (std::ptrdiff_t i = 0; i < length; ++i) s[i + 1] = phi * s[i] + sigma * z[i];
  V sum{}, slopes{};
  for (std::ptrdiff_t i = 0; i < length; i += step) {
    V const h = simd::load<V>(s + 1 + i) + mu, of = simd::load<V>(y + i), from = simd::load<V>(z + i), e = of * of * exp(V(-h)),
            slope = 0.5 * e - 0.5;
    sum = sum + (h + e + from * from);
    slopes = slopes + slope;
    simd::store<V>(r.dz + i, slope);
  }
  double d = 0, dphi = 0, dsigma = 0;
  for (std::ptrdiff_t i = length; i-- > 0;) {
    d = r.dz[i] + phi * d;
    dphi += d * s[i];
    dsigma += d * z[i];
    r.dz[i] = sigma * d - z[i];
  }
  *r.value = -0.5 * simd::sum<V>(sum), *r.dmu = simd::sum<V>(slopes), *r.dphi = dphi, *r.dsigma = dsigma;
}

inline constexpr auto volatility = [](auto z, auto y, auto mu, auto phi, auto sigma) {
  auto const [last, s] = ct::scan(
      [&](auto before, auto row) {
        auto const next = phi * before + sigma * row;
        return std::pair(next, next);
      },
      0.0, z);
  auto const h = mu + s;
  return -0.5 * ct::sum(h + y * y * ct::exp(-h) + z * z);
};

void measure_volatility(bench::suite& suite) {
  bench::buffer<double> z(length), y(length), dz(length), scalars(16), tape(length + 1);
  bench::numbers random;
  random.fill(z, -1.5, 1.5);
  random.fill(y, -1.0, 1.0);
  double *const pz = z.data(), *const py = y.data(), *const p = scalars.data(), *const t = tape.data();
  p[0] = -1, p[1] = .95, p[2] = .2;
  volatility_results const r{p + 3, dz.data(), p + 4, p + 5, p + 6};
  bench::comparison c{"scan: stochastic volatility", "double", std::to_string(length), length, {}, {}, {}, {}};
  c.results = {bench::written("dz", r.dz, length), bench::written("results", r.value, 4, length)};
  c.hand = {bench::named("registers", [=] { volatility_sweep<wide<double>>(pz, py, p, r, t, [](auto x) { return math::exp(x); }); })};
  c.loops = {bench::named("loops", [=] { volatility_sweep<double>(pz, py, p, r, t, [](double x) { return std::exp(x); }); })};
  bench::run_both<0, 2, 3, 4>(suite, c, volatility, bench::into(*r.value, series_out(r.dz), *r.dmu, *r.dphi, *r.dsigma), series(pz),
                              series(py), p[0], p[1], p[2]);
}

bench::entry const e("scan: tanh filter", [](bench::suite& suite) {
  measure_filter(suite, "scan: tanh filter", filter);
  measure_filter(suite, "scan: tanh filter, x(i) in a loop", indexed_filter);
  measure_volatility(suite);
});

} // namespace
