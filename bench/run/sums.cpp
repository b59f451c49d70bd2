// SPDX-License-Identifier: BSL-1.0
// A sum of squares with its gradient, and a dot product with both of its gradients: bound by memory, not by arithmetic.
#include "hand.hpp"
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

namespace {

using namespace bench::hand;

template <class T>
void squares_by_hand(T const* x, T* value, T* dx, std::ptrdiff_t n) {
  using V = wide<T>;
  constexpr std::ptrdiff_t w = width<T>;
  V s[4] = {}; // the store is what takes the time: one a cycle
  auto const step = [&](std::ptrdiff_t i, V& sum) {
    V const a = simd::load<V>(x + i);
    sum = math::fma<V>(a, a, sum);
    simd::store<V>(dx + i, a + a);
  };
  std::ptrdiff_t i = 0;
  if (n >= 4 * w) {
    for (; i + 4 * w <= n; i += 4 * w)
      for (int k = 0; k < 4; ++k) step(i + k * w, s[k]);
    s[0] = (s[0] + s[1]) + (s[2] + s[3]);
  }
  for (; i + w <= n; i += w) step(i, s[0]);
  if (i < n) {
    V const a = simd::load<V>(x + i, n - i);
    s[0] = math::fma<V>(a, a, s[0]);
    simd::store<V>(dx + i, a + a, n - i);
  }
  *value = simd::sum<V>(s[0]);
}

template <class T>
void dot_by_hand(T const* x, T const* y, T* value, T* dx, T* dy, std::ptrdiff_t n) {
  using V = wide<T>;
  constexpr std::ptrdiff_t w = width<T>;
  V s[4] = {};
  auto const step = [&](std::ptrdiff_t i, V& sum) {
    V const a = simd::load<V>(x + i), b = simd::load<V>(y + i);
    sum = math::fma<V>(a, b, sum);
    simd::store<V>(dx + i, b), simd::store<V>(dy + i, a);
  };
  std::ptrdiff_t i = 0;
  if (n >= 4 * w) {
    for (; i + 4 * w <= n; i += 4 * w)
      for (int k = 0; k < 4; ++k) step(i + k * w, s[k]);
    s[0] = (s[0] + s[1]) + (s[2] + s[3]);
  }
  for (; i + w <= n; i += w) step(i, s[0]);
  if (i < n) {
    V const a = simd::load<V>(x + i, n - i), b = simd::load<V>(y + i, n - i);
    s[0] = math::fma<V>(a, b, s[0]);
    simd::store<V>(dx + i, b, n - i), simd::store<V>(dy + i, a, n - i);
  }
  *value = simd::sum<V>(s[0]);
}

inline constexpr auto sum_of_squares = [](auto x) { return ct::sum(x * x); };
inline constexpr auto dot_product = [](auto x, auto y) { return ct::sum(x * y); };

template <class T>
void measure_squares(bench::suite& suite) {
  for (std::ptrdiff_t n : suite.sizes()) {
    bench::buffer<T> x(n), dx(n), value(1);
    bench::numbers().fill(x, T(-1), T(2));
    T *px = x.data(), *pv = value.data(), *pd = dx.data();
    bench::comparison c{"sum of squares", bench::element_name<T>, std::to_string(n), n, {}, {}, {}, {}};
    c.results = {bench::written("value", pv, 1, n), bench::written("dx", pd, n)};
    c.hand = {bench::named("one pass", [=] { squares_by_hand(px, pv, pd, n); })};
    c.loops = {bench::named("loops", [=] {
      double s = 0;
      for (std::ptrdiff_t i = 0; i < n; ++i) s += px[i] * px[i], pd[i] = 2 * px[i];
      *pv = static_cast<T>(s);
    })};
    c.ours = {bench::ours(ct::value_and_grad<0>(sum_of_squares), bench::into(*pv, ct::view<T, "n">(pd, n)),
                          ct::view<T const, "n">(px, n))};
    suite.run(c);
  }
}

template <class T>
void measure_dot(bench::suite& suite) {
  for (std::ptrdiff_t n : suite.sizes()) {
    bench::buffer<T> x(n), y(n), dx(n), dy(n), value(1);
    bench::numbers random;
    random.fill(x, T(-1), T(2)), random.fill(y, T(-1), T(2));
    T *px = x.data(), *py = y.data(), *pv = value.data(), *pdx = dx.data(), *pdy = dy.data();
    bench::comparison c{"dot product", bench::element_name<T>, std::to_string(n), n, {}, {}, {}, {}};
    c.results = {bench::written("value", pv, 1, 4 * n), bench::written("dx", pdx, n),
                 bench::written("dy", pdy, n)};
    c.hand = {bench::named("one pass", [=] { dot_by_hand(px, py, pv, pdx, pdy, n); })};
    c.loops = {bench::named("loops", [=] {
      double s = 0;
      for (std::ptrdiff_t i = 0; i < n; ++i) s += px[i] * py[i], pdx[i] = py[i], pdy[i] = px[i];
      *pv = static_cast<T>(s);
    })};
    c.ours = {bench::ours(ct::value_and_grad<0, 1>(dot_product),
                          bench::into(*pv, ct::view<T, "n">(pdx, n), ct::view<T, "n">(pdy, n)),
                          ct::view<T const, "n">(px, n), ct::view<T const, "n">(py, n))};
    suite.run(c);
  }
}

bench::entry const squares("sum of squares", [](bench::suite& suite) {
  measure_squares<double>(suite), measure_squares<float>(suite);
});
bench::entry const dot("dot product",
                       [](bench::suite& suite) { measure_dot<double>(suite), measure_dot<float>(suite); });

} // namespace
