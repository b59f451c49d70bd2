// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "allocations.hpp"
#include "catch.hpp"
#include "words.hpp"

#include <array>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

namespace {

namespace ct = cotangent;
using ct::dynamic::any_expr;
using ct::dynamic::expr;

// ---- the formulas, in plain scalar code

using numbers = std::vector<double>;
struct plain {
  numbers p, m, v;
  int step = 0;
};

void take_step(ct::sgd const& o, plain& s, numbers const& g) {
  for (std::size_t i = 0; i < g.size(); ++i) {
    double d = g[i] + o.weight_decay * s.p[i];
    s.m[i] = o.momentum * s.m[i] + (1 - o.dampening) * d;
    if (o.nesterov) d += o.momentum * s.m[i];
    else if (o.momentum != 0) d = s.m[i];
    s.p[i] -= o.learning_rate * d;
  }
}
template <class O> numbers direction(O const& o, plain& s, numbers const& g) {
  numbers d(g.size());
  ++s.step;
  for (std::size_t i = 0; i < g.size(); ++i) {
    s.m[i] = o.beta1 * s.m[i] + (1 - o.beta1) * g[i];
    s.v[i] = o.beta2 * s.v[i] + (1 - o.beta2) * g[i] * g[i];
    double const m = s.m[i] / (1 - std::pow(o.beta1, s.step)), v = s.v[i] / (1 - std::pow(o.beta2, s.step));
    d[i] = m / (std::sqrt(v) + o.epsilon);
  }
  return d;
}
void take_step(ct::adam const& o, plain& s, numbers g) {
  for (std::size_t i = 0; i < g.size(); ++i) g[i] += o.weight_decay * s.p[i];
  numbers const d = direction(o, s, g);
  for (std::size_t i = 0; i < g.size(); ++i) s.p[i] -= o.learning_rate * d[i];
}
void take_step(ct::adamw const& o, plain& s, numbers const& g) {
  numbers const d = direction(o, s, g);
  for (std::size_t i = 0; i < g.size(); ++i) s.p[i] -= o.learning_rate * (d[i] + o.weight_decay * s.p[i]);
}
void take_step(ct::rmsprop const& o, plain& s, numbers const& g) {
  for (std::size_t i = 0; i < g.size(); ++i) {
    double const d = g[i] + o.weight_decay * s.p[i];
    s.m[i] = o.alpha * s.m[i] + (1 - o.alpha) * d * d;
    s.v[i] = o.momentum * s.v[i] + d / (std::sqrt(s.m[i]) + o.epsilon);
    s.p[i] -= o.learning_rate * s.v[i];
  }
}
void take_step(ct::lamb const& o, plain& s, numbers const& g) {
  numbers d = direction(o, s, g);
  double length = 0, of_step = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    d[i] += o.weight_decay * s.p[i];
    length += s.p[i] * s.p[i];
    of_step += d[i] * d[i];
  }
  double const ratio = length > 0 && of_step > 0 ? std::sqrt(length / of_step) : 1;
  for (std::size_t i = 0; i < g.size(); ++i) s.p[i] -= o.learning_rate * ratio * d[i];
}

/// A gradient that differs from step to step, and is 0 at one place.
numbers gradient_at(int k) {
  numbers g(7);
  for (int i = 0; i < 7; ++i)
    g[static_cast<std::size_t>(i)] = i == 3 ? 0.0 : std::sin(1.7 * k + 0.9 * i) + 0.1 * i;
  return g;
}

template <class T, class O> void follows_the_formula(O const& o, numbers const& start, double tolerance) {
  ct::dynamic::graph g;
  auto w = g.parameter<T>("w", {7}), dw = g.input<T>("dw", {7});
  auto step = g.apply_gradients(o, {w}, {dw});
  auto p = g.compile({}, {}, {.updates = step.updates});
  std::vector<T> at(start.begin(), start.end()), now(7);
  p.bind(w, at);
  p.bind(dw, now);
  plain s{start, numbers(7), numbers(7)};
  for (int k = 0; k < 9; ++k) {
    numbers const d = gradient_at(k);
    now.assign(d.begin(), d.end());
    p.run();
    take_step(o, s, numbers(now.begin(), now.end()));
    for (std::size_t i = 0; i < 7; ++i) CHECK(at[i] == Approx(s.p[i]).epsilon(tolerance).margin(tolerance));
  }
  if (O::counts) CHECK(static_cast<std::int64_t>(p.value(step.count)) == 9);
}
template <class O> void follows_the_formula(O const& o) {
  INFO("rate " << o.learning_rate << ", decay " << o.weight_decay);
  for (numbers const& start : {numbers{1, -2, 0.5, 3, 0, -0.25, 8}, numbers(7)}) {
    follows_the_formula<double>(o, start, 1e-13);
    follows_the_formula<float>(o, start, 3e-6);
  }
}

TEST_CASE("each optimizer follows its formula over several steps", "[optimizers]") {
  follows_the_formula(ct::sgd{});
  follows_the_formula(ct::sgd{.learning_rate = 0.1, .weight_decay = 0.3});
  follows_the_formula(ct::sgd{.learning_rate = 0.1, .momentum = 0.9});
  follows_the_formula(ct::sgd{.learning_rate = 0.1, .momentum = 0.8, .dampening = 0.5, .weight_decay = 0.1});
  follows_the_formula(ct::sgd{.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.1, .nesterov = true});
  follows_the_formula(ct::adam{});
  follows_the_formula(
      ct::adam{.learning_rate = 0.1, .beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-3, .weight_decay = 0.2});
  follows_the_formula(ct::adamw{.learning_rate = 0.1});
  follows_the_formula(
      ct::adamw{.learning_rate = 0.02, .beta1 = 0.5, .beta2 = 0.7, .epsilon = 1e-4, .weight_decay = 0.4});
  follows_the_formula(ct::rmsprop{});
  follows_the_formula(
      ct::rmsprop{.learning_rate = 0.1, .alpha = 0.9, .epsilon = 1e-3, .momentum = 0.7, .weight_decay = 0.1});
  follows_the_formula(ct::lamb{.learning_rate = 0.1});
  follows_the_formula(
      ct::lamb{.learning_rate = 0.1, .beta1 = 0.6, .beta2 = 0.8, .epsilon = 1e-3, .weight_decay = 0.05});
}

TEST_CASE("the comparison notices a wrong reference", "[optimizers]") {
  ct::dynamic::graph g;
  auto w = g.parameter<double>("w", {7}), dw = g.input<double>("dw", {7});
  auto p = g.compile({}, {}, {.updates = g.apply_gradients(ct::sgd{.momentum = 0.9}, {w}, {dw}).updates});
  numbers at(7), now = gradient_at(0);
  p.bind(w, at);
  p.bind(dw, now);
  plain s{at, numbers(7), numbers(7)};
  for (int k = 0; k < 2; ++k) {
    p.run();
    take_step(ct::sgd{.momentum = 0.8}, s, now);
  }
  CHECK(at[1] != Approx(s.p[1]).epsilon(1e-6));
}

TEST_CASE("gradient descent refuses momentum without a velocity", "[optimizers]") {
  ct::dynamic::graph g;
  auto w = g.input<double>("w", {7}), dw = g.input<double>("dw", {7});
  CHECK_THROWS_AS((ct::sgd{.momentum = 0.9}.update(w, dw)), ct::graph_error);
  CHECK_NOTHROW((ct::sgd{.learning_rate = 0.5}.update(w, dw)));
}

inline constexpr auto two_steps = [](auto p, auto gradient, auto m, auto v) {
  auto step = ct::sum(gradient) * 0.0 + 1.0;
  ct::adam const by{.learning_rate = 0.1, .weight_decay = 0.01};
  by.update(p, gradient, m, v, step);
  by.update(p, 2.0 * gradient, m, v, step + 1.0);
  ct::sgd{.learning_rate = 0.1}.update(p, gradient);
  return p;
};

TEST_CASE("optimizers work on expressions: in traced functions, and through their own gradients",
          "[optimizers]") {
  ct::tensor<double, 3> const p{1, -2, 0.5}, d{0.3, -0.1, 2}, zero{0, 0, 0};
  plain s{{1, -2, 0.5}, numbers(3), numbers(3)};
  ct::adam const by{.learning_rate = 0.1, .weight_decay = 0.01};
  take_step(by, s, {0.3, -0.1, 2});
  take_step(by, s, {0.6, -0.2, 4});
  take_step(ct::sgd{.learning_rate = 0.1}, s, {0.3, -0.1, 2});
  auto const fixed = ct::compiled(two_steps)(p, d, zero, zero);
  for (int i = 0; i < 3; ++i) CHECK(fixed(i) == Approx(s.p[static_cast<std::size_t>(i)]).epsilon(1e-13));

  // how what was learnt depends on the gradient: by differences
  constexpr auto learnt = [](auto g) {
    auto const none = ct::zeros<3>();
    auto const start = g * 0.0 + 1.0;
    return ct::sum(ct::square(two_steps(start, g, start * 0.0 + none, start * 0.0)));
  };
  auto const slope = ct::grad(learnt)(d);
  for (int i = 0; i < 3; ++i) {
    ct::tensor<double, 3> up = d, down = d;
    up(i) += 1e-5;
    down(i) -= 1e-5;
    double const difference = (ct::compiled(learnt)(up) - ct::compiled(learnt)(down)) / 2e-5;
    CHECK(slope(i) == Approx(difference).epsilon(1e-6));
  }
}

template <template <class, ct::extent...> class Tensor> struct weights {
  BOOST_HANA_DEFINE_STRUCT(weights, (Tensor<double, 2>, w), (Tensor<double>, b));
};
struct scaled_descent { // an optimizer of a user, whose update takes a rate in any case
  double learning_rate = 0.25;
  static constexpr int states = 1;
  static constexpr bool counts = true;
  constexpr int slots() const { return 1; }
  template <class X, class State, class Step, class Rate>
  constexpr void update(X& p, X const& gradient, State& sum, Step const& step, Rate const& by) const {
    sum = sum + gradient;
    p = p - by * sum / step;
  }
};
TEST_CASE("update_all gives an optimizer of a user its learning rate", "[optimizers]") {
  using pair = std::array<ct::tensor<double, 2>, 2>;
  pair const p{{{1, 2}, {3, 4}}}, g{{{4, 8}, {12, 16}}};
  auto const [own, given] = ct::compiled([](auto x, auto slope, auto sum) {
    auto y = x, before = sum;
    ct::update_all(scaled_descent{}, x, slope, sum, 2);
    ct::update_all(scaled_descent{}, y, slope, before, 2, 0.5);
    return std::tuple(x, y);
  })(p, g, pair{});
  CHECK((own[0](1) == 1 && own[1](0) == 1.5 && given[0](1) == 0 && given[1](0) == 0));
}
TEST_CASE("update_all updates each leaf of a tree as update does alone", "[optimizers]") {
  using tree = std::tuple<weights<ct::tensor>, std::array<ct::tensor<double, 2>, 2>>;
  tree p, g, m{}, v{};
  double number = 0.25;
  for (tree* const t : {&p, &g}) {
    auto& [s, a] = *t;
    for (double* const x : {&s.w(0), &s.w(1), &s.b(), &a[0](0), &a[0](1), &a[1](0), &a[1](1)}) *x = number = -1.25 * number;
  }
  auto const all = [](auto optimizer) {
    return [](auto q, auto slope, auto first, auto second, auto step) {
      constexpr auto by = decltype(optimizer){};
      if constexpr (by.counts) ct::update_all(by, q, slope, first, second, step);
      else ct::update_all(by, q, slope, first, second);
      return std::tuple(q, first, second);
    };
  };
  auto const one = [](auto optimizer) {
    return [](auto q, auto slope, auto first, auto second, auto step) {
      constexpr auto by = decltype(optimizer){};
      if constexpr (by.counts) by.update(q, slope, first, second, step);
      else by.update(q, slope, first, second);
      return std::tuple(q, first, second);
    };
  };
  auto const agree = [&](auto optimizer) {
    auto const [q, first, second] = ct::compiled(all(optimizer))(p, g, m, v, 3.0);
    auto const same = [&](auto const& before, auto const& slope, auto const& after, auto const& state) {
      auto const zero = 0 * ct::compiled([](auto x) { return ct::sum(x); })(before);
      auto const none = ct::compiled([](auto x, auto z) { return 0 * x + z; })(before, zero);
      auto const [wanted, wanted_state, unused] = ct::compiled(one(optimizer))(before, slope, none, none, 3.0);
      for (std::int64_t k = 0; k < before.size(); ++k) {
        CHECK(after.data()[k] == Approx(wanted.data()[k]).epsilon(1e-14));
        CHECK(state.data()[k] == Approx(wanted_state.data()[k]).epsilon(1e-14));
        CHECK(after.data()[k] != before.data()[k]);
      }
    };
    same(std::get<0>(p).w, std::get<0>(g).w, std::get<0>(q).w, std::get<0>(first).w);
    for (std::size_t k : {0u, 1u}) same(std::get<1>(p)[k], std::get<1>(g)[k], std::get<1>(q)[k], std::get<1>(first)[k]);
    CHECK(std::get<0>(q).b() != std::get<0>(p).b());
  };
  agree(ct::adam{});
  agree(ct::rmsprop{});
  agree(ct::lamb{});
  // Without states: two trees only.
  auto const q = ct::compiled([](auto x, auto slope) {
    ct::update_all(ct::sgd{.learning_rate = 0.5}, x, slope);
    return x;
  })(p, g);
  CHECK(std::get<0>(q).b() == std::get<0>(p).b() - 0.5 * std::get<0>(g).b());
  CHECK(std::get<1>(q)[1](1) == std::get<1>(p)[1](1) - 0.5 * std::get<1>(g)[1](1));
  // A learning rate after the states and the step.
  auto const with_rates = ct::compiled([](auto x, auto slope, auto first, auto second, auto rate) {
    auto y = x, z = x;
    ct::update_all(ct::sgd{}, x, slope, first, rate);
    ct::update_all(ct::adam{}, y, slope, first, second, 1, rate);
    ct::update_all(ct::rmsprop{}, z, slope, first, second, 0.125);
    return std::tuple(x, y, z);
  })(p, g, m, v, 0.5);
  auto const as_settings = ct::compiled([](auto x, auto slope, auto first, auto second) {
    auto y = x, z = x;
    ct::update_all(ct::sgd{.learning_rate = 0.5}, x, slope, first);
    ct::update_all(ct::adam{.learning_rate = 0.5}, y, slope, first, second, 1);
    ct::update_all(ct::rmsprop{.learning_rate = 0.125}, z, slope, first, second);
    return std::tuple(x, y, z);
  })(p, g, m, v);
  auto const compare = [](auto const& a, auto const& b) {
    CHECK(std::get<0>(a).b() == std::get<0>(b).b());
    CHECK(std::get<1>(a)[1](1) == std::get<1>(b)[1](1));
  };
  compare(std::get<0>(with_rates), std::get<0>(as_settings));
  compare(std::get<1>(with_rates), std::get<1>(as_settings));
  compare(std::get<2>(with_rates), std::get<2>(as_settings));
}

// ---- optimizers of a dynamic graph

/// b = a w^T + bias, loss sum(b * b).
struct fitting {
  ct::dynamic::graph g;
  expr<double> a = g.constant(std::vector<double>{10, 1, 3, 5}, {2, 2}),
               bias = g.constant(std::vector<double>{1, -1});
  expr<double> w = g.parameter<double>("w", {2, 2});
  expr<double> b = ct::matmul(a, ct::transpose(w)) + bias, loss = ct::sum(b * b);
  std::vector<double> at{0.31, -0.42, 0.07, 0.26};

  void check(double first, double second) const {
    CHECK(10 * at[0] + at[1] == Approx(-1).margin(first));
    CHECK(10 * at[2] + at[3] == Approx(1).margin(first));
    CHECK(3 * at[0] + 5 * at[1] == Approx(-1).margin(second));
    CHECK(3 * at[2] + 5 * at[3] == Approx(1).margin(second));
  }
};

TEST_CASE("gradient descent with a decreasing rate fits a linear layer in 1000 steps", "[optimizers]") {
  fitting f;
  auto step = f.g.minimize(
      f.loss, ct::sgd{.learning_rate = 0.001, .momentum = 0.9, .dampening = 0.9, .weight_decay = 0.995}, {f.w});
  auto p = f.g.compile({f.loss}, {}, {.updates = step.updates});
  p.bind(f.w, f.at);
  p.run();
  double const first = p.value(f.loss);
  for (int k = 1; k < 1000; ++k) {
    if (k % 250 == 0) p.bind(step.learning_rate, std::pow(10.0, -3 - k / 250));
    p.run();
  }
  f.check(1e-3, 0.1);
  CHECK(p.value(f.loss) < 1e-4 * first);
}

template <class O> void fits(O const& o, double first = 0.1) {
  fitting f;
  auto step = f.g.minimize(f.loss, o, {f.w});
  auto p = f.g.compile({}, {}, {.updates = step.updates});
  p.bind(f.w, f.at);
  for (int k = 0; k < 1000; ++k) p.run();
  f.check(first, 0.1);
}

TEST_CASE("the other optimizers fit a linear layer in 1000 steps", "[optimizers]") {
  fits(ct::adam{.learning_rate = 0.002, .beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-9});
  fits(ct::adamw{.learning_rate = 0.002, .beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-9});
  fits(ct::rmsprop{.learning_rate = 0.001, .alpha = 0.9, .epsilon = 1e-9, .momentum = 0.9, .weight_decay = 1e-4});
  fits(ct::rmsprop{.learning_rate = 0.002, .alpha = 0.9});
  fits(ct::lamb{.learning_rate = 0.004, .beta2 = 0.98});
}

TEST_CASE("gradients of several runs are summed, and applied once", "[optimizers]") {
  fitting f, twice;
  // once, with the gradient of the sum
  auto direct = f.g.minimize(f.loss + f.loss * 3.0, ct::sgd{.learning_rate = 1e-3}, {f.w});
  auto p = f.g.compile({}, {}, {.updates = direct.updates});
  p.bind(f.w, f.at);
  // two runs of a program that adds to what there is, one that applies and clears
  auto& g = twice.g;
  auto total = g.state<double>("total", {2, 2}), scale = g.input<double>("scale");
  auto dw = g.gradient({twice.loss * scale}, {twice.w}).front();
  auto step = g.apply_gradients(ct::sgd{.learning_rate = 1e-3}, {twice.w}, {total});
  auto backward = g.compile({}, {}, {.updates = {{total, total + dw}}});
  auto updates = step.updates;
  updates.push_back({total, total * 0.0});
  auto apply = g.compile({}, {}, {.updates = updates});
  std::vector<double> sum(4);
  for (auto* const q : {&backward, &apply}) {
    q->bind(twice.w, twice.at);
    q->bind(total, sum);
  }
  for (int k = 0; k < 3; ++k) {
    p.run();
    for (double const s : {1.0, 3.0}) {
      backward.bind(scale, s);
      backward.run();
    }
    CHECK(sum[0] != 0);
    apply.run();
    CHECK(sum == std::vector<double>(4));
    for (std::size_t i = 0; i < 4; ++i) CHECK(twice.at[i] == Approx(f.at[i]).epsilon(1e-13));
  }
}

TEST_CASE("inputs are trained too: the gradients of (w a + bias - b)^2 with a shared weight",
          "[optimizers]") {
  ct::dynamic::graph g;
  auto w = g.parameter<double>("w"), bias = g.parameter<double>("bias");
  auto a = g.input<double>("a"), b = g.input<double>("b");
  auto const loss = ct::square(w * a + bias - b);
  auto step = g.minimize(loss, ct::sgd{.learning_rate = 0.5}, {w, bias, a, b});
  std::vector<any_expr> results = step.gradients;
  auto p = g.compile(results, {}, {.updates = step.updates});
  double vw = 1.5, vbias = -0.25, va = 2, vb = 4;
  p.bind(w, vw);
  p.bind(bias, vbias);
  p.bind(a, va);
  p.bind(b, vb);
  double const off = vw * va + vbias - vb, da = 2 * vw * off, db = -2 * off, dw = 2 * va * off;
  p.run();
  CHECK(p.value(step.gradients[2].as<double>())() == Approx(da));
  CHECK(p.value(step.gradients[3].as<double>())() == Approx(db));
  CHECK(vw == Approx(1.5 - 0.5 * dw));
  CHECK(va == Approx(2 - 0.5 * da));
  CHECK(vb == Approx(4 - 0.5 * db));
}

// ---- updates

TEST_CASE("updates happen all at once, from the old values", "[optimizers]") {
  ct::dynamic::graph g;
  auto x = g.input<double>("x", {3}), y = g.input<double>("y", {3});
  auto n = g.state<std::int64_t>("n");
  auto p = g.compile({}, {}, {.updates = {{x, y}, {y, x + y}, {n, n + 1}}});
  std::vector<double> vx{1, 2, 3}, vy{10, 20, 30};
  p.bind(x, vx);
  p.bind(y, vy);
  p.run();
  CHECK(vx == std::vector<double>{10, 20, 30});
  CHECK(vy == std::vector<double>{11, 22, 33});
  p.run();
  CHECK(vx == std::vector<double>{11, 22, 33});
  CHECK(vy == std::vector<double>{21, 42, 63});
  CHECK(p.value(n) == 2);
}

TEST_CASE("two inputs may be updated by the same value, also if it is a result", "[optimizers]") {
  ct::dynamic::graph g;
  auto x = g.input<double>("x", {2}), y = g.input<double>("y", {2});
  auto z = x * y;
  auto p = g.compile({z}, {}, {.updates = {{x, z}, {y, z}}});
  std::vector<double> vx{1, 2}, vy{3, 4};
  p.bind(x, vx);
  p.bind(y, vy);
  p.run();
  CHECK(vx == std::vector<double>{3, 8});
  CHECK(vy == vx);
  CHECK(p.value(z)(1) == 8);
}

TEST_CASE("a copy of a program has its own optimizer states", "[optimizers]") {
  ct::dynamic::graph g;
  auto x = g.input<double>("x"), sum = g.state<double>("sum");
  auto p = g.compile({sum * 2.0}, {}, {.updates = {{sum, sum + x}}});
  p.bind(x, 1.0);
  p.run();
  p.run();
  auto q = p;
  q.bind(x, 10.0);
  q.run();
  CHECK(q.value(sum) == 12);
  CHECK(p.value(sum) == 2);
  p.run();
  CHECK(p.value(sum) == 3);
  CHECK(q.value(sum) == 12);
  double mine = 100;
  p.bind(sum, mine);
  p.run();
  CHECK(mine == 101);
}

TEST_CASE("a step of training allocates nothing after the first", "[optimizers]") {
  fitting f;
  auto step = f.g.minimize(f.loss, ct::lamb{}, {f.w});
  auto p = f.g.compile({f.loss}, {}, {.updates = step.updates});
  p.bind(f.w, f.at);
  p.run();
  long const before = allocations;
  for (int k = 0; k < 10; ++k) p.run();
  CHECK(allocations == before);
}

TEST_CASE("expressions that cannot be minimized or updated are refused, and the graph stays unchanged",
          "[optimizers]") {
  ct::dynamic::graph g;
  auto x = g.parameter<double>("x", {3}), y = ct::exp(x);
  auto n = g.input<std::int64_t>("n");
  auto f = g.input<float>("f", {3});
  auto z = g.input<double>("z", {2});
  auto loss = ct::sum(y);
  auto const nodes = g.get().nodes.size();
  auto const tensors = g.get().tensors.size();
  ct::adam const adam;
  using list = std::vector<any_expr>;
  auto const refusal = [&](auto const& what) {
    std::string said = words_of<ct::error>(what);
    CHECK(g.get().nodes.size() == nodes);
    CHECK(g.get().tensors.size() == tensors);
    return said;
  };
  CHECK(has(refusal([&] { g.minimize(loss, adam, {y}); }), "must be an input of the graph"));
  CHECK(has(refusal([&] { g.minimize(loss, adam, {x, x}); }), "by one value only"));
  CHECK(has(refusal([&] { g.minimize(y, adam, {x}); }), "scalar"));
  CHECK(has(refusal([&] { g.minimize(loss, adam, {n}); }), "float"));
  CHECK(has(refusal([&] { g.apply_gradients(adam, list{n}, list{n}); }), "float"));
  CHECK(has(refusal([&] { g.apply_gradients(adam, list{x}, list{}); }),
            "one gradient for each parameter (0 and 1)"));
  CHECK(has(refusal([&] { g.apply_gradients(adam, list{}, list{}); }), "there must be parameters to update"));
  CHECK(has(refusal([&] { g.minimize(loss, adam, list{}); }), "there must be parameters to update"));
  CHECK(has(refusal([&] { g.apply_gradients(adam, list{x}, list{z}); }), "x double [3] and z double [2]"));
  CHECK(has(refusal([&] { g.apply_gradients(adam, list{x}, list{f}); }), "element and the shape"));
  CHECK(has(refusal([&] { g.compile({}, {}, {.updates = {{y, x}}}); }), "must be an input of the graph"));
  CHECK(has(refusal([&] { g.compile({}, {}, {.updates = {{x, y}, {x, x}}}); }), "by one value only"));
  CHECK(has(refusal([&] { g.compile({}, {}, {.updates = {{x, z}}}); }), "element and the shape"));

  auto p = g.compile({}, {}, {.updates = {{x, y}}});
  std::vector<double> const fixed{1, 2, 3};
  CHECK(has(words_of<ct::graph_error>([&] { p.run(); }), "must be bound"));
  p.bind(x, fixed);
  CHECK(has(words_of<ct::graph_error>([&] { p.run(); }), "memory that can be written; it is x double [3]"));
  p.bind(x, {1.0, 2.0, 3.0}); // a memory of the program's
  p.run();
  CHECK(p.value(x)(1) == Approx(std::exp(2.0)));
}

template <class O> void check_settings(bool fit, O const& optimizer) {
  ct::dynamic::graph g;
  auto const x = g.parameter<double>("x", {2});
  auto const words = words_of<ct::graph_error>([&] { (void)g.minimize(ct::sum(x), optimizer, {x}); });
  CHECK(fit == has(words, "nothing was thrown"));
  if (!fit) CHECK((has(words, "optimizer: momentum, alpha, beta1 and beta2 must be at least 0") && has(words, "optimizers.cpp")));
}

TEST_CASE("Settings that an optimizer cannot use are refused where it is given parameters") {
  check_settings(true, ct::sgd{.learning_rate = -1, .momentum = 0});
  check_settings(false, ct::sgd{.learning_rate = NAN});
  check_settings(false, ct::sgd{.momentum = 1});
  check_settings(false, ct::sgd{.weight_decay = INFINITY});
  check_settings(false, ct::sgd{.nesterov = true});
  check_settings(true, ct::sgd{.momentum = 0.5, .nesterov = true});
  check_settings(true, ct::adam{.beta1 = 0, .epsilon = 0});
  check_settings(false, ct::adam{.beta1 = 2});
  check_settings(false, ct::adamw{.beta2 = 1});
  check_settings(false, ct::lamb{.epsilon = -1});
  check_settings(false, ct::rmsprop{.alpha = -0.5});
  check_settings(false, ct::rmsprop{.learning_rate = NAN});
  ct::dynamic::graph g;
  auto const x = g.parameter<double>("x", {2});
  auto p = x;
  CHECK(refused<ct::graph_error>("and all settings finite", [&] { ct::sgd{.learning_rate = NAN}.update(p, x); }));
  static_assert(ct::adam{}.settings_fit() && !ct::adam{.beta1 = 1}.settings_fit());
}

} // namespace
