// SPDX-License-Identifier: BSL-1.0
// Points whose coordinates lie side by side in memory: the sum of their distances from one point, with the gradient, and cross products.
// By hand: whole vectors are loaded, and shuffled into one vector for each coordinate.
#include "hand.hpp"
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

#include <cotangent/kernels/interleave.hpp>

#include <cmath>
#include <cstddef>
#include <string>

namespace {

using namespace bench::hand;

inline constexpr auto distances = [](auto x) {
  auto const a = x(ct::all, 0) - 0.25, b = x(ct::all, 1) + 0.5, c = x(ct::all, 2) - 0.75;
  return ct::sum(ct::sqrt(a * a + b * b + c * c));
};
inline constexpr auto products = [](auto x, auto y) { return ct::cross(x, y); };

template <class T> void distances_by_hand(T const* x, T* value, T* dx, std::ptrdiff_t n) {
  using V = wide<T>;
  constexpr std::ptrdiff_t w = width<T>;
  T const from[]{T(0.25), T(-0.5), T(0.75)};
  V sum{};
  std::ptrdiff_t i = 0;
  for (; i + w <= n; i += w) {
    V p[3], d[3];
    cotangent::kernels::load_columns(p, x + 3 * i);
    for (int k = 0; k < 3; ++k) p[k] -= math::broadcast<V>(from[k]);
    V const r = math::sqrt(math::fma<V>(p[0], p[0], math::fma<V>(p[1], p[1], p[2] * p[2])));
    sum += r;
    V const by = math::broadcast<V>(T(1)) / r;
    for (int k = 0; k < 3; ++k) d[k] = p[k] * by;
    cotangent::kernels::store_columns(d, dx + 3 * i);
  }
  T total = simd::sum<V>(sum);
  for (; i < n; ++i) {
    T p[3], r = 0;
    for (int k = 0; k < 3; ++k) p[k] = x[3 * i + k] - from[k], r += p[k] * p[k];
    r = std::sqrt(r), total += r;
    for (int k = 0; k < 3; ++k) dx[3 * i + k] = p[k] / r;
  }
  *value = total;
}
template <class T> void products_by_hand(T const* x, T const* y, T* z, std::ptrdiff_t n) {
  using V = wide<T>;
  constexpr std::ptrdiff_t w = width<T>;
  std::ptrdiff_t i = 0;
  for (; i + w <= n; i += w) {
    V p[3], q[3], r[3];
    cotangent::kernels::load_columns(p, x + 3 * i), cotangent::kernels::load_columns(q, y + 3 * i);
    for (int k = 0; k < 3; ++k) {
      int const l = (k + 1) % 3, m = (k + 2) % 3;
      r[k] = math::fma<V>(p[l], q[m], -(p[m] * q[l]));
    }
    cotangent::kernels::store_columns(r, z + 3 * i);
  }
  for (; i < n; ++i)
    for (int k = 0; k < 3; ++k) {
      int const l = (k + 1) % 3, m = (k + 2) % 3;
      z[3 * i + k] = x[3 * i + l] * y[3 * i + m] - x[3 * i + m] * y[3 * i + l];
    }
}

template <class T> void measure_points(bench::suite& suite) {
  for (std::ptrdiff_t const n : {10, 100, 1000, 100000}) {
    bench::buffer<T> x(3 * n), y(3 * n), out(3 * n), value(1);
    bench::numbers random;
    random.fill(x, T(-1), T(2)), random.fill(y, T(-1), T(2));
    T *px = x.data(), *py = y.data(), *po = out.data(), *pv = value.data();
    ct::view<T const, "n", 3> const in(px, n), other(py, n);
    ct::view<T, "n", 3> const to(po, n);
    bench::comparison c{"points, distances", bench::element_name<T>, std::to_string(n), 3 * n, {}, {}, {}, {}};
    c.results = {bench::written("value", pv, 1, n), bench::written("dx", po, 3 * n)};
    c.hand = {bench::named("shuffles", [=] { distances_by_hand(px, pv, po, n); })};
    c.loops = {bench::named("loops", [=] {
      T const from[]{T(0.25), T(-0.5), T(0.75)};
      T total = 0;
      for (std::ptrdiff_t i = 0; i < n; ++i) {
        T p[3], r = 0;
        for (int k = 0; k < 3; ++k) p[k] = px[3 * i + k] - from[k], r += p[k] * p[k];
        r = std::sqrt(r), total += r;
        for (int k = 0; k < 3; ++k) po[3 * i + k] = p[k] / r;
      }
      *pv = total;
    })};
    c.ours = {bench::ours(ct::value_and_grad<0>(distances), bench::into(*pv, to), in)};
    suite.run(c);

    bench::comparison p{"points, cross products", bench::element_name<T>, std::to_string(n), 3 * n, {}, {}, {}, {}};
    p.results = {bench::written("z", po, 3 * n)};
    p.hand = {bench::named("shuffles", [=] { products_by_hand(px, py, po, n); })};
    p.loops = {bench::named("loops", [=] {
      for (std::ptrdiff_t i = 0; i < n; ++i)
        for (int k = 0; k < 3; ++k) {
          int const l = (k + 1) % 3, m = (k + 2) % 3;
          po[3 * i + k] = px[3 * i + l] * py[3 * i + m] - px[3 * i + m] * py[3 * i + l];
        }
    })};
    p.ours = {bench::ours(ct::compiled(products), bench::into(to), in, other)};
    suite.run(p);
  }
}

bench::entry const points("points", [](bench::suite& suite) { measure_points<double>(suite), measure_points<float>(suite); });

} // namespace
