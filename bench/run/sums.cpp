// SPDX-License-Identifier: BSL-1.0
// A sum of squares with its gradient, and a dot product with both of its gradients: bound by memory, not by arithmetic.
// Squares of sums over the middle one of three axes, with their gradient.
#include "hand.hpp"
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

#include <array>
#include <string>
#include <type_traits>

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

/// Of [blocks, steps, channels], in vectors of W lanes, which divide the channels; `sums` holds a number for each channel.
template <std::ptrdiff_t W, class T>
void middle_by_hand(T const* x, T* value, T* dx, T* sums, std::ptrdiff_t blocks, std::ptrdiff_t steps, std::ptrdiff_t channels) {
  using V = simd::pack<T, static_cast<int>(W)>;
  constexpr std::ptrdiff_t w = W;
  V total{};
  for (std::ptrdiff_t b = 0; b < blocks; ++b, x += steps * channels, dx += steps * channels) {
    std::ptrdiff_t c = 0;
    auto const columns = [&](auto vectors) {
      constexpr int count = decltype(vectors)::value;
      for (; c + count * w <= channels; c += count * w) {
        V s[count] = {};
        for (std::ptrdiff_t t = 0; t < steps; ++t)
          for (int k = 0; k < count; ++k) s[k] += simd::load<V>(x + t * channels + c + k * w);
        for (int k = 0; k < count; ++k) {
          total = math::fma<V>(s[k], s[k], total);
          simd::store<V>(sums + c + k * w, s[k] + s[k]);
        }
      }
    };
    columns(std::integral_constant<int, 4>()), columns(std::integral_constant<int, 1>());
    for (std::ptrdiff_t t = 0; t < steps; ++t)
      for (std::ptrdiff_t k = 0; k < channels; k += w) simd::store<V>(dx + t * channels + k, simd::load<V>(sums + k));
  }
  *value = simd::sum<V>(total);
}

inline constexpr auto sum_of_squares = [](auto x) { return ct::sum(x * x); };
inline constexpr auto dot_product = [](auto x, auto y) { return ct::sum(x * y); };
inline constexpr auto middle_squares = [](auto x) { return ct::sum(ct::square(ct::sum(x, ct::axes<1>))); };

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

template <class T>
void measure_middle(bench::suite& suite) {
  for (auto const [blocks, steps, channels] : {std::array<std::ptrdiff_t, 3>{200, 3, 8}, {16, 128, 64}, {8, 1000, 16}}) {
    std::ptrdiff_t const n = blocks * steps * channels;
    bench::buffer<T> x(n), dx(n), value(1), sums(channels);
    bench::numbers().fill(x, T(-1), T(2));
    T *px = x.data(), *pv = value.data(), *pd = dx.data(), *ps = sums.data();
    std::string const sizes = std::to_string(blocks) + "x" + std::to_string(steps) + "x" + std::to_string(channels);
    bench::comparison c{"sum over the middle axis", bench::element_name<T>, sizes, n, {}, {}, {}, {}};
    c.results = {bench::written("value", pv, 1, n), bench::written("dx", pd, n)};
    c.hand = {bench::named("two passes", [=] {
      if (channels % width<T> == 0) middle_by_hand<width<T>>(px, pv, pd, ps, blocks, steps, channels);
      else middle_by_hand<width<T> / 2>(px, pv, pd, ps, blocks, steps, channels);
    })};
    c.loops = {bench::named("loops", [=] {
      double total = 0;
      for (std::ptrdiff_t b = 0; b < blocks; ++b)
        for (std::ptrdiff_t k = 0; k < channels; ++k) {
          double s = 0;
          for (std::ptrdiff_t t = 0; t < steps; ++t) s += px[(b * steps + t) * channels + k];
          total += s * s;
          for (std::ptrdiff_t t = 0; t < steps; ++t) pd[(b * steps + t) * channels + k] = static_cast<T>(2 * s);
        }
      *pv = static_cast<T>(total);
    })};
    c.ours = {bench::ours(ct::value_and_grad<0>(middle_squares), bench::into(*pv, ct::view<T, "b", "t", "c">(pd, blocks, steps, channels)),
                          ct::view<T const, "b", "t", "c">(px, blocks, steps, channels))};
    suite.run(c);
  }
}

bench::entry const squares("sum of squares", [](bench::suite& suite) {
  measure_squares<double>(suite), measure_squares<float>(suite);
});
bench::entry const dot("dot product",
                       [](bench::suite& suite) { measure_dot<double>(suite), measure_dot<float>(suite); });

bench::entry const middle("sum over the middle axis", [](bench::suite& suite) {
  measure_middle<double>(suite), measure_middle<float>(suite);
});

} // namespace
