// SPDX-License-Identifier: BSL-1.0
// The gradient of a sum of f(f(f(f(x)))) with f(y) = tanh(y) + exp(-y^2) / 2: each element waits for a long chain of operations.
#include "hand.hpp"
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

#include <cotangent/core/math/hyperbolic.hpp>

#include <cmath>

namespace {

using namespace bench::hand;

constexpr int links = 4;

/// `Count` vectors, operation by operation: each hides the latency of the others.
template <int Count, class V>
COTANGENT_INLINE void one_block(V* y, V* dx) {
  V slope[links][Count];
  for (int link = 0; link < links; ++link) {
    V t[Count], e[Count];
    for (int k = 0; k < Count; ++k) t[k] = math::tanh(y[k]);
    for (int k = 0; k < Count; ++k) e[k] = math::exp<V>(-(y[k] * y[k]));
    for (int k = 0; k < Count; ++k) {
      slope[link][k] = (1 - t[k] * t[k]) - y[k] * e[k];
      y[k] = math::fma<V>(e[k], math::broadcast<V>(0.5), t[k]);
    }
  }
  for (int k = 0; k < Count; ++k) {
    dx[k] = slope[links - 1][k];
    for (int link = links - 2; link >= 0; --link) dx[k] *= slope[link][k];
  }
}

template <int Count, class T>
void vectors(T const* x, T* value, T* dx, std::ptrdiff_t n) {
  using V = wide<T>;
  constexpr std::ptrdiff_t w = width<T>;
  V sum{};
  std::ptrdiff_t i = 0;
  for (; i + Count * w <= n; i += Count * w) {
    V y[Count], d[Count];
    for (int k = 0; k < Count; ++k) y[k] = simd::load<V>(x + i + k * w);
    one_block<Count>(y, d);
    for (int k = 0; k < Count; ++k) simd::store<V>(dx + i + k * w, d[k]), sum += y[k];
  }
  for (; i < n; i += w) {
    std::ptrdiff_t const rest = n - i < w ? n - i : w;
    V y = simd::load<V>(x + i, rest), d;
    one_block<1>(&y, &d);
    simd::store<V>(dx + i, d, rest);
    sum += math::select(simd::first<math::mask_t<V>>(rest), y, V{});
  }
  *value = simd::sum<V>(sum);
}

template <class T>
void loops(T const* x, T* value, T* dx, std::ptrdiff_t n) {
  double sum = 0;
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    T y = x[i], slope = 1;
    for (int link = 0; link < links; ++link) {
      T const t = std::tanh(y), e = std::exp(-y * y);
      slope *= 1 - t * t - y * e;
      y = t + T(0.5) * e;
    }
    sum += y, dx[i] = slope;
  }
  *value = static_cast<T>(sum);
}

inline constexpr auto long_chain = [](auto x) {
  auto y = x;
  for (int link = 0; link < links; ++link) y = ct::tanh(y) + 0.5 * ct::exp(-(y * y));
  return ct::sum(y);
};

template <class T>
void measure(bench::suite& suite) {
  for (std::ptrdiff_t n : suite.sizes()) {
    bench::buffer<T> x(n), dx(n), sum(1);
    bench::numbers random;
    random.fill(x, T(-2), T(2));
    T *px = x.data(), *value = sum.data(), *d = dx.data();
    bench::comparison c{"long chains", bench::element_name<T>, std::to_string(n), n, {}, {}, {}, {}};
    // (a long sum of floats in few lanes)
    c.results = {bench::written("value", value, 1, 4 * n), bench::written("dx", d, n)};
    c.hand = {bench::named("one vector", [=] { vectors<1>(px, value, d, n); }), bench::named("two vectors", [=] { vectors<2>(px, value, d, n); }),
              bench::named("four vectors", [=] { vectors<4>(px, value, d, n); })};
    c.loops = {bench::named("loops", [=] { loops(px, value, d, n); })};
    c.ours = {bench::ours(ct::value_and_grad(long_chain), bench::into(*value, ct::view<T, "n">(d, n)), ct::view<T const, "n">(px, n))};
    suite.run(c);
  }
}

bench::entry const e("long chains", [](bench::suite& suite) { measure<double>(suite), measure<float>(suite); });

} // namespace
