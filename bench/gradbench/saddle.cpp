// SPDX-License-Identifier: BSL-1.0
#include "descent.hpp"
#include "tool.hpp"

namespace gradbench {
namespace {

inline constexpr auto objective = [](auto x1, auto y1, auto x2, auto y2) {
  return (ct::square(x1) + ct::square(y1)) - (ct::square(x2) + ct::square(y2));
};

/// Where the objective is largest over (x2, y2), by the descent of the suite from (x, y), in at most 2,000 trials. Its gradients
/// are by forward or by reverse mode. A point is its coordinates, the negated objective and the gradient of that.
template <bool Forward> inline constexpr auto best_response = [](auto x1, auto y1, auto x, auto y) {
  auto const slopes = [=](auto x2, auto y2) {
    if constexpr (Forward)
      return std::tuple(-ct::jvp<2>(objective)(x1, y1, x2, y2, 1.0).second, -ct::jvp<3>(objective)(x1, y1, x2, y2, 1.0).second);
    else {
      auto const [gx, gy] = ct::grad<2, 3>(objective)(x1, y1, x2, y2);
      return std::tuple(-gx, -gy);
    }
  };
  auto const [startx, starty] = slopes(x, y);
  auto const length = [](auto a, auto b) { return ct::square(a) + ct::square(b); };
  constexpr double limit = 1e-10; // of the squares of lengths
  auto const [lastx, lasty, value, gx, gy, eta, improved] = ct::while_loop<ct::loop{.max_iterations = 2000}>(
      [=](auto, auto, auto, auto, auto dx, auto dy, auto rate, auto count) {
        return length(dx, dy) > limit && (count == 10 || length(rate * dx, rate * dy) > limit);
      },
      [=](auto, auto px, auto py, auto here, auto dx, auto dy, auto rate, auto count) {
        auto const nextx = px - rate * dx, nexty = py - rate * dy, there = -objective(x1, y1, nextx, nexty);
        auto const [slopex, slopey] = slopes(nextx, nexty);
        auto const doubles = count == 10;
        auto const improves = !doubles && there < here;
        return std::tuple(ct::select(improves, nextx, px), ct::select(improves, nexty, py), ct::select(improves, there, here),
                          ct::select(improves, slopex, dx), ct::select(improves, slopey, dy),
                          ct::select(doubles, 2.0 * rate, ct::select(improves, rate, 0.5 * rate)),
                          ct::select(improves, count + 1, count * 0));
      },
      x, y, -objective(x1, y1, x, y), startx, starty, 1e-5, std::int64_t{0});
  return std::tuple(lastx, lasty);
};

template <bool Forward> inline constexpr auto largest = [](auto x1, auto y1, auto x, auto y) {
  auto const [x2, y2] = best_response<Forward>(x1, y1, x, y);
  return objective(x1, y1, x2, y2);
};
template <bool Inner> inline constexpr auto by_forward_mode = [](auto x1, auto y1, auto x, auto y) {
  auto const [value, dx] = ct::jvp<0>(largest<Inner>)(x1, y1, x, y, 1.0);
  return std::tuple(value, dx, ct::jvp<1>(largest<Inner>)(x1, y1, x, y, 1.0).second);
};
template <bool Inner> inline constexpr auto by_reverse_mode = ct::value_and_grad<0, 1>(largest<Inner>);

struct state {
  double startx, starty, x, y, value, dx, dy;
  std::array<double, 4> result;
};
template <auto const& F, auto const& Response> task solved(json const& input) {
  vector const start = read_vector(member(input, "start"));
  require(start.size() == 2, "start must have two numbers");
  auto s = std::make_shared<state>(state{start.data()[0], start.data()[1], 0, 0, 0, 0, 0, {}});
  auto const run = prepare(ct::compiled(F), std::tie(s->value, s->dx, s->dy), s->x, s->y, s->startx, s->starty);
  auto const respond =
      prepare(ct::compiled(Response), std::tie(s->result[2], s->result[3]), s->x, s->y, s->startx, s->starty);
  return {[s, run, respond] {
            auto const found = minimize<2>(
                [&](std::array<double, 2> const& at) {
                  s->x = at[0], s->y = at[1];
                  run();
                  return point_of_descent<2>{s->value, {s->dx, s->dy}};
                },
                {s->startx, s->starty});
            s->x = s->result[0] = found[0], s->y = s->result[1] = found[1];
            respond();
          },
          [s](json& to) { write(to, s->result); }};
}

} // namespace

problem saddle() {
  return {{"ff", solved<by_forward_mode<true>, best_response<true>>},
          {"fr", solved<by_forward_mode<false>, best_response<false>>},
          {"rf", solved<by_reverse_mode<true>, best_response<true>>},
          {"rr", solved<by_reverse_mode<false>, best_response<false>>}};
}

} // namespace gradbench
