// SPDX-License-Identifier: BSL-1.0
// Many small systems of differential equations, each with its gradient: `ct::map` of a loop, against blocks of systems by hand.
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

#include <cstddef>
#include <tuple>
#include <utility>

namespace {

inline constexpr int systems = 1000, ode_steps = 100;
inline constexpr double h = 0.05; // of a step

/// The parameters p [systems, 4], and the states x, y at the begin. Blocks of `B` systems, whose states stay in a cache.
template <int B> void blocks_by_hand(double const* p, double const* x_first, double const* y_first, double* value, double* dp) {
  double total = 0;
  for (int first = 0; first < systems; first += B) {
    int const rows = first + B <= systems ? B : systems - first;
    double a[4][B], g[4][B]{}, x[ode_steps + 1][B], y[ode_steps + 1][B], dx[B]{}, dy[B]{};
    for (int i = 0; i < B; ++i) { // (the last block repeats its last system)
      int const at = first + (i < rows ? i : rows - 1);
      for (int k = 0; k < 4; ++k) a[k][i] = p[4 * at + k];
      x[0][i] = x_first[at], y[0][i] = y_first[at];
    }
    auto const slopes = [&](int i, double u, double v) { return std::pair(u * (a[0][i] - a[1][i] * v), v * (a[2][i] * u - a[3][i])); };
    for (int t = 0; t < ode_steps; ++t)
      for (int i = 0; i < B; ++i) {
        double const u = x[t][i], v = y[t][i];
        auto const [a1, b1] = slopes(i, u, v);
        auto const [a2, b2] = slopes(i, u + h / 2 * a1, v + h / 2 * b1);
        auto const [a3, b3] = slopes(i, u + h / 2 * a2, v + h / 2 * b2);
        auto const [a4, b4] = slopes(i, u + h * a3, v + h * b3);
        x[t + 1][i] = u + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4);
        y[t + 1][i] = v + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4);
      }
    for (int i = 0; i < rows; ++i) {
      double const u = x[ode_steps][i] - 1, v = y[ode_steps][i] - 1;
      total += u * u + v * v;
      dx[i] = 2 * u, dy[i] = 2 * v;
    }
    for (int t = ode_steps; t-- > 0;)
      for (int i = 0; i < B; ++i) {
        double const u = x[t][i], v = y[t][i];
        auto const [a1, b1] = slopes(i, u, v);
        double const u2 = u + h / 2 * a1, v2 = v + h / 2 * b1;
        auto const [a2, b2] = slopes(i, u2, v2);
        double const u3 = u + h / 2 * a2, v3 = v + h / 2 * b2;
        auto const [a3, b3] = slopes(i, u3, v3);
        double const u4 = u + h * a3, v4 = v + h * b3;
        auto const back = [&](double s, double r, double da, double db) { // the cotangents of s, r
          g[0][i] += da * s, g[1][i] -= da * s * r, g[2][i] += db * s * r, g[3][i] -= db * r;
          return std::pair(da * (a[0][i] - a[1][i] * r) + db * r * a[2][i], db * (a[2][i] * s - a[3][i]) - da * s * a[1][i]);
        };
        auto const [e4, f4] = back(u4, v4, h / 6 * dx[i], h / 6 * dy[i]);
        auto const [e3, f3] = back(u3, v3, h / 3 * dx[i] + h * e4, h / 3 * dy[i] + h * f4);
        auto const [e2, f2] = back(u2, v2, h / 3 * dx[i] + h / 2 * e3, h / 3 * dy[i] + h / 2 * f3);
        auto const [e1, f1] = back(u, v, h / 6 * dx[i] + h / 2 * e2, h / 6 * dy[i] + h / 2 * f2);
        dx[i] += e1 + e2 + e3 + e4;
        dy[i] += f1 + f2 + f3 + f4;
      }
    for (int i = 0; i < rows; ++i)
      for (int k = 0; k < 4; ++k) dp[4 * (first + i) + k] = g[k][i];
  }
  *value = total;
}

inline constexpr auto distance = [](auto all, auto x_first, auto y_first) {
  return ct::sum(ct::map([](auto p, auto x, auto y) {
    auto const slopes = [&](auto u, auto v) { return std::pair(u * (p(0) - p(1) * v), v * (p(2) * u - p(3))); };
    auto const [u, v] = ct::for_loop(ode_steps, [&](auto, auto s, auto r) {
      auto const [a1, b1] = slopes(s, r);
      auto const [a2, b2] = slopes(s + h / 2 * a1, r + h / 2 * b1);
      auto const [a3, b3] = slopes(s + h / 2 * a2, r + h / 2 * b2);
      auto const [a4, b4] = slopes(s + h * a3, r + h * b3);
      return std::tuple(s + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4), r + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4));
    }, x, y);
    return ct::square(u - 1.0) + ct::square(v - 1.0);
  }, all, x_first, y_first));
};

void measure(bench::suite& suite) {
  bench::buffer<double> p(4 * systems), x(systems), y(systems), dp(4 * systems), value(8);
  bench::numbers random;
  random.fill(p, .5, 1.5);
  random.fill(x, .5, 2.);
  random.fill(y, .5, 2.);
  double *const a = p.data(), *const u = x.data(), *const w = y.data(), *const d = dp.data(), *const v = value.data();
  bench::comparison c{"map: differential equations", "double", "1000x100", systems, {}, {}, {}, {}};
  c.results = {bench::written("value", v, 1, systems), bench::written("dp", d, 4 * systems, ode_steps)};
  c.hand = {bench::named("blocks of 8", [=] { blocks_by_hand<8>(a, u, w, v, d); }),
            bench::named("blocks of 16", [=] { blocks_by_hand<16>(a, u, w, v, d); })};
  using vector = ct::view<double const, systems>;
  c.ours = {bench::ours(ct::value_and_grad<0>(distance), bench::into(*v, ct::view<double, systems, 4>(d)),
                        ct::view<double const, systems, 4>(a), vector(u), vector(w))};
  suite.run(c);
}

bench::entry const e("map: differential equations", measure);

} // namespace
