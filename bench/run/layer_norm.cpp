// SPDX-License-Identifier: BSL-1.0
// The backward pass of layer normalization: sum(dy * (gamma * normalized(x) + beta)), rows of [128, 512], with the
// gradients in x, gamma and beta.
#include "hand.hpp"
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

#include <cmath>

namespace {

using namespace bench::hand;

constexpr double epsilon = 1e-5;

template <class T>
struct arrays {
  T const *x, *gamma, *dy;
  T *dx, *dgamma, *dbeta;
};

template <class T, std::ptrdiff_t C>
COTANGENT_INLINE T row_sum(T const* x) {
  using V = wide<T>;
  constexpr std::ptrdiff_t w = width<T>;
  V s[4] = {};
  for (std::ptrdiff_t c = 0; c < C; c += 4 * w)
    for (int k = 0; k < 4; ++k) s[k] += simd::load<V>(x + c + k * w);
  return simd::sum<V>((s[0] + s[1]) + (s[2] + s[3]));
}

template <class T, std::ptrdiff_t C>
COTANGENT_INLINE T row_squares(T const* x, T mean) {
  using V = wide<T>;
  constexpr std::ptrdiff_t w = width<T>;
  V const m = math::broadcast<V>(mean);
  V s[4] = {};
  for (std::ptrdiff_t c = 0; c < C; c += 4 * w)
    for (int k = 0; k < 4; ++k) {
      V const d = simd::load<V>(x + c + k * w) - m;
      s[k] = math::fma<V>(d, d, s[k]);
    }
  return simd::sum<V>((s[0] + s[1]) + (s[2] + s[3]));
}

// Several rows at a time, so that the column sums are read and written once for all of them. Normalized values are
// x a + b; dx is dy gamma a + x p + q.
template <int Rows, class T, std::ptrdiff_t R, std::ptrdiff_t C>
void by_hand(arrays<T> const& g) {
  using V = wide<T>;
  constexpr std::ptrdiff_t w = width<T>;
  constexpr T part = T(1) / static_cast<T>(C);
  for (std::ptrdiff_t c = 0; c < C; c += w)
    simd::store<V>(g.dgamma + c, V{}), simd::store<V>(g.dbeta + c, V{});
  for (std::ptrdiff_t first = 0; first < R; first += Rows) {
    T const *x[Rows], *dy[Rows];
    V a[Rows], b[Rows], s1[Rows] = {}, s2[Rows] = {};
    T scale[Rows], shift[Rows];
    for (int r = 0; r < Rows; ++r) {
      x[r] = g.x + (first + r) * C, dy[r] = g.dy + (first + r) * C;
      T const mean = row_sum<T, C>(x[r]) * part, variance = row_squares<T, C>(x[r], mean) * part;
      scale[r] = 1 / std::sqrt(variance + static_cast<T>(epsilon)), shift[r] = -mean * scale[r];
      a[r] = math::broadcast<V>(scale[r]), b[r] = math::broadcast<V>(shift[r]);
    }
    for (std::ptrdiff_t c = 0; c < C; c += w) {
      V const gamma = simd::load<V>(g.gamma + c);
      V dgamma = simd::load<V>(g.dgamma + c), dbeta = simd::load<V>(g.dbeta + c);
      for (int r = 0; r < Rows; ++r) {
        V const d = simd::load<V>(dy[r] + c), n = math::fma<V>(simd::load<V>(x[r] + c), a[r], b[r]),
                wd = d * gamma;
        s1[r] += wd, s2[r] = math::fma<V>(wd, n, s2[r]);
        dgamma = math::fma<V>(d, n, dgamma), dbeta += d;
      }
      simd::store(g.dgamma + c, dgamma), simd::store(g.dbeta + c, dbeta);
    }
    for (int r = 0; r < Rows; ++r) {
      T const m1 = simd::sum<V>(s1[r]) * part, m2 = simd::sum<V>(s2[r]) * part;
      V const p = math::broadcast<V>(-scale[r] * m2 * scale[r]),
              q = math::broadcast<V>(-scale[r] * (m1 + shift[r] * m2));
      T* const dx = g.dx + (first + r) * C;
      for (std::ptrdiff_t c = 0; c < C; c += w) {
        V const wd = simd::load<V>(dy[r] + c) * simd::load<V>(g.gamma + c);
        simd::store<V>(dx + c, math::fma<V>(wd, a[r], math::fma<V>(simd::load<V>(x[r] + c), p, q)));
      }
    }
  }
}

template <class T>
void loops(arrays<T> const& g, std::ptrdiff_t rows, std::ptrdiff_t columns) {
  for (std::ptrdiff_t c = 0; c < columns; ++c) g.dgamma[c] = g.dbeta[c] = 0;
  auto const part = 1 / static_cast<T>(columns);
  for (std::ptrdiff_t r = 0; r < rows; ++r) {
    T const *const x = g.x + r * columns, *const dy = g.dy + r * columns;
    T* const dx = g.dx + r * columns;
    T mean = 0, variance = 0, m1 = 0, m2 = 0;
    for (std::ptrdiff_t c = 0; c < columns; ++c) mean += x[c] * part;
    for (std::ptrdiff_t c = 0; c < columns; ++c) variance += (x[c] - mean) * (x[c] - mean) * part;
    T const scale = 1 / std::sqrt(variance + static_cast<T>(epsilon));
    for (std::ptrdiff_t c = 0; c < columns; ++c) {
      T const n = (x[c] - mean) * scale;
      m1 += dy[c] * g.gamma[c] * part, m2 += dy[c] * g.gamma[c] * n * part;
      g.dgamma[c] += dy[c] * n, g.dbeta[c] += dy[c];
    }
    for (std::ptrdiff_t c = 0; c < columns; ++c)
      dx[c] = (dy[c] * g.gamma[c] - m1 - (x[c] - mean) * scale * m2) * scale;
  }
}

inline constexpr auto layer_norm = [](auto x, auto gamma, auto beta, auto dy) {
  auto const centered = x - ct::mean(x, ct::axes<1>, ct::keep);
  auto const variance = ct::mean(ct::square(centered), ct::axes<1>, ct::keep);
  return ct::sum(dy * (gamma * (centered / ct::sqrt(variance + epsilon)) + beta));
};

template <class T, std::ptrdiff_t R, std::ptrdiff_t C>
void measure(bench::suite& suite) {
  bench::buffer<T> x(R * C), dy(R * C), gamma(C), beta(C), dx(R * C), dgamma(C), dbeta(C);
  bench::numbers random;
  random.fill(x, T(-2), T(3)), random.fill(dy, T(-1), T(1)), random.fill(gamma, T(0.5), T(1.5));
  arrays<T> const g{x.data(), gamma.data(), dy.data(), dx.data(), dgamma.data(), dbeta.data()};
  bench::comparison c{"layer norm",
                      bench::element_name<T>,
                      std::to_string(R) + 'x' + std::to_string(C),
                      R * C,
                      {},
                      {},
                      {},
                      {}};
  c.results = {bench::written("dx", g.dx, R * C, C), bench::written("dgamma", g.dgamma, C, R),
               bench::written("dbeta", g.dbeta, C, R)};
  c.hand = {bench::named("row by row", [=] { by_hand<1, T, R, C>(g); }),
            bench::named("two rows", [=] { by_hand<2, T, R, C>(g); }),
            bench::named("four rows", [=] { by_hand<4, T, R, C>(g); })};
  c.loops = {bench::named("loops", [=] { loops(g, R, C); })};
  c.ours = {
      bench::ours(ct::grad<0, 1, 2>(layer_norm),
                  bench::into(ct::view<T, R, C>(g.dx), ct::view<T, C>(g.dgamma), ct::view<T, C>(g.dbeta)),
                  ct::view<T const, R, C>(g.x), ct::view<T const, C>(g.gamma),
                  ct::view<T const, C>(beta.data()), ct::view<T const, R, C>(g.dy))};
  suite.run(c);
}

bench::entry const e("layer norm", [](bench::suite& suite) {
  measure<float, 128, 512>(suite), measure<double, 128, 512>(suite);
});

} // namespace
