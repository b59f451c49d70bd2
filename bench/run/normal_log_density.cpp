// SPDX-License-Identifier: BSL-1.0
// The log-density of n observations under a normal distribution, with the gradients in x, mu and sigma.
#include "hand.hpp"
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

#include <cmath>

namespace {

using namespace bench::hand;

constexpr double half_log_two_pi = 0.918938533204672741780;

template <class T>
struct gradient {
  T *value, *dx, *dmu, *dsigma;
};

// One pass: with d = x - mu everything follows from sum(d) and sum(d * d).
template <class T>
void one_pass(T const* x, T const* mu, T const* sigma, gradient<T> const& g, std::ptrdiff_t n) {
  using V = wide<T>;
  constexpr std::ptrdiff_t w = width<T>;
  T const inverse = 1 / *sigma, precision = inverse * inverse;
  V const m = math::broadcast<V>(*mu), p = math::broadcast<V>(-precision);
  V s[4] = {}, q[4] = {};
  auto const step = [&](std::ptrdiff_t i, int k) {
    V const d = simd::load<V>(x + i) - m;
    s[k] += d, q[k] = math::fma<V>(d, d, q[k]);
    simd::store<V>(g.dx + i, d * p);
  };
  std::ptrdiff_t i = 0;
  if (n >= 4 * w) {
    for (; i + 4 * w <= n; i += 4 * w)
      for (int k = 0; k < 4; ++k) step(i + k * w, k);
    s[0] = (s[0] + s[1]) + (s[2] + s[3]), q[0] = (q[0] + q[1]) + (q[2] + q[3]);
  }
  for (; i + w <= n; i += w) step(i, 0);
  if (i < n) {
    V const d = load_or<V>(x + i, n - i, *mu) - m;
    s[0] += d, q[0] = math::fma<V>(d, d, q[0]);
    simd::store<V>(g.dx + i, d * p, n - i);
  }
  T const sum = simd::sum<V>(s[0]), squares = simd::sum<V>(q[0]);
  auto const count = static_cast<T>(n);
  *g.value = T(-0.5) * squares * precision - count * (math::log(*sigma) + static_cast<T>(half_log_two_pi));
  *g.dmu = sum * precision;
  *g.dsigma = (squares * precision - count) * inverse;
}

template <class T>
void loops(T const* x, T const* mu, T const* sigma, gradient<T> const& g, std::ptrdiff_t n) {
  double value = 0, dmu = 0, dsigma = 0;
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    T const z = (x[i] - *mu) / *sigma;
    value += T(-0.5) * z * z - std::log(*sigma) - static_cast<T>(half_log_two_pi);
    g.dx[i] = -z / *sigma;
    dmu += z / *sigma;
    dsigma += (z * z - 1) / *sigma;
  }
  *g.value = static_cast<T>(value), *g.dmu = static_cast<T>(dmu), *g.dsigma = static_cast<T>(dsigma);
}

inline constexpr auto normal_log_density = [](auto x, auto mu, auto sigma) {
  auto const z = (x - mu) / sigma;
  return ct::sum(-0.5 * z * z - ct::log(sigma) - half_log_two_pi);
};

template <class T>
void measure(bench::suite& suite) {
  for (std::ptrdiff_t n : suite.sizes()) {
    bench::buffer<T> x(n), dx(n), scalars(16);
    bench::numbers random;
    random.fill(x, T(-3), T(4));
    T* s = scalars.data();
    s[0] = T(0.3), s[1] = T(1.7);
    T *px = x.data(), *mu = s, *sigma = s + 1;
    gradient<T> const g{s + 2, dx.data(), s + 3, s + 4};
    bench::comparison c{"normal log-density", bench::element_name<T>, std::to_string(n), n, {}, {}, {}, {}};
    // The three sums cancel, so their error is relative to their terms.
    c.results = {bench::written("value", g.value, 1, n), bench::written("dx", g.dx, n),
                 bench::written("dmu", g.dmu, 1, 25 * n), bench::written("dsigma", g.dsigma, 1, 25 * n)};
    c.hand = {bench::named("one pass", [=] { one_pass(px, mu, sigma, g, n); })};
    c.loops = {bench::named("loops", [=] { loops(px, mu, sigma, g, n); })};
    c.ours = {bench::ours(ct::value_and_grad<0, 1, 2>(normal_log_density),
                          bench::into(*g.value, ct::view<T, "n">(g.dx, n), *g.dmu, *g.dsigma),
                          ct::view<T const, "n">(px, n), *mu, *sigma)};
    suite.run(c);
  }
}

bench::entry const e("normal log-density",
                     [](bench::suite& suite) { measure<double>(suite), measure<float>(suite); });

} // namespace
