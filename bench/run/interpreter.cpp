// SPDX-License-Identifier: BSL-1.0
// The cost of a graph that is known only at run time: the interpreter (ours) against the static program (by hand) of the same
// function. Loops, which static programs do not have, are compared with a reverse sweep by hand.
#include "graphs.hpp"
#include "harness.hpp"
#include "inputs.hpp"
#include "kalman.hpp"
#include "ours.hpp"

#include <array>
#include <string>
#include <utility>

namespace {

inline constexpr auto horner = [](auto x) { // multiplications and additions, each on the one before
  auto y = x * 0.25 + 0.5;
  for (int k = 0; k < 16; ++k) y = y * x + 0.125 * (k % 5 - 2);
  return y;
};
inline constexpr auto mixed = [](auto x) { // cheap operations of many kinds, values used twice
  auto y = x;
  for (int k = 0; k < 6; ++k) {
    auto const d = y - 0.5 * x;
    y = ct::max(d, 0.25 * y) + d * d * (1.0 + 0.125 * k);
    y = ct::select(y > 1.5, 1.5 - 0.25 * y, y);
  }
  return y;
};
inline constexpr auto transcendental = [](auto x) {
  auto y = x;
  for (int k = 0; k < 4; ++k) y = ct::tanh(y) + 0.5 * ct::exp(-(y * y));
  return y;
};
inline constexpr auto two_operations = [](auto x) { return 2.0 * x + 1.0; };

inline constexpr auto softmax = [](auto x) { return ct::square(ct::softmax(x)); };
inline constexpr auto log_sum_exp = [](auto x) { return ct::logsumexp(x, ct::axes<1>); };
inline constexpr auto normalization = [](auto x) { // of rows
  auto const centered = x - ct::mean(x, ct::axes<1>, ct::keep);
  return ct::square(ct::square(centered / ct::sqrt(ct::mean(ct::square(centered), ct::axes<1>, ct::keep) + 1e-5)));
};

/// Its sum and the gradient of that.
template <class F> struct summed {
  template <class X> constexpr auto operator()(X x) const { return ct::sum(F{}(x)); }
};

constexpr std::ptrdiff_t lengths[]{1, 16, 1000, 65536};

template <class T>
bench::comparison comparison_of(char const* name, std::ptrdiff_t n) {
  return {name, bench::element_name<T>, std::to_string(n), n, {}, {}, {}, {}};
}

template <class T, class F>
void measure_value(bench::suite& suite, char const* name, F) {
  for (std::ptrdiff_t const n : lengths) {
    bench::buffer<T> x(n), y(n);
    bench::numbers().fill(x, T(-1), T(1));
    auto c = comparison_of<T>(name, n);
    c.results = {bench::written("y", y.data(), n)};
    auto s =
        bench::ours(F{}, bench::into(ct::view<T, "n">(y.data(), n)), ct::view<T const, "n">(x.data(), n));
    s.name = "static program";
    c.hand = {s};
    ct::dynamic::graph g;
    auto const gx = g.input<T>("x", {n});
    auto const gy = F{}(gx);
    auto p = g.compile({gy});
    p.bind(gx, ct::view<T const, "n">(x.data(), n));
    p.bind(gy, ct::view<T, "n">(y.data(), n));
    c.ours = {bench::interpreted(std::move(p))};
    suite.run(c);
  }
}

template <class T, class F>
void measure_gradient(bench::suite& suite, char const* name, F) {
  for (std::ptrdiff_t const n : lengths) {
    bench::buffer<T> x(n), dx(n), value(1);
    bench::numbers().fill(x, T(-1), T(1));
    auto c = comparison_of<T>(name, n);
    c.results = {bench::written("value", value.data(), 1, n), bench::written("dx", dx.data(), n)};
    auto s = bench::ours(ct::value_and_grad<0>(summed<F>{}),
                         bench::into(*value.data(), ct::view<T, "n">(dx.data(), n)),
                         ct::view<T const, "n">(x.data(), n));
    s.name = "static program";
    c.hand = {s};
    ct::dynamic::graph g;
    auto const gx = g.input<T>("x", {n});
    auto const gy = summed<F>{}(gx);
    auto const gd = g.gradient({gy}, {gx}).front();
    auto p = g.compile({gy, gd});
    p.bind(gx, ct::view<T const, "n">(x.data(), n));
    p.bind(gy, *value.data());
    p.bind(gd, ct::view<T, "n">(dx.data(), n));
    c.ours = {bench::interpreted(std::move(p))};
    suite.run(c);
  }
}

/// The gradient of a function of rows: nests with reductions.
template <std::ptrdiff_t N, std::ptrdiff_t M, class T, class F>
void measure_rows(bench::suite& suite, char const* name, F) {
  bench::buffer<T> x(N * M), dx(N * M), value(1);
  bench::numbers().fill(x, T(-1), T(1));
  auto c = comparison_of<T>(name, N * M);
  c.size = std::to_string(N) + "x" + std::to_string(M);
  c.results = {bench::written("value", value.data(), 1, N * M), bench::written("dx", dx.data(), N * M, M)};
  auto s = bench::ours(ct::value_and_grad<0>(summed<F>{}), bench::into(*value.data(), ct::view<T, N, M>(dx.data())),
                       ct::view<T const, N, M>(x.data()));
  s.name = "static program";
  c.hand = {s};
  ct::dynamic::graph g;
  auto const gx = g.input<T>("x", {N, M});
  auto const gy = summed<F>{}(gx);
  auto const gd = g.gradient({gy}, {gx}).front();
  auto p = g.compile({gy, gd});
  p.bind(gx, ct::view<T const, N, M>(x.data()));
  p.bind(gy, *value.data());
  p.bind(gd, ct::view<T, N, M>(dx.data()));
  c.ours = {bench::interpreted(std::move(p))};
  suite.run(c);
}
template <class T, class F> void measure_rows(bench::suite& suite, char const* name, F f) {
  measure_rows<64, 10, T>(suite, name, f);
  measure_rows<64, 16, T>(suite, name, f);
  measure_rows<64, 128, T>(suite, name, f);
  measure_rows<128, 512, T>(suite, name, f);
  measure_rows<100, 1000, T>(suite, name, f);
}

/// A loop of a run-time graph whose body has 64 operations on one number, with its gradient, against the reverse sweep by
/// hand. (Each operation needs the one before: this is the latency of the arithmetic.)
void measure_loop(bench::suite& suite) {
  constexpr int operations = 64, iterations = 1000;
  struct state {
    double x = 0.3, w = 0.2, value = 0, dw = 0;
    bench::buffer<double> tape{iterations * operations};
  };
  auto const h = std::make_shared<state>();
  auto c = comparison_of<double>("interpreter, loop of 64 operations with gradient", iterations);
  c.results = {bench::written("value", &h->value, 1, operations), bench::written("dw", &h->dw, 1, 1e4)};
  c.hand = {bench::named("reverse sweep", [h] {
    double const w = h->w;
    double s = h->x, *t = h->tape.data();
    for (int i = 0; i < iterations; ++i, t += operations) {
      for (int k = 0; k < operations; k += 4) {
        t[k] = s, s *= w;
        s += w;
        s -= 0.5 * w;
        t[k + 3] = s, s *= s;
      }
      s *= 0.5;
    }
    h->value = s;
    double ds = 1, dw = 0;
    for (int i = 0; i < iterations; ++i) {
      t -= operations;
      ds *= 0.5;
      for (int k = operations - 4; k >= 0; k -= 4) {
        ds *= 2 * t[k + 3];
        dw += 0.5 * ds + ds * t[k];
        ds *= w;
      }
    }
    h->dw = dw;
  })};
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {}), w = g.input<double>("w", {});
  auto const y = ct::for_loop(iterations, [&](auto, auto s) {
    for (int k = 0; k < operations; k += 4) {
      auto const t = s * w + w - 0.5 * w;
      s = t * t;
    }
    return s * 0.5;
  }, x);
  auto const dw = g.gradient({y}, {w}).front();
  auto p = g.compile({y, dw});
  p.bind(x, h->x);
  p.bind(w, h->w);
  p.bind(y, h->value);
  p.bind(dw, h->dw);
  c.ours = {bench::interpreted(std::move(p))};
  suite.run(c);
}

/// A Kalman filter with its gradient against the reverse sweep by hand: operations on matrices of a few elements.
void measure_filter(bench::suite& suite) {
  using namespace bench::kalman;
  problem q;
  auto c = comparison_of<double>("interpreter, Kalman filter with gradient", steps);
  c.results = written_results(q.out);
  c.hand = {bench::named("reverse sweep", [&] { q.sweep<true>(); })};
  c.ours = {bench::interpreted<1, 2>(likelihood, bench::into(*q.out.value, ct::view<double, 2>(q.out.noise), ct::view<double, 4, 4>(q.out.f)),
                                     ct::view<double const, steps, 2>(q.z.data()), ct::view<double const, 2>(q.noise.data()),
                                     ct::view<double const, 4, 4>(q.f.data()), ct::view<double const, 2, 4>(q.h.data()))};
  suite.run(c);
}

bench::entry const values("interpreter", [](bench::suite& suite) {
  measure_value<double>(suite, "interpreter, two operations", two_operations);
  measure_value<double>(suite, "interpreter, products and sums", horner);
  measure_value<float>(suite, "interpreter, products and sums", horner);
  measure_value<double>(suite, "interpreter, cheap operations", mixed);
  measure_value<double>(suite, "interpreter, exp and tanh", transcendental);
  measure_gradient<double>(suite, "interpreter, gradient of products and sums", horner);
  measure_gradient<double>(suite, "interpreter, gradient of cheap operations", mixed);
  measure_gradient<double>(suite, "interpreter, gradient of exp and tanh", transcendental);
  measure_gradient<double>(suite, "interpreter, gradient of two operations", two_operations);
  measure_loop(suite);
  measure_filter(suite);
  measure_rows<double>(suite, "interpreter, gradient of softmax", softmax);
  measure_rows<double>(suite, "interpreter, gradient of log-sum-exp", log_sum_exp);
  measure_rows<double>(suite, "interpreter, gradient of normalization", normalization);
});

} // namespace
