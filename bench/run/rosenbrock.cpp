// SPDX-License-Identifier: BSL-1.0
// Rosenbrock's function sum(100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2), with its gradient.
#include "hand.hpp"
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

namespace {

using namespace bench::hand;

// With t[i] = x[i+1] - x[i]^2: dx[i] = 200 t[i-1] - 400 x[i] t[i] - 2 (1 - x[i]); both ends are
// separate. All operands of an element are loaded, and t is computed twice.
template <class T>
void three_loads(T const* x, T* value, T* dx, std::ptrdiff_t n) {
  using V = wide<T>;
  constexpr std::ptrdiff_t w = width<T>;
  V const one = math::broadcast<V>(1), two = math::broadcast<V>(2), c200 = math::broadcast<V>(200),
          c400 = math::broadcast<V>(400);
  T const first = x[1] - x[0] * x[0];
  V st[4] = {}, su[4] = {};
  auto const step = [&](V const& before, V const& here, V const& after, V& sum_t, V& sum_u) {
    V const t = after - here * here, t_before = here - before * before, u = one - here;
    sum_t = math::fma<V>(t, t, sum_t), sum_u = math::fma<V>(u, u, sum_u);
    return c200 * t_before - (c400 * here) * t - two * u;
  };
  std::ptrdiff_t i = 1;
  for (; i + 4 * w <= n - 1; i += 4 * w)
    for (int k = 0; k < 4; ++k) {
      std::ptrdiff_t const at = i + k * w;
      simd::store<V>(dx + at, step(simd::load<V>(x + at - 1), simd::load<V>(x + at),
                                   simd::load<V>(x + at + 1), st[k], su[k]));
    }
  for (; i < n - 1; i += w) {
    std::ptrdiff_t const count = n - 1 - i < w ? n - 1 - i : w;
    V const before = simd::load<V>(x + i - 1, count), here = load_or<V>(x + i, count, 1),
            after = load_or<V>(x + i + 1, count, 1);
    simd::store<V>(dx + i, step(before, here, after, st[0], su[0]), count);
  }
  dx[0] = T(-400) * x[0] * first - T(2) * (1 - x[0]);
  dx[n - 1] = T(200) * (x[n - 1] - x[n - 2] * x[n - 2]);
  *value = T(100) * (simd::sum<V>((st[0] + st[1]) + (st[2] + st[3])) + first * first) +
           simd::sum<V>((su[0] + su[1]) + (su[2] + su[3])) + (1 - x[0]) * (1 - x[0]);
}

// Lane i of the pair (low, high), i from Shift on.
template <int Shift, class V, int... I>
COTANGENT_INLINE V shifted(V const& low, V const& high, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(low, high, (I + Shift)...);
}

// t computed once: the one before comes out of the register of the last step. With h = -2 x[i] and v = -2 (1 - x[i]):
// dx[i] = 200 (h t[i] + t[i-1]) + v, and the second square is v^2 / 4.
template <class T>
void shifted_registers(T const* x, T* value, T* dx, std::ptrdiff_t n) {
  using V = wide<T>;
  constexpr std::ptrdiff_t w = width<T>;
  using lanes = std::make_integer_sequence<int, width<T>>;
  V const minus_two = math::broadcast<V>(-2), c200 = math::broadcast<V>(200);
  V st[2] = {}, sv[2] = {}, last{};
  auto const step = [&](std::ptrdiff_t at, int k) {
    V const here = simd::load<V>(x + at), h = minus_two * here, v = minus_two - h;
    V const t = math::fma<V>(-here, here, simd::load<V>(x + at + 1));
    st[k] = math::fma<V>(t, t, st[k]), sv[k] = math::fma<V>(v, v, sv[k]);
    V const d = math::fma<V>(c200, math::fma<V>(h, t, shifted<w - 1>(last, t, lanes{})), v);
    simd::store(dx + at, d);
    last = t;
  };
  std::ptrdiff_t i = 0;
  for (; i + 2 * w < n; i += 2 * w) step(i, 0), step(i + w, 1);
  if (i + w < n) step(i, 0), i += w;
  std::ptrdiff_t const count = n - i; // of at most w
  auto const inner = simd::first<math::mask_t<V>>(count - 1);
  V const here = simd::load<V>(x + i, count), h = minus_two * here,
          v = math::select(inner, V(minus_two - h), V{});
  V const t = math::select(inner, math::fma<V>(-here, here, simd::load<V>(x + i + 1, count - 1)), V{});
  st[0] = math::fma<V>(t, t, st[0]), sv[1] = math::fma<V>(v, v, sv[1]);
  simd::store<V>(dx + i, math::fma<V>(c200, math::fma<V>(h, t, shifted<w - 1>(last, t, lanes{})), v), count);
  *value = simd::sum<V>(
      math::fma<V>(math::broadcast<V>(100), st[0] + st[1], math::broadcast<V>(T(0.25)) * (sv[0] + sv[1])));
}

// Eight elements in one register.
template <class T>
void eight(T const* x, T* value, T* dx) {
  using V = simd::pack<T, 8>;
  using lanes = std::make_integer_sequence<int, 8>;
  V const inside{1, 1, 1, 1, 1, 1, 1, 0};
  V const here = simd::load<V>(x), h = T(-2) * here, v = (T(-2) - h) * inside;
  V const t = (shifted<1>(here, here, lanes{}) - here * here) * inside;
  simd::store<V>(dx, T(200) * (h * t + shifted<7>(V{}, t, lanes{})) + v);
  *value = simd::sum<V>(T(100) * t * t + T(0.25) * v * v);
}

template <int N, class T>
void unrolled(T const* x, T* value, T* dx) {
  T s = 0, g[N] = {};
#pragma GCC unroll 16
  for (int i = 0; i + 1 < N; ++i) {
    T const t = x[i + 1] - x[i] * x[i], u = 1 - x[i];
    s += 100 * t * t + u * u;
    g[i] += -400 * x[i] * t - 2 * u;
    g[i + 1] += 200 * t;
  }
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) dx[i] = g[i];
  *value = s;
}

template <class T>
void loops(T const* x, T* value, T* dx, std::ptrdiff_t n) {
  double s = 0;
  for (std::ptrdiff_t i = 0; i < n; ++i) dx[i] = 0;
  for (std::ptrdiff_t i = 0; i + 1 < n; ++i) {
    T const t = x[i + 1] - x[i] * x[i], u = 1 - x[i];
    s += 100 * t * t + u * u;
    dx[i] += -400 * x[i] * t - 2 * u;
    dx[i + 1] += 200 * t;
  }
  *value = static_cast<T>(s);
}

template <std::int64_t N>
struct rosenbrock {
  constexpr auto operator()(auto x) const {
    auto const here = x(ct::range<0, N - 1>), after = x(ct::range<1, N>);
    return ct::sum(100.0 * ct::square(after - ct::square(here)) + ct::square(1.0 - here));
  }
};

template <class T, std::int64_t N>
bench::contestant ours_of(T const* x, T* value, T* dx) {
  return bench::ours(ct::value_and_grad<0>(rosenbrock<N>()), bench::into(*value, ct::view<T, N>(dx)),
                     ct::view<T const, N>(x));
}

template <class T>
void measure(bench::suite& suite) {
  for (std::ptrdiff_t n : suite.sizes()) {
    bench::buffer<T> x(n), dx(n), value(1);
    bench::numbers().fill(x, T(-1.5), T(1.5));
    T *px = x.data(), *pv = value.data(), *pd = dx.data();
    bench::comparison c{"Rosenbrock", bench::element_name<T>, std::to_string(n), n, {}, {}, {}, {}};
    c.results = {bench::written("value", pv, 1, n), bench::written("dx", pd, n)};
    c.hand = {bench::named("three loads", [=] { three_loads(px, pv, pd, n); }),
              bench::named("shifted registers", [=] { shifted_registers(px, pv, pd, n); })};
    c.loops = {bench::named("loops", [=] { loops(px, pv, pd, n); })};
    if (n == 8) c.ours = {ours_of<T, 8>(px, pv, pd)};
    if (n == 64) c.ours = {ours_of<T, 64>(px, pv, pd)};
    if (n == 100) c.ours = {ours_of<T, 100>(px, pv, pd)};
    if (n == 1000) c.ours = {ours_of<T, 1000>(px, pv, pd)};
    if (n == 4096) c.ours = {ours_of<T, 4096>(px, pv, pd)};
    if (n == 65536) c.ours = {ours_of<T, 65536>(px, pv, pd)};
    if (n == 1000000) c.ours = {ours_of<T, 1000000>(px, pv, pd)};
    suite.run(c);
  }
}

template <class T>
void measure_eight(bench::suite& suite) {
  bench::buffer<T> x(8), dx(8), value(1);
  bench::numbers().fill(x, T(-1.5), T(1.5));
  T *px = x.data(), *pv = value.data(), *pd = dx.data();
  bench::comparison c{"Rosenbrock of 8", bench::element_name<T>, "8", 8, {}, {}, {}, {}};
  c.results = {bench::written("value", pv, 1, 8), bench::written("dx", pd, 8)};
  c.hand = {bench::named("one register", [=] { eight(px, pv, pd); }),
            bench::named("unrolled", [=] { unrolled<8>(px, pv, pd); })};
  c.loops = {bench::named("loops", [=] { loops(px, pv, pd, 8); })};
  c.ours = {ours_of<T, 8>(px, pv, pd)};
  suite.run(c);
}

bench::entry const e("Rosenbrock",
                     [](bench::suite& suite) { measure<double>(suite), measure<float>(suite); });
bench::entry const fixed("Rosenbrock of 8", [](bench::suite& suite) {
  measure_eight<double>(suite), measure_eight<float>(suite);
});

} // namespace
