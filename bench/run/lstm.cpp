// SPDX-License-Identifier: BSL-1.0
// An LSTM over a series as `ct::scan` of `ct::lstm_cell`, with gradients in all weights, against a reverse sweep by hand.
#include "hand.hpp"
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

#include <cotangent/core/math/hyperbolic.hpp>
#include <cotangent/nn.hpp>

#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

namespace {

using namespace bench::hand;

inline constexpr std::ptrdiff_t steps = 100, inputs = 16, hidden = 16, gates = 4 * hidden;

// ---- by hand: the products with the inputs, and the gradients of the weights, are matrix products over all steps

using V = wide<double>;
inline constexpr std::ptrdiff_t W = width<double>;
static_assert(hidden % W == 0 && gates % (2 * W) == 0 && steps % 4 == 0 && inputs % 4 == 0 && hidden % 4 == 0);

COTANGENT_INLINE V sigmoid(V const& x) { return 1 / (1 + math::exp(V(-x))); }

/// c[i, j] += the sum over k of a[i, k] b[k, j], where a[i, k] is `a[i * row + k * column]`; c and b have `gates` columns.
template <std::ptrdiff_t Rows>
COTANGENT_INLINE void add_rows(double* c, double const* a, std::ptrdiff_t row, std::ptrdiff_t column, double const* b, std::ptrdiff_t count) {
  for (std::ptrdiff_t j = 0; j < gates; j += 2 * W) {
    V sum[Rows][2];
    for (std::ptrdiff_t i = 0; i < Rows; ++i)
      for (int h = 0; h < 2; ++h) sum[i][h] = simd::load<V>(c + i * gates + j + h * W);
    for (std::ptrdiff_t k = 0; k < count; ++k) {
      V const left = simd::load<V>(b + k * gates + j), right = simd::load<V>(b + k * gates + j + W);
      for (std::ptrdiff_t i = 0; i < Rows; ++i) {
        double const x = a[i * row + k * column];
        sum[i][0] += x * left;
        sum[i][1] += x * right;
      }
    }
    for (std::ptrdiff_t i = 0; i < Rows; ++i)
      for (int h = 0; h < 2; ++h) simd::store<V>(c + i * gates + j + h * W, sum[i][h]);
  }
}
void add_product(double* c, double const* a, std::ptrdiff_t rows, std::ptrdiff_t row, std::ptrdiff_t column, double const* b, std::ptrdiff_t count) {
  for (std::ptrdiff_t i = 0; i < rows; i += 4) add_rows<4>(c + i * gates, a + i * row, row, column, b, count);
}

/// All gates of a step: g += h U, for which a block of columns stays in registers.
COTANGENT_INLINE void add_hidden(double* g, double const* h, double const* u) {
  constexpr int block = 4; // vectors
  for (std::ptrdiff_t j = 0; j < gates; j += block * W) {
    V sum[block], other[block]{};
    for (int q = 0; q < block; ++q) sum[q] = simd::load<V>(g + j + q * W);
    for (std::ptrdiff_t k = 0; k < hidden; k += 2)
      for (int q = 0; q < block; ++q) {
        sum[q] += h[k] * simd::load<V>(u + k * gates + j + q * W);
        other[q] += h[k + 1] * simd::load<V>(u + (k + 1) * gates + j + q * W);
      }
    for (int q = 0; q < block; ++q) simd::store<V>(g + j + q * W, V(sum[q] + other[q]));
  }
}
/// h = U g, row by row: a register of rows at a time.
COTANGENT_INLINE void times_gates(double* h, double const* u, double const* g) {
  for (std::ptrdiff_t k = 0; k < hidden; k += W) {
    V sum[W]{};
    for (std::ptrdiff_t j = 0; j < gates; j += W) {
      V const x = simd::load<V>(g + j);
      for (std::ptrdiff_t r = 0; r < W; ++r) sum[r] += x * simd::load<V>(u + (k + r) * gates + j);
    }
    simd::store<V>(h + k, reduce_each<static_cast<int>(W) / 2>(sum, [](V const& a, V const& b) { return V(a + b); }));
  }
}

struct results {
  double *value, *dw, *du, *db;
};
struct memory {
  double *g, *dg;        // [steps, gates]: the gates after their functions; their cotangents
  double *h, *c, *tanh; // [steps + 1, hidden], the last one of c
};

void sweep(double const* x, double const* w, double const* u, double const* b, results const& out, memory const& m) {
  for (std::ptrdiff_t t = 0; t < steps; ++t)
    for (std::ptrdiff_t j = 0; j < gates; j += W) simd::store<V>(m.g + t * gates + j, simd::load<V>(b + j));
  add_product(m.g, x, steps, inputs, 1, w, inputs);
  V squares{};
  for (std::ptrdiff_t k = 0; k < hidden; ++k) m.h[k] = m.c[k] = 0;
  for (std::ptrdiff_t t = 0; t < steps; ++t) {
    double* const g = m.g + t * gates;
    add_hidden(g, m.h + t * hidden, u);
    for (std::ptrdiff_t k = 0; k < hidden; k += W) {
      V const in = sigmoid(simd::load<V>(g + k)), forget = sigmoid(simd::load<V>(g + hidden + k)),
              change = math::tanh(simd::load<V>(g + 2 * hidden + k)), take = sigmoid(simd::load<V>(g + 3 * hidden + k)),
              c = forget * simd::load<V>(m.c + t * hidden + k) + in * change, of_c = math::tanh(c), h = take * of_c;
      simd::store<V>(g + k, in), simd::store<V>(g + hidden + k, forget);
      simd::store<V>(g + 2 * hidden + k, change), simd::store<V>(g + 3 * hidden + k, take);
      simd::store<V>(m.c + (t + 1) * hidden + k, c);
      simd::store<V>(m.tanh + t * hidden + k, of_c);
      simd::store<V>(m.h + (t + 1) * hidden + k, h);
      squares += h * h;
    }
  }
  alignas(64) double dh[hidden]{}, dc[hidden]{};
  for (std::ptrdiff_t t = steps; t-- > 0;) {
    double const* const g = m.g + t * gates;
    double* const dg = m.dg + t * gates;
    for (std::ptrdiff_t k = 0; k < hidden; k += W) {
      V const in = simd::load<V>(g + k), forget = simd::load<V>(g + hidden + k), change = simd::load<V>(g + 2 * hidden + k),
              take = simd::load<V>(g + 3 * hidden + k), of_c = simd::load<V>(m.tanh + t * hidden + k),
              dy = simd::load<V>(dh + k) + 2 * simd::load<V>(m.h + (t + 1) * hidden + k),
              d = simd::load<V>(dc + k) + dy * take * (1 - of_c * of_c);
      simd::store<V>(dg + k, V(d * change * in * (1 - in)));
      simd::store<V>(dg + hidden + k, V(d * simd::load<V>(m.c + t * hidden + k) * forget * (1 - forget)));
      simd::store<V>(dg + 2 * hidden + k, V(d * in * (1 - change * change)));
      simd::store<V>(dg + 3 * hidden + k, V(dy * of_c * take * (1 - take)));
      simd::store<V>(dc + k, V(d * forget));
    }
    times_gates(dh, u, dg);
  }
  for (std::ptrdiff_t k = 0; k < inputs * gates; ++k) out.dw[k] = 0;
  for (std::ptrdiff_t k = 0; k < hidden * gates; ++k) out.du[k] = 0;
  add_product(out.dw, x, inputs, 1, inputs, m.dg, steps);
  add_product(out.du, m.h, hidden, 1, hidden, m.dg, steps);
  for (std::ptrdiff_t j = 0; j < gates; j += W) {
    V sum{};
    for (std::ptrdiff_t t = 0; t < steps; ++t) sum += simd::load<V>(m.dg + t * gates + j);
    simd::store<V>(out.db + j, sum);
  }
  *out.value = simd::sum<V>(squares);
}

// ---- ours

inline constexpr auto network = [](auto xs, auto w, auto u, auto b) {
  auto const step = [=](auto state, auto x) {
    auto const next = ct::lstm_cell(x, state.first, state.second, w, u, b);
    return std::pair(next, next.first);
  };
  auto const hs = ct::scan(step, std::pair(ct::zeros<double, 1, hidden>(), ct::zeros<double, 1, hidden>()), xs).second;
  return ct::sum(hs * hs);
};

bench::entry const e("scan: LSTM", [](bench::suite& suite) {
  bench::buffer<double> x(steps * inputs), w(inputs * gates), u(hidden * gates), b(gates), dw(inputs * gates), du(hidden * gates), db(gates),
      value(8), g(steps * gates), dg(steps * gates), h((steps + 1) * hidden), c((steps + 1) * hidden), of_c(steps * hidden);
  bench::numbers random;
  random.fill(x, -1.0, 1.0);
  random.fill(w, -0.4, 0.4);
  random.fill(u, -0.4, 0.4);
  random.fill(b, -0.5, 0.5);
  double *const px = x.data(), *const pw = w.data(), *const pu = u.data(), *const pb = b.data();
  results const out{value.data(), dw.data(), du.data(), db.data()};
  memory const m{g.data(), dg.data(), h.data(), c.data(), of_c.data()};
  bench::comparison of{"scan: LSTM", "double", std::to_string(steps), steps, {}, {}, {}, {}};
  of.results = {bench::written("value", out.value, 1, steps), bench::written("dw", out.dw, inputs * gates, steps),
                bench::written("du", out.du, hidden * gates, steps), bench::written("db", out.db, gates, steps)};
  of.hand = {bench::named("products over all steps", [=] { sweep(px, pw, pu, pb, out, m); })};
  of.ours = {bench::ours(ct::value_and_grad<1, 2, 3>(network),
                         bench::into(*out.value, ct::view<double, inputs, gates>(out.dw), ct::view<double, hidden, gates>(out.du),
                                     ct::view<double, gates>(out.db)),
                         ct::view<double const, steps, 1, inputs>(px), ct::view<double const, inputs, gates>(pw),
                         ct::view<double const, hidden, gates>(pu), ct::view<double const, gates>(pb))};
  suite.run(of);
});

} // namespace
