// SPDX-License-Identifier: BSL-1.0
// Logistic regression over 64 features: mean(softplus(z) - y z), z = x w, with the gradient in w.
#include "hand.hpp"
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

#include <algorithm>
#include <cmath>

namespace {

using namespace bench::hand;

constexpr std::ptrdiff_t features = 64;

// softplus(z) and its derivative, from one exponential.
template <class V>
struct softplus_parts {
  V value, slope;
};

template <class V>
COTANGENT_INLINE softplus_parts<V> softplus(V const& z) {
  V const one = math::broadcast<V>(1), e = math::exp<V>(-math::abs<V>(z)), s = one + e, r = one / s;
  return {larger<V>(z, V{}) + math::log<V>(s), math::select(z > V{}, r, e * r)};
}

// One or two registers of rows at a time: their products with w are summed together, the activation of all is one
// computation, and the gradient stays in registers.
template <class T, std::ptrdiff_t Registers>
void blocks(T const* x, T const* y, T const* w, T* value, T* dw, std::ptrdiff_t n) {
  using V = wide<T>;
  constexpr std::ptrdiff_t lanes = width<T>, parts = features / lanes, rows = Registers * lanes;
  V weights[parts], g[parts] = {};
  for (std::ptrdiff_t k = 0; k < parts; ++k) weights[k] = simd::load<V>(w + k * lanes);
  V loss{};
  for (std::ptrdiff_t first = 0; first < n; first += rows) {
    std::ptrdiff_t const count = std::min(rows, n - first);
    T residual[rows];
    for (std::ptrdiff_t h = 0; h < Registers && h * lanes < count; ++h) {
      std::ptrdiff_t const begin = first + h * lanes, here = std::min(lanes, n - begin);
      V dots[lanes];
      for (std::ptrdiff_t r = 0; r < lanes; ++r) {
        T const* const row = x + (begin + (r < here ? r : 0)) * features;
        V a{}, b{};
        for (std::ptrdiff_t k = 0; k < parts; k += 2) {
          a = math::fma<V>(simd::load<V>(row + k * lanes), weights[k], a);
          b = math::fma<V>(simd::load<V>(row + (k + 1) * lanes), weights[k + 1], b);
        }
        dots[r] = a + b;
      }
      V const z = reduce_each<lanes / 2>(dots, [](V const& p, V const& q) { return V(p + q); });
      V const label = simd::load<V>(y + begin, here);
      auto const s = softplus<V>(z);
      auto const inside = simd::first<math::mask_t<V>>(here);
      loss += math::select(inside, V(s.value - label * z), V{});
      simd::store<V>(residual + h * lanes, s.slope - label);
    }
    for (std::ptrdiff_t r = 0; r < count; ++r) {
      V const d = math::broadcast<V>(residual[r]);
      T const* const row = x + (first + r) * features;
      for (std::ptrdiff_t k = 0; k < parts; ++k) g[k] = math::fma<V>(simd::load<V>(row + k * lanes), d, g[k]);
    }
  }
  V const scale = math::broadcast<V>(1 / static_cast<T>(n));
  for (std::ptrdiff_t k = 0; k < parts; ++k) simd::store<V>(dw + k * lanes, g[k] * scale);
  *value = simd::sum<V>(loss) / static_cast<T>(n);
}

template <class T>
void loops(T const* x, T const* y, T const* w, T* value, T* dw, std::ptrdiff_t n) {
  double loss = 0;
  for (std::ptrdiff_t k = 0; k < features; ++k) dw[k] = 0;
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    T z = 0;
    for (std::ptrdiff_t k = 0; k < features; ++k) z += x[i * features + k] * w[k];
    loss += std::max(z, T(0)) + std::log(1 + std::exp(-std::fabs(z))) - y[i] * z;
    T const d = (1 / (1 + std::exp(-z)) - y[i]) / static_cast<T>(n);
    for (std::ptrdiff_t k = 0; k < features; ++k) dw[k] += x[i * features + k] * d;
  }
  *value = static_cast<T>(loss) / static_cast<T>(n);
}

inline constexpr auto logistic_loss = [](auto x, auto y, auto w) {
  auto const z = ct::flatten(ct::matmul(x, ct::reshape<64, 1>(w)));
  return ct::mean(ct::softplus(z) - y * z);
};

template <class T>
void measure(bench::suite& suite) {
  for (std::ptrdiff_t n : suite.quick() ? std::vector<std::ptrdiff_t>{64, 1000}
                                        : std::vector<std::ptrdiff_t>{8, 64, 100, 1000, 4096, 65536}) {
    bench::buffer<T> x(n * features), y(n), w(features), dw(features), value(1);
    bench::numbers random;
    random.fill(x, T(-1), T(1)), random.fill(w, T(-0.5), T(0.5));
    for (T& label : y) label = static_cast<T>(random.below(2));
    T *px = x.data(), *py = y.data(), *pw = w.data(), *pv = value.data(), *pd = dw.data();
    bench::comparison c{
        "logistic regression", bench::element_name<T>, std::to_string(n) + "x64", n, {}, {}, {}, {}};
    c.results = {bench::written("value", pv, 1, n), bench::written("dw", pd, features, 4 * n)};
    c.hand = {bench::named("blocks of a register", [=] { blocks<T, 1>(px, py, pw, pv, pd, n); }),
              bench::named("blocks of two", [=] { blocks<T, 2>(px, py, pw, pv, pd, n); })};
    c.loops = {bench::named("loops", [=] { loops(px, py, pw, pv, pd, n); })};
    c.ours = {bench::ours(ct::value_and_grad<2>(logistic_loss), bench::into(*pv, ct::view<T, 64>(pd)),
                          ct::view<T const, "n", 64>(px, n), ct::view<T const, "n">(py, n),
                          ct::view<T const, 64>(pw))};
    suite.run(c);
  }
}

bench::entry const e("logistic regression",
                     [](bench::suite& suite) { measure<double>(suite), measure<float>(suite); });

} // namespace
