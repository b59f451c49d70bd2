// SPDX-License-Identifier: BSL-1.0
// log(sum(exp(x))) and its gradient, the softmax of x.
#include "hand.hpp"
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

#include <algorithm>
#include <cmath>

namespace {

using namespace bench::hand;

// The exponentials wait in dx, those of the tail in a register (a masked load right behind a masked store stalls;
// so does exp where it underflows, hence no -infinity in the lanes behind the tail).
template <class T>
void three_passes(T const* x, T* value, T* dx, std::ptrdiff_t n) {
  using V = wide<T>;
  constexpr std::ptrdiff_t w = width<T>;
  std::ptrdiff_t const whole = n / w * w;
  V const rest = load_or<V>(x + whole, n - whole, lowest<T>);
  V m0 = rest, m1 = m0, m2 = m0, m3 = m0;
  std::ptrdiff_t i = 0;
  for (; i + 4 * w <= whole; i += 4 * w) {
    m0 = larger(simd::load<V>(x + i), m0), m1 = larger(simd::load<V>(x + i + w), m1);
    m2 = larger(simd::load<V>(x + i + 2 * w), m2), m3 = larger(simd::load<V>(x + i + 3 * w), m3);
  }
  for (; i < whole; i += w) m0 = larger(simd::load<V>(x + i), m0);
  T const top = largest(larger(larger(m0, m1), larger(m2, m3)));

  V const m = math::broadcast<V>(top);
  auto const in_tail = simd::first<math::mask_t<V>>(n - whole);
  V const tail =
      whole < n ? math::select(in_tail, math::exp<V>(math::select(in_tail, rest, m) - m), V{}) : V{};
  V s0 = tail, s1{};
  for (i = 0; i + 2 * w <= whole; i += 2 * w) {
    V const a = math::exp<V>(simd::load<V>(x + i) - m), b = math::exp<V>(simd::load<V>(x + i + w) - m);
    simd::store(dx + i, a), simd::store(dx + i + w, b);
    s0 += a, s1 += b;
  }
  if (i < whole) {
    V const a = math::exp<V>(simd::load<V>(x + i) - m);
    simd::store(dx + i, a);
    s1 += a;
  }
  T const sum = simd::sum<V>(s0 + s1);
  *value = top + math::log(sum);

  V const scale = math::broadcast<V>(1 / sum);
  for (i = 0; i + 4 * w <= whole; i += 4 * w)
    for (std::ptrdiff_t k = 0; k < 4; ++k)
      simd::store<V>(dx + i + k * w, simd::load<V>(dx + i + k * w) * scale);
  for (; i < whole; i += w) simd::store<V>(dx + i, simd::load<V>(dx + i) * scale);
  if (whole < n) simd::store<V>(dx + whole, tail * scale, n - whole);
}

// Tiles that stay in the first cache, each against its own maximum: x is read once, dx passes twice.
template <class T>
void tiled(T const* x, T* value, T* dx, std::ptrdiff_t n) {
  using V = wide<T>;
  constexpr std::ptrdiff_t w = width<T>, most = 1024;
  std::ptrdiff_t tile = 8192 / static_cast<std::ptrdiff_t>(sizeof(T));
  while ((n + tile - 1) / tile > most) tile *= 2;
  T tops[most], top = lowest<T>, sum = 0;
  std::ptrdiff_t tiles = 0;
  for (std::ptrdiff_t first = 0; first < n; first += tile, ++tiles) {
    std::ptrdiff_t const last = std::min(n, first + tile);
    V m0 = math::broadcast<V>(lowest<T>), m1 = m0, m2 = m0, m3 = m0;
    std::ptrdiff_t i = first;
    for (; i + 4 * w <= last; i += 4 * w) {
      m0 = larger(simd::load<V>(x + i), m0), m1 = larger(simd::load<V>(x + i + w), m1);
      m2 = larger(simd::load<V>(x + i + 2 * w), m2), m3 = larger(simd::load<V>(x + i + 3 * w), m3);
    }
    for (; i < last; i += w) m0 = larger(load_or<V>(x + i, last - i, lowest<T>), m0);
    T const here = std::max(top, largest(larger(larger(m0, m1), larger(m2, m3))));
    V const m = math::broadcast<V>(here);
    V s0{}, s1{};
    for (i = first; i + 2 * w <= last; i += 2 * w) {
      V const a = math::exp<V>(simd::load<V>(x + i) - m), b = math::exp<V>(simd::load<V>(x + i + w) - m);
      simd::store(dx + i, a), simd::store(dx + i + w, b);
      s0 += a, s1 += b;
    }
    for (; i < last; i += w) {
      std::ptrdiff_t const count = std::min(w, last - i);
      V const a = math::exp<V>(load_or<V>(x + i, count, here) - m);
      simd::store(dx + i, a, count);
      s0 += math::select(simd::first<math::mask_t<V>>(count), a, V{});
    }
    if (here != top && tiles > 0) sum *= math::exp(top - here);
    sum += simd::sum(s0 + s1);
    top = here, tops[tiles] = here;
  }
  *value = top + math::log(sum);
  for (std::ptrdiff_t t = 0; t < tiles; ++t) {
    V const scale = math::broadcast<V>((tops[t] == top ? T(1) : math::exp(tops[t] - top)) / sum);
    std::ptrdiff_t i = t * tile, last = std::min(n, i + tile);
    for (; i + 4 * w <= last; i += 4 * w)
      for (std::ptrdiff_t k = 0; k < 4; ++k)
        simd::store(dx + i + k * w, simd::load<V>(dx + i + k * w) * scale);
    for (; i < last; i += w) simd::store(dx + i, simd::load<V>(dx + i, last - i) * scale, last - i);
  }
}

// Two passes over memory and two exponentials an element.
template <class T>
void recomputed(T const* x, T* value, T* dx, std::ptrdiff_t n) {
  using V = wide<T>;
  constexpr std::ptrdiff_t w = width<T>, tile = 4096 / sizeof(T);
  T top = lowest<T>, sum = 0;
  for (std::ptrdiff_t first = 0; first < n; first += tile) {
    std::ptrdiff_t const last = std::min(n, first + tile);
    V m0 = math::broadcast<V>(lowest<T>), m1 = m0;
    std::ptrdiff_t i = first;
    for (; i + 2 * w <= last; i += 2 * w)
      m0 = larger(simd::load<V>(x + i), m0), m1 = larger(simd::load<V>(x + i + w), m1);
    for (; i < last; i += w) m0 = larger(load_or<V>(x + i, last - i, lowest<T>), m0);
    T const here = std::max(top, largest(larger(m0, m1)));
    V const m = math::broadcast<V>(here);
    V s0{}, s1{};
    for (i = first; i + 2 * w <= last; i += 2 * w)
      s0 += math::exp<V>(simd::load<V>(x + i) - m), s1 += math::exp<V>(simd::load<V>(x + i + w) - m);
    for (; i < last; i += w)
      s0 += math::select(simd::first<math::mask_t<V>>(last - i),
                         math::exp<V>(load_or<V>(x + i, last - i, here) - m), V{});
    if (here != top && first > 0) sum *= math::exp(top - here);
    sum += simd::sum(s0 + s1);
    top = here;
  }
  *value = top + math::log(sum);
  V const m = math::broadcast<V>(top), scale = math::broadcast<V>(1 / sum);
  std::ptrdiff_t i = 0;
  for (; i + 2 * w <= n; i += 2 * w) {
    V const a = math::exp<V>(simd::load<V>(x + i) - m) * scale,
            b = math::exp<V>(simd::load<V>(x + i + w) - m) * scale;
    simd::store(dx + i, a), simd::store(dx + i + w, b);
  }
  for (; i < n; i += w) {
    std::ptrdiff_t const count = std::min(w, n - i);
    simd::store<V>(dx + i, math::exp<V>(simd::load<V>(x + i, count) - m) * scale, count);
  }
}

template <class T>
void loops(T const* x, T* value, T* dx, std::ptrdiff_t n) {
  T const m = *std::max_element(x, x + n);
  double s = 0;
  for (std::ptrdiff_t i = 0; i < n; ++i) s += dx[i] = std::exp(x[i] - m);
  *value = m + static_cast<T>(std::log(s));
  for (std::ptrdiff_t i = 0; i < n; ++i) dx[i] /= static_cast<T>(s);
}

inline constexpr auto log_sum_exp = [](auto x) { return ct::logsumexp(x); };

template <class T>
void measure(bench::suite& suite) {
  for (std::ptrdiff_t n : suite.sizes()) {
    bench::buffer<T> x(n), dx(n), value(1);
    bench::numbers().fill(x, T(-4), T(4));
    T *px = x.data(), *pv = value.data(), *pd = dx.data();
    bench::comparison c{"log-sum-exp", bench::element_name<T>, std::to_string(n), n, {}, {}, {}, {}};
    c.results = {bench::written("value", pv, 1, n), bench::written("dx", pd, n, n)};
    c.hand = {bench::named("three passes", [=] { three_passes(px, pv, pd, n); })};
    if (n > 4096) {
      c.hand.push_back(bench::named("tiled", [=] { tiled(px, pv, pd, n); }));
      c.hand.push_back(bench::named("exp twice", [=] { recomputed(px, pv, pd, n); }));
    }
    c.loops = {bench::named("loops", [=] { loops(px, pv, pd, n); })};
    c.ours = {bench::ours(ct::value_and_grad<0>(log_sum_exp), bench::into(*pv, ct::view<T, "n">(pd, n)),
                          ct::view<T const, "n">(px, n))};
    suite.run(c);
  }
}

bench::entry const e("log-sum-exp",
                     [](bench::suite& suite) { measure<double>(suite), measure<float>(suite); });

} // namespace
