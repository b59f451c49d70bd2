// SPDX-License-Identifier: BSL-1.0
#include "descent.hpp"
#include "tool.hpp"

namespace gradbench {
namespace {

inline constexpr auto potential = [](auto x, auto y, auto w) {
  auto const distance = [&](auto height) { return ct::sqrt(ct::square(x - 10.0) + ct::square(y - height)); };
  return 1.0 / distance(10.0 - w) + 1.0 / distance(0.0 * w);
};

/// The square of the position where the particle crosses the axis. Its acceleration is a derivative, by forward or by reverse
/// mode. A particle that does not arrive in 10,000 steps counts from its last step.
template <bool Forward> inline constexpr auto arrival = [](auto w) {
  constexpr double dt = 0.1;
  auto const [x, y, u, v] = ct::while_loop<ct::loop{.max_iterations = 10000}>(
      [](auto, auto, auto py, auto, auto pv) { return py + dt * pv > 0.0; },
      [w](auto, auto px, auto py, auto pu, auto pv) {
        if constexpr (Forward) {
          auto const ax = ct::jvp<0>(potential)(px, py, w, 1.0).second, ay = ct::jvp<1>(potential)(px, py, w, 1.0).second;
          return std::tuple(px + dt * pu, py + dt * pv, pu - dt * ax, pv - dt * ay);
        } else {
          auto const [ax, ay] = ct::grad<0, 1>(potential)(px, py, w);
          return std::tuple(px + dt * pu, py + dt * pv, pu - dt * ax, pv - dt * ay);
        }
      },
      0.0, 8.0, 0.75, 0.0);
  return ct::square(x + dt * u - (y + dt * v) * u / v);
};

template <bool Inner> inline constexpr auto by_forward_mode = [](auto w) { return ct::jvp(arrival<Inner>)(w, 1.0); };
template <bool Inner> inline constexpr auto by_reverse_mode = ct::value_and_grad(arrival<Inner>);

struct state {
  double start, w, value, derivative, result;
};
template <auto const& F> task minimized(json const& input) {
  auto s = std::make_shared<state>(state{read_number(member(input, "w")), 0, 0, 0, 0});
  auto const run = prepare(ct::compiled(F), std::tie(s->value, s->derivative), s->w);
  return {[s, run] {
            s->result = minimize<1>(
                [&](std::array<double, 1> const& w) {
                  s->w = w[0];
                  run();
                  return point_of_descent<1>{s->value, {s->derivative}};
                },
                {s->start})[0];
          },
          [s](json& to) { write(to, s->result); }};
}

} // namespace

problem particle() {
  return {{"ff", minimized<by_forward_mode<true>>},
          {"fr", minimized<by_forward_mode<false>>},
          {"rf", minimized<by_reverse_mode<true>>},
          {"rr", minimized<by_reverse_mode<false>>}};
}

} // namespace gradbench
