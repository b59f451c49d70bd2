// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include <cmath>
#include <tuple>
#include <vector>

// The code of docs/how-to/training.md.

namespace {

namespace ct = cotangent;

TEST_CASE("documented: minimize", "[documented]") {
  // [minimize]
  ct::dynamic::graph g;
  auto x = g.input<double>("x", {4}), y = g.input<double>("y", {4});
  auto slope = g.parameter<double>("slope"), start = g.parameter<double>("start");
  auto loss = ct::mean(ct::square(slope * x + start - y));
  auto step = g.minimize(loss, ct::adam{.learning_rate = 0.1}, {slope, start});

  auto p = g.compile({loss}, {}, {.updates = step.updates});
  std::vector<double> xs{0, 1, 2, 3}, ys{1, 3, 5, 7};
  double a = 0, b = 0; // what is learnt, where it lies
  p.bind(x, xs);
  p.bind(y, ys);
  p.bind(slope, a);
  p.bind(start, b);
  for (int k = 0; k < 500; ++k) p.run();
  // [/minimize]
  CHECK(a == Approx(2).epsilon(1e-3));
  CHECK(b == Approx(1).epsilon(1e-2));
  CHECK(p.value(step.count) == 500);
  double const before = a;
  // [learning rate]
  p.bind(step.learning_rate, 0.01);
  p.run();
  // [/learning rate]
  CHECK(std::abs(a - before) <= 0.01);
}

TEST_CASE("documented: gradients of several batches", "[documented]") {
  ct::dynamic::graph g;
  auto x = g.input<double>("x", {2}), y = g.input<double>("y", {2}), slope = g.parameter<double>("slope");
  auto loss = ct::sum(ct::square(slope * x - y));
  // [accumulate]
  auto total = g.state<double>("total");
  auto gradient = g.gradient({loss}, {slope}).front();
  auto step = g.apply_gradients(ct::sgd{.learning_rate = 0.01}, {slope}, {total});

  auto add = g.compile({}, {}, {.updates = {{total, total + gradient}}});
  auto updates = step.updates;
  updates.push_back({total, g.constant(0.0)});
  auto apply = g.compile({}, {}, {.updates = updates});

  double a = 0, sum = 0; // both programs share them
  for (auto* p : {&add, &apply}) {
    p->bind(slope, a);
    p->bind(total, sum);
  }
  for (std::vector<double> batch : {std::vector<double>{1, 2}, {3, 4}}) {
    add.bind(x, batch);
    add.bind(y, batch);
    add.run();
  }
  apply.run();
  // [/accumulate]
  CHECK(sum == 0);
  CHECK(a == Approx(0.01 * 2 * (1 + 4 + 9 + 16)));
}

// [traced]
inline constexpr auto descend = [](auto w, auto gradient, auto velocity) {
  ct::sgd{.learning_rate = 0.1, .momentum = 0.9}.update(w, gradient, velocity);
  return std::tuple(w, velocity);
};
// [/traced]

TEST_CASE("documented: a traced step", "[documented]") {
  ct::tensor<double, 2> const w{1, 2}, gradient{3, -4}, velocity{0.5, 0};
  auto const [next, faster] = ct::compiled(descend)(w, gradient, velocity);
  CHECK(faster(0) == Approx(3.45));
  CHECK(next(0) == Approx(1 - 0.345));
  CHECK(next(1) == Approx(2.4));
}

// [own]
struct sign_descent {
  double learning_rate = 0.01;
  static constexpr int states = 0;      // tensors that it remembers for each parameter
  static constexpr bool counts = false; // it is not told the number of the step
  int slots() const { return 0; }
  template <class X, class Rate> void update(X& p, X const& gradient, Rate const& by) const {
    p = p - by * ct::sign(gradient);
  }
};
// [/own]

TEST_CASE("documented: a user-defined optimizer", "[documented]") {
  ct::dynamic::graph g;
  auto x = g.parameter<float>("x", {3});
  auto p =
      g.compile({}, {}, {.updates = g.minimize(ct::sum(ct::square(x)), sign_descent{0.25}, {x}).updates});
  std::vector<float> at{1, -2, 0};
  p.bind(x, at);
  p.run();
  CHECK(at == std::vector<float>{0.75f, -1.75f, 0});
}

} // namespace
