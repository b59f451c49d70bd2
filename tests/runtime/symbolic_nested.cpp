// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "../symbolic_parts.hpp"
#include "catch.hpp"

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

// Sub-graphs in sub-graphs, chains of carried values, and graphs made by dice, against the same by expressions.

namespace {

namespace ct = cotangent;
using ct::dynamic::command;
using ct::dynamic::symbolic_exec;
using ct::dynamic::symbolic_graph;
using ct::dynamic::symbolic_tensor;

command const add = command::of<ct::op::add>(), mul = command::of<ct::op::multiply>(),
              sin_of = command::of<ct::op::sin>();

/// 0 below 0; x to 1; x / 2 + 1 / 2 to 2; 1.5 above.
void pieces(symbolic_graph const& s, symbolic_tensor const& x, symbolic_tensor const& y) {
  auto const index = s.tensor<std::int64_t>({}, "index");
  s.exec(command("index",
                 [](ct::term v) {
                   auto const from = [&](double n) {
                     return ct::extend::convert(v >= n, ct::element::int64);
                   };
                   return ct::extend::select(v < 0, from(1e300), from(1) + from(1) + from(2) - 1);
                 }),
         {x}, {index});
  auto const choice = s.case_of(index);
  auto const zero = s.branch(choice), line = s.branch(choice), flat = s.branch(choice);
  zero.exec(command::set(0), {}, {y});
  line.exec(command("line", [](ct::term t) { return t * .5 + .5; }), {x}, {y});
  flat.exec(command::set(1.5), {}, {y});
  s.bypass(choice, x, y);
}
double pieces(double x) { return x < 0 ? 0 : x < 1 ? x : x < 2 ? .5 * x + .5 : 1.5; }

TEST_CASE("branches in a loop have their gradients", "[symbolic][control]") {
  for (double const scale : {1., .8}) {
    ct::dynamic::graph g;
    auto const s = g.symbolic();
    auto const x = s.tensor<double>({}, "x"), k = s.tensor<double>({}, "k"), y = s.tensor<double>({}, "y"),
               z = s.tensor<double>({}, "z");
    auto const body = s.sub_graph("body");
    auto const scaled = body.tensor<double>({}, "scaled");
    body.exec(mul, {x, k}, {scaled});
    pieces(body, scaled, y);
    body.carry(y, x);
    s.while_(body, while_below(body, 4));
    s.exec(command("third", [](ct::term t) { return t * .3; }), {y}, {z});
    auto const table = s.backward({z}, {x, k});
    auto const dx = table.gradient_of(x), dk = table.gradient_of(k);
    auto p = s.compile({.outputs = {z, dx, dk}});
    p.bind(k, double(scale));
    for (double const first : {1.226, .8, -1., 2.5}) {
      double right = first, slope = .3, of_k = 0;
      for (int i = 0; i < 4; ++i) {
        double const at = right * scale, d = at < 0 ? 0 : at < 1 ? 1 : at < 2 ? .5 : 0;
        of_k = d * (right + scale * of_k);
        slope *= scale * d;
        right = pieces(at);
      }
      p.bind(x, double(first));
      p.run();
      CAPTURE(scale, first);
      CHECK(double(p.value<double>(z)) == Approx(.3 * right));
      CHECK(double(p.value<double>(dx)) == Approx(slope));
      CHECK(double(p.value<double>(dk)) == Approx(.3 * of_k));
    }
  }
}

TEST_CASE("a nested loop reads values of both outer levels, and has second gradients",
          "[symbolic][control]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({}, "x"), w = s.tensor<double>({}, "w"),
             y = s.tensor<double>(ct::dynamic::automatic, "y");
  auto const outer = s.sub_graph("outer"), inner = outer.sub_graph("inner");
  auto const middle = outer.tensor<double>(ct::dynamic::automatic, "middle");
  auto const start = outer.resolve(x);
  inner.exec(command("step", [](ct::term t, ct::term v) { return ct::extend::apply<ct::op::sin>(t * v); }),
             {start, w}, {middle});
  inner.carry(middle, start);
  outer.exec(add, {middle, x}, {y}); // x of this iteration of the outer loop
  outer.carry(y, x);
  outer.while_(inner, while_below(inner, 3));
  s.while_(outer, while_below(outer, 2), false, "nested");
  CHECK(inner.resolve(w) == inner.resolve(outer.resolve(w)));
  auto const first = s.backward({y}, {x, w});
  auto const second = s.backward({first.gradient_of(w)}, {w});
  auto p = s.compile({.outputs = {y, first.gradient_of(x), first.gradient_of(w), second.gradient_of(w)}});
  auto const right = [](double a, double v) {
    for (int i = 0; i < 2; ++i) {
      double m = a;
      for (int j = 0; j < 3; ++j) m = std::sin(m * v);
      a += m;
    }
    return a;
  };
  p.bind(x, .4);
  p.bind(w, 1.3);
  p.run();
  double const h = 1e-4;
  CHECK(double(p.value<double>(y)) == Approx(right(.4, 1.3)));
  CHECK(double(p.value<double>(first.gradient_of(x))) ==
        Approx((right(.4 + h, 1.3) - right(.4 - h, 1.3)) / (2 * h)).epsilon(1e-6));
  CHECK(double(p.value<double>(first.gradient_of(w))) ==
        Approx((right(.4, 1.3 + h) - right(.4, 1.3 - h)) / (2 * h)).epsilon(1e-6));
  CHECK(double(p.value<double>(second.gradient_of(w))) ==
        Approx((right(.4, 1.3 + h) - 2 * right(.4, 1.3) + right(.4, 1.3 - h)) / (h * h)).epsilon(1e-4));
}

TEST_CASE("carried values in a chain are right, and so are loops without iterations", "[symbolic][control]") {
  for (std::int64_t const trips : {0, 1, 2, 5}) {
    ct::dynamic::graph g;
    auto const s = g.symbolic();
    auto const t = [&](char const* name) { return s.tensor<double>({}, name); };
    auto const x0 = t("x0"), x1 = t("x1"), x2 = t("x2"), last = t("last"), y = t("y"), z = t("z");
    auto const body = s.sub_graph("body");
    body.exec(mul, {x2, x0}, {y});
    body.carry(body.resolve(x1), body.resolve(x0)); // x0 <- x1 <- x2 <- x2 x0
    body.carry(body.resolve(x2), body.resolve(x1));
    body.carry(y, x2);
    auto const copy = body.tensor<double>({}, "copy");
    body.exec(command("copy", [](ct::term v) { return v; }), {x0}, {copy});
    body.hookup(copy, last); // x0 of the last iteration, 0 where there was none
    s.while_(body, while_below(body, trips));
    s.exec(add, {y, last}, {z});
    auto const table = s.backward({z}, {x0, x1, x2});
    std::vector<symbolic_tensor> outputs = table.all();
    outputs.push_back(z);
    auto p = s.compile({.outputs = outputs});
    auto const right = [&](double a, double b, double c) {
      double was = 0;
      for (int k = 0; k < trips; ++k) {
        was = a;
        double const next = c * a;
        a = b;
        b = c;
        c = next;
      }
      return c + was; // without an iteration y is what would have been its first value
    };
    p.bind(x0, 1.2);
    p.bind(x1, .7);
    p.bind(x2, 1.1);
    p.run();
    double const h = 1e-5;
    CAPTURE(trips);
    CHECK(double(p.value<double>(z)) == Approx(right(1.2, .7, 1.1)));
    CHECK(double(p.value<double>(outputs[0])) ==
          Approx((right(1.2 + h, .7, 1.1) - right(1.2 - h, .7, 1.1)) / (2 * h)).margin(1e-8));
    CHECK(double(p.value<double>(outputs[1])) ==
          Approx((right(1.2, .7 + h, 1.1) - right(1.2, .7 - h, 1.1)) / (2 * h)).margin(1e-8));
    CHECK(double(p.value<double>(outputs[2])) ==
          Approx((right(1.2, .7, 1.1 + h) - right(1.2, .7, 1.1 - h)) / (2 * h)).margin(1e-8));
  }
}

TEST_CASE("a loop is freed with its sub-graphs, and a body can be rebuilt", "[symbolic][control]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({}, "x"), y = s.tensor<double>({}, "y");
  auto const body = s.sub_graph();
  auto const inside = body.exec(mul, {x, x}, {y}, "square");
  body.carry(y, x);
  auto const loop = s.while_(body, while_below(body, 3));
  CHECK(s.inputs_of(loop) == std::vector<symbolic_tensor>{x});
  CHECK(s.outputs_of(loop) == std::vector<symbolic_tensor>{y});
  s.free(loop);
  CHECK(s.size() == 0);
  CHECK_FALSE(s.is_alive(inside));
  CHECK_THROWS_AS(body.exec(mul, {x, x}, {y}), ct::graph_error);
  auto const again = s.sub_graph();
  again.exec(add, {x, x}, {y});
  again.carry(y, x);
  s.while_(again, while_below(again, 3));
  auto p = s.compile({.outputs = {y}});
  p.bind(x, .5);
  p.run();
  CHECK(double(p.value<double>(y)) == 4);
}

TEST_CASE("random symbolic graphs, in any order, agree with those of expressions", "[symbolic]") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 dice(seed);
    auto const roll = [&](std::size_t n) {
      return std::uniform_int_distribution<std::size_t>(0, n - 1)(dice);
    };
    ct::dynamic::graph g, h;
    auto const s = g.symbolic();
    std::vector<symbolic_tensor> t;
    std::vector<ct::dynamic::expr<double>> e;
    for (int k = 0; k < 3; ++k) {
      t.push_back(s.tensor<double>({2}));
      e.push_back(h.input<double>("", {2}));
    }
    std::vector<std::function<void()>> makers;
    for (std::size_t const count = 4 + roll(14); t.size() < count;) {
      std::size_t const a = roll(t.size()), b = roll(t.size()), op = roll(4);
      auto const y = roll(3) == 0 ? s.tensor<double>(ct::dynamic::automatic) : s.tensor<double>({2});
      symbolic_tensor const p = t[a], q = t[b];
      makers.push_back([=, &s] {
        if (op == 0) s.exec(add, {p, q}, {y});
        else if (op == 1) s.exec(mul, {p, q}, {y});
        else if (op == 2) s.exec(sin_of, {p}, {y});
        else
          s.exec(command("tanh", [](ct::term v) { return ct::extend::apply<ct::op::tanh>(v * .5); }), {p},
                 {y});
      });
      t.push_back(y);
      e.push_back(op == 0   ? e[a] + e[b]
                  : op == 1 ? e[a] * e[b]
                  : op == 2 ? ct::sin(e[a])
                            : ct::tanh(e[a] * .5));
    }
    std::vector<symbolic_exec> all;
    for (; !makers.empty(); makers.pop_back()) {
      std::swap(makers[roll(makers.size())], makers.back());
      makers.back()();
    }
    auto const seed_symbol = s.tensor<double>({2});
    auto const w = h.input<double>("", {2});
    auto const table = s.backward({t.back()}, {t[0], t[1], t[2]}, {seed_symbol});
    auto const d = h.gradient({e.back()}, {e[0], e[1], e[2]}, {w});
    auto p = s.compile({.outputs = {t.back(), table.all()[0], table.all()[1], table.all()[2]}});
    auto q = h.compile({e.back(), d[0], d[1], d[2]});
    for (std::size_t k = 0; k < 3; ++k) {
      p.bind(t[k], {.3 + double(k), -.7});
      q.bind(e[k], {.3 + double(k), -.7});
    }
    p.bind(seed_symbol, {1., -2.});
    q.bind(w, {1., -2.});
    p.run();
    q.run();
    CAPTURE(seed);
    for (std::size_t i = 0; i < 2; ++i) {
      auto const at = static_cast<std::int64_t>(i);
      CHECK(p.value<double>(t.back())[at] == Approx(q.value(e.back())[at]).epsilon(1e-12));
      for (std::size_t k = 0; k < 3; ++k)
        CHECK(p.value<double>(table.all()[k])[at] == Approx(q.value(d[k])[at]).epsilon(1e-12).margin(1e-14));
    }
  }
}

} // namespace
