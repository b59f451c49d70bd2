// SPDX-License-Identifier: BSL-1.0
// Grids in loops, with gradients, against reverse sweeps by hand: a stencil on a padded matrix, and a table that two nested loops fill.
#include "graphs.hpp"
#include "hand.hpp"
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

#include <cotangent/core/math/exp.hpp>
#include <cotangent/core/math/log.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace {

using namespace bench::hand;

// ---- the heat equation on a square whose border is cold: half the squared distance to a target after some steps

inline constexpr int side = 64, padded = side + 2, heat_steps = 100;
inline constexpr double rate = .1;

/// One step on a square with a border of zeros; its adjoint is itself.
void diffuse(double const* from, double* to) {
  for (int i = 1; i <= side; ++i) {
    double const *const row = from + padded * i, *const above = row - padded, *const below = row + padded;
    double* const out = to + padded * i;
    for (int j = 1; j <= side; ++j) out[j] = row[j] + rate * (((above[j] + below[j]) + (row[j - 1] + row[j + 1])) - 4 * row[j]);
  }
}
/// `memory`: two padded squares.
void heat_sweep(double const* u, double const* target, double* value, double* du, double* memory) {
  double *from = memory, *to = memory + padded * padded;
  std::memset(memory, 0, 2 * padded * padded * sizeof(double));
  for (int i = 0; i < side; ++i) std::copy(u + side * i, u + side * (i + 1), from + padded * (i + 1) + 1);
  for (int k = 0; k < heat_steps; ++k) {
    diffuse(from, to);
    std::swap(from, to);
  }
  double sum = 0;
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j) {
      double& x = from[padded * (i + 1) + j + 1];
      x -= target[side * i + j];
      sum += x * x;
    }
  *value = .5 * sum;
  for (int k = 0; k < heat_steps; ++k) {
    diffuse(from, to);
    std::swap(from, to);
  }
  for (int i = 0; i < side; ++i) std::copy(from + padded * (i + 1) + 1, from + padded * (i + 1) + 1 + side, du + side * i);
}

inline constexpr auto heat = [](auto u, auto target) {
  auto const last = ct::for_loop(heat_steps, [](auto, auto v) {
    auto const p = ct::pad<1, 1, 1, 1>(v);
    auto const inner = ct::range<1, -1>;
    return v + rate * (p(ct::range<0, -2>, inner) + p(ct::range<2>, inner) + p(inner, ct::range<0, -2>) + p(inner, ct::range<2>) - 4 * v);
  }, u);
  return .5 * ct::sum(ct::square(last - target));
};

void measure_heat(bench::suite& suite) {
  bench::buffer<double> u(side * side), target(side * side), du(side * side), value(8), memory(2 * padded * padded);
  bench::numbers random;
  random.fill(u, -1., 1.);
  random.fill(target, -1., 1.);
  double *const x = u.data(), *const t = target.data(), *const d = du.data(), *const v = value.data(), *const m = memory.data();
  bench::comparison c{"loop: heat equation, padded", "double", "64x64, 100", side * side, {}, {}, {}, {}};
  c.results = {bench::written("value", v, 1, side * side), bench::written("du", d, side * side, heat_steps)};
  c.hand = {bench::named("sweep", [=] { heat_sweep(x, t, v, d, m); })};
  using square = ct::view<double const, side, side>;
  bench::run_both<0>(suite, c, heat, bench::into(*v, ct::view<double, side, side>(d)), square(x), square(t));
}

// ---- soft dynamic time warping: the table of costs of aligned prefixes, smoothed by a soft minimum

inline constexpr int steps = 64, edge = steps + 1;
inline constexpr double far_away = 1e10;

/// `tape`: the table, and three weights of each cell.
template <double (*Exp)(double), double (*Log)(double)>
void warp_sweep(double const* cost, double* value, double* dcost, double* tape) {
  double *const table = tape, *const weights = tape + edge * edge;
  std::fill(table, table + edge * edge, far_away);
  table[0] = 0;
  for (int i = 0; i < steps; ++i)
    for (int j = 0; j < steps; ++j) {
      double const a = table[edge * i + j], b = table[edge * i + j + 1], c = table[edge * (i + 1) + j], low = std::min(a, std::min(b, c));
      double const p = Exp(low - a), q = Exp(low - b), r = Exp(low - c), sum = p + q + r;
      table[edge * (i + 1) + j + 1] = cost[steps * i + j] + low - Log(sum);
      double* const w = weights + 3 * (steps * i + j);
      w[0] = p / sum, w[1] = q / sum, w[2] = r / sum;
    }
  *value = table[edge * edge - 1];
  double* const d = table; // (no longer needed)
  std::fill(d, d + edge * edge, 0.);
  d[edge * edge - 1] = 1;
  for (int i = steps; i-- > 0;)
    for (int j = steps; j-- > 0;) {
      double const z = d[edge * (i + 1) + j + 1];
      double const* const w = weights + 3 * (steps * i + j);
      dcost[steps * i + j] = z;
      d[edge * i + j] += z * w[0], d[edge * i + j + 1] += z * w[1], d[edge * (i + 1) + j] += z * w[2];
    }
}
inline double own_exp(double x) { return math::exp(x); }
inline double own_log(double x) { return math::log(x); }
inline double std_exp(double x) { return std::exp(x); }
inline double std_log(double x) { return std::log(x); }

inline constexpr auto warp = [](auto cost) {
  auto const soft_minimum = [](auto a, auto b, auto c) {
    auto const low = ct::min(a, ct::min(b, c));
    return low - ct::log(ct::exp(low - a) + ct::exp(low - b) + ct::exp(low - c));
  };
  auto const start = ct::at(ct::full<edge, edge>(far_away) + 0 * cost(0, 0), 0, 0).set(0.);
  auto const table = ct::for_loop(steps, [&](auto i, auto above) {
    return ct::for_loop(steps, [&](auto j, auto t) {
      return ct::at(t, i + 1, j + 1).set(cost(i, j) + soft_minimum(t(i, j), t(i, j + 1), t(i + 1, j)));
    }, above);
  }, start);
  return table(steps, steps);
};

void measure_warp(bench::suite& suite) {
  bench::buffer<double> cost(steps * steps), dcost(steps * steps), value(8), tape(edge * edge + 3 * steps * steps);
  bench::numbers random;
  random.fill(cost, 0., 2.);
  double *const x = cost.data(), *const d = dcost.data(), *const v = value.data(), *const t = tape.data();
  bench::comparison c{"loop: soft time warping, table", "double", "64x64", steps * steps, {}, {}, {}, {}};
  c.results = {bench::written("value", v, 1, 10 * steps), bench::written("dcost", d, steps * steps, 10 * steps)};
  c.hand = {bench::named("sweep", [=] { warp_sweep<own_exp, own_log>(x, v, d, t); })};
  c.loops = {bench::named("loops", [=] { warp_sweep<std_exp, std_log>(x, v, d, t); })};
  using square = ct::view<double const, steps, steps>;
  bench::run_both<0>(suite, c, warp, bench::into(*v, ct::view<double, steps, steps>(d)), square(x));
}

bench::entry const e("loop: grids", [](bench::suite& suite) {
  measure_heat(suite);
  measure_warp(suite);
});

} // namespace
