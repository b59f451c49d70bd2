// SPDX-License-Identifier: BSL-1.0
#include "ways.hpp"

#include <cotangent/dynamic.hpp>

#include "functions.hpp"

#include <memory>
#include <utility>

namespace choose {

namespace {

task gradient_of(std::vector<double> const& w_, std::vector<double> const& x_) {
  auto const n = static_cast<std::int64_t>(w_.size());
  // [graph]
  ct::dynamic::graph g;
  auto const w = g.input<double>("w", {n}), x = g.input<double>("x", {n});
  auto const value = loss(w, x);
  auto const dw = g.gradient({value}, {w}).front();
  auto p = std::make_shared<ct::dynamic::program>(g.compile({value, dw}));
  // [/graph]
  p->bind(w, w_);
  p->bind(x, x_);
  auto const owner = std::make_shared<ct::dynamic::graph>(std::move(g));
  return [p, owner, value, dw] {
    p->run();
    return double(p->value(value)) + p->value(dw).data()[0];
  };
}

task loop_from(std::vector<double> const& start, bool scalar) {
  ct::dynamic::graph g;
  auto const x = scalar ? g.input<double>("x") : g.input<double>("x", {static_cast<std::int64_t>(start.size())});
  auto const value = ct::sum(ct::for_loop(iterations, [](auto, auto s) { return iteration(s); }, x));
  auto const dx = g.gradient({value}, {x}).front();
  auto p = std::make_shared<ct::dynamic::program>(g.compile({value, dx}));
  p->bind(x, start);
  auto const owner = std::make_shared<ct::dynamic::graph>(std::move(g));
  return [p, owner, value, dx] {
    p->run();
    return double(p->value(value)) + p->value(dx).data()[0];
  };
}

struct trained {
  ct::dynamic::graph g;
  ct::dynamic::program p;
  ct::dynamic::expr<float> value;
  std::vector<float> w1, b1, w2, b2;
};

std::shared_ptr<trained> training(data const& d) {
  auto t = std::make_shared<trained>();
  t->w1 = d.w1, t->b1 = d.b1, t->w2 = d.w2, t->b2 = d.b2;
  auto& g = t->g;
  auto const w1 = g.parameter<float>("w1", {64, 32}), b1 = g.parameter<float>("b1", {32}),
             w2 = g.parameter<float>("w2", {32, 10}), b2 = g.parameter<float>("b2", {10}),
             x = g.input<float>("x", {50, 64});
  auto const labels = g.input<std::int32_t>("labels", {50});
  t->value = network(w1, b1, w2, b2, x, labels);
  auto const step = g.minimize(t->value, ct::sgd{.learning_rate = 0.01}, {w1, b1, w2, b2});
  t->p = g.compile({t->value}, {}, {.updates = step.updates});
  t->p.bind(w1, t->w1);
  t->p.bind(b1, t->b1);
  t->p.bind(w2, t->w2);
  t->p.bind(b2, t->b2);
  t->p.bind(x, d.images);
  t->p.bind(labels, d.labels);
  return t;
}

} // namespace

tasks graph(data const& d) {
  auto const one = std::make_shared<std::vector<double>>(1, 0.25);
  auto const of_one = loop_from(*one, true);
  auto const t = training(d);
  return {"graph at run time",
          gradient_of(d.w3, d.x3),
          gradient_of(d.w65536, d.x65536),
          [t] {
            t->p.run();
            return double(t->p.value(t->value));
          },
          [one, of_one] { return of_one(); },
          loop_from(d.start1000, false),
          [&d] {
            auto const fresh = training(d);
            fresh->p.run();
            return double(fresh->p.value(fresh->value));
          }};
}

} // namespace choose
