// SPDX-License-Identifier: BSL-1.0
#include <cotangent/dynamic.hpp>
#include <cotangent/random.hpp>

#include "../words.hpp"

#include <climits>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

// Expressions, sizes, views and writes that a graph refuses.

namespace {

namespace ct = cotangent;
namespace dynamic = cotangent::dynamic;
using I = std::int64_t;
constexpr I MAX = INT64_MAX, MIN = INT64_MIN;

TEST_CASE("Expressions of two graphs are never combined") {
  CHECK(refused("the operands must be expressions of one graph", [] {
    dynamic::graph g, h;
    auto a = g.input<double>("a", {3});
    auto b = h.input<double>("b", {3});
    auto c = a + b;
    (void)c;
  }));
  CHECK(refused("the operands must be expressions of one graph", [] {
    dynamic::graph g, h;
    auto a = g.input<double>("a");
    auto b = h.input<double>("b");
    (void)g.gradient({b * b}, {a});
  }));
  CHECK(refused("the operands must be expressions of one graph", [] {
    dynamic::graph g, h;
    auto a = g.input<double>("a");
    auto b = h.input<double>("b");
    (void)g.gradient({a * a}, {b});
  }));
  CHECK(refused("the operands must be expressions of one graph", [] {
    dynamic::graph g, h;
    auto a = g.input<double>("a");
    auto b = h.input<double>("b");
    (void)g.gradient({a * a}, {a}, {b});
  }));
  CHECK(refused("the operands must be expressions of one graph", [] {
    dynamic::graph g, h;
    auto b = h.input<double>("b");
    (void)g.compile({b * b});
  }));
  CHECK(refused("the operands must be expressions of one graph", [] {
    dynamic::graph g, h;
    auto a = g.input<double>("a");
    auto b = h.input<double>("b");
    (void)ct::for_loop(3, [&](auto, auto s) { return s * b; }, a);
  }));
  CHECK(refused("the operands must be expressions of one graph", [] {
    dynamic::graph g, h;
    auto a = g.input<double>("a");
    auto y = h.input<double>("b");
    (void)g.compile({}, {}, {.updates = {{a, y * y}}});
  }));
  CHECK(refused("the operands must be expressions of one graph", [] {
    static dynamic::graph h;
    dynamic::graph g;
    auto x = g.input<double>("x", {2});
    (void)g.gradient({ct::sum(x * ct::sin(x))}, {x}, {},
                     {.sum = [](std::vector<dynamic::any_expr> const&) -> dynamic::any_expr {
                       return h.input<double>("q", {2});
                     }});
  }));
}

TEST_CASE("A program refuses expressions of another graph") {
  CHECK(refused("program: an expression must belong to the graph that the program was compiled from", [] {
    dynamic::graph g, h;
    auto a = g.input<double>("a");
    auto b = h.input<double>("b");
    auto p = g.compile({a * a});
    double x = 2;
    p.bind(b, x);
    p.run();
  }));
  CHECK(refused("program: an expression must belong to the graph that the program was compiled from", [] {
    dynamic::graph g, h;
    auto a = g.input<double>("a");
    auto y = a * a;
    auto b = h.input<double>("b");
    auto z = b * b;
    auto p = g.compile({y});
    double x = 2;
    p.bind(a, x);
    p.run();
    (void)p.value(z);
  }));
  CHECK(refused("program: an expression must belong to the graph that the program was compiled from", [] {
    dynamic::graph g, h;
    auto a = g.input<float>("a", {16});
    auto y = a * a;
    auto b = h.input<double>("b", {16});
    auto z = b * b;
    auto p = g.compile({y});
    std::vector<float> x(16, 2), o(16);
    p.bind(a, x);
    p.bind(y, o);
    p.run();
    (void)p.value(z);
  }));
  CHECK(refused("program: an expression must belong to the graph that the program was compiled from", [] {
    dynamic::graph g, h;
    auto a = g.input<double>("a", {16});
    auto y = a * a;
    auto b = h.input<float>("b", {16});
    auto p = g.compile({y});
    std::vector<float> x(16, 2);
    p.bind(b, x);
    p.run();
  }));
  CHECK(refused("program: an expression must belong to the graph that the program was compiled from", [] {
    dynamic::graph g, h;
    auto a = g.input<float>("a", {64});
    auto y = a * a;
    auto b = h.input<double>("b", {64});
    auto p = g.compile({y}, {}, {.own_memory = true});
    auto m = p.memory(b);
    for (auto& e : m) e = 1;
  }));
  CHECK(refused("program: an expression must belong to the graph that the program was compiled from", [] {
    dynamic::graph g, h;
    auto x = g.input<float>("x", {8});
    auto y = ct::sin(x);
    auto u = h.input<double>("u", {8});
    auto s = g.vjp({y}, {x});
    std::vector<float> d(8);
    s.bind(x, d);
    auto b = s.run();
    b.bind(y, d);
    b.run();
    (void)b.value(u);
  }));
}

TEST_CASE("An expression without a value is refused") {
  CHECK(refused("an expression must have a value before it is used", [] {
    dynamic::expr<double> e;
    (void)ct::exp(e);
  }));
  CHECK(refused("an expression must have a value before it is used", [] {
    dynamic::graph g;
    dynamic::expr<double> e;
    (void)g.compile({e});
  }));
  CHECK(refused("an expression must have a value before it is used", [] {
    dynamic::graph g;
    auto a = g.input<double>("a");
    dynamic::expr<double> e;
    (void)g.gradient({a}, {e});
  }));
  CHECK(refused("an expression without operands must be combined with an expression of a graph first", [] {
    dynamic::graph g;
    dynamic::expr<double> const one = 1.0;
    (void)g.compile({one});
  }));
  CHECK(refused("; in mul, at ", [] { // and not "in mul of x", the first symbol of the graph
    dynamic::graph g;
    auto const x = g.input<double>("x", {3});
    (void)(ct::reshape<2, 2>(ct::iota<double, 4>(0.1, 0.13)) * x(0));
  }));
  CHECK(dynamic::expr<double>().rank() == 0);
  CHECK(refused<ct::graph_error>("an expression must have a value before it is used", [] {
    dynamic::graph g;
    auto const t = g.tensor<double>("t", {2});
    g.write(t, dynamic::expr<double>());
  }));
  CHECK(refused("extent: an axis must be at least 0 and less than the rank", [] {
    dynamic::expr<double> e;
    (void)e.extent(0);
  }));
  CHECK(refused("dynamic: the requested element type must be that of the expression", [] {
    dynamic::any_expr e;
    (void)e.as<float>();
  }));
  CHECK(refused("program: an expression must belong to the graph that the program was compiled from", [] {
    dynamic::graph g;
    auto a = g.input<double>("a");
    auto p = g.compile({a * 2.0});
    (void)p.value(dynamic::expr<double>{});
  }));
  CHECK(refused("an expression without operands must be combined with an expression of a graph first", [] {
    dynamic::graph g;
    auto x = g.input<double>("x", {2});
    (void)g.gradient({ct::sum(x * ct::sin(x))}, {x}, {},
                     {.sum = [](std::vector<dynamic::any_expr> const&) -> dynamic::any_expr { return {}; }});
  }));
}

TEST_CASE("An axis that does not exist has no extent") {
  CHECK(refused("extent: an axis must be at least 0 and less than the rank", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {2});
    auto volatile q = a.extent(7);
    (void)q;
    auto volatile r = a.extent(-3);
    (void)r;
    auto volatile r2 = a.extent(1000000);
    (void)r2;
  }));
}

TEST_CASE("Sizes are numbers of at least 0 that fit 64 bits, for at most 8 axes") {
  CHECK(refused("dynamic: a size must be at least 0, and all together must fit 64 bits", [] {
    dynamic::graph g;
    (void)g.input<double>("a", {-1});
  }));
  CHECK(refused("dynamic: a size must be at least 0, and all together must fit 64 bits", [] {
    dynamic::graph g;
    (void)g.input<double>("a", {MIN});
  }));
  CHECK(refused("dynamic: a size must be at least 0, and all together must fit 64 bits", [] {
    dynamic::graph g;
    (void)g.input<double>("a", {I(1) << 62});
  }));
  CHECK(refused("dynamic: a size must be at least 0, and all together must fit 64 bits", [] {
    dynamic::graph g;
    (void)g.input<double>("a", {I(1) << 31, I(1) << 31});
  }));
  CHECK(refused("dynamic: a size must be at least 0, and all together must fit 64 bits", [] {
    dynamic::graph g;
    (void)g.input<double>("a", {I(1) << 40, I(1) << 40});
  }));
  CHECK(refused("dynamic: a size must be at least 0, and all together must fit 64 bits", [] {
    dynamic::graph g;
    (void)g.input<double>("a", {0, I(1) << 62, I(1) << 62});
  }));
  CHECK(refused("dynamic: there must be at most 8 axes", [] {
    dynamic::graph g;
    (void)g.input<double>("a", {1, 1, 1, 1, 1, 1, 1, 1, 1});
  }));
  CHECK(refused("dynamic: there must be at most 8 axes", [] {
    dynamic::graph g;
    dynamic::sizes s;
    for (int i = 0; i < 12; ++i) s.push(1);
    (void)g.input<double>("a", s);
  }));
  CHECK(refused("dynamic: a size must be at least 0, and all together must fit 64 bits", [] {
    dynamic::graph g;
    auto k = g.input<I>("k");
    (void)ct::random_uniform<float>(k, {I(1) << 40, I(1) << 40});
  }));
  CHECK(refused("dynamic: a constant must have one element for each position of its shape", [] {
    dynamic::graph g;
    (void)g.constant(std::vector<double>{1, 2, 3}, {2});
  }));
  CHECK(refused("dynamic: a size must be at least 0, and all together must fit 64 bits", [] {
    dynamic::graph g;
    (void)g.constant(std::vector<double>{1, 2, 3}, {-3});
  }));
}

TEST_CASE("Views lie within their tensor") {
  CHECK(
      refused("view: every element of a view, its offset included, must be within the viewed tensor or view", [] {
        dynamic::graph g;
        auto a = g.input<double>("a", {4});
        (void)g.view(a, {.offset = {3}, .shape = {2}});
      }));
  CHECK(refused("view: no element of a view may precede the first element of the viewed tensor or view", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    (void)g.view(a, {.offset = {-1}, .shape = {2}});
  }));
  CHECK(
      refused("view: every element of a view, its offset included, must be within the viewed tensor or view", [] {
        dynamic::graph g;
        auto a = g.input<double>("a", {4});
        (void)g.view(a, {.offset = {0}, .shape = {3}, .stride = {MAX}});
      }));
  CHECK(refused("view: no element of a view may precede the first element of the viewed tensor or view", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    (void)g.view(a, {.offset = {0}, .shape = {3}, .stride = {MIN}});
  }));
  CHECK(
      refused("view: every element of a view, its offset included, must be within the viewed tensor or view", [] {
        dynamic::graph g;
        auto a = g.input<double>("a", {4});
        (void)g.view(a, {.offset = {MAX}, .shape = {1}});
      }));
  CHECK(
      refused("view: every element of a view, its offset included, must be within the viewed tensor or view", [] {
        dynamic::graph g;
        auto a = g.input<double>("a", {4});
        (void)g.view(a, {.offset = {MIN}, .shape = {1}, .stride = {-1}});
      }));
  CHECK(refused("dynamic: a size must be at least 0, and all together must fit 64 bits", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    auto v = g.view(a, {.shape = {I(1) << 62}, .stride = {0}});
    auto p = g.compile({ct::sum(v)});
    std::vector<double> x(4);
    p.bind(a, x);
    p.run();
  }));
  CHECK(refused("dynamic: a size must be at least 0, and all together must fit 64 bits", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    auto v = g.view(a, {.shape = {I(1) << 59, I(1) << 59}, .stride = {0, 0}});
    (void)v;
  }));
  CHECK(refused("view: no element of a view may precede the first element of the viewed tensor or view", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    auto v = g.view(a, {.offset = {-1}, .shape = {4}, .stride = {-1}});
    auto w = g.view(v, {.offset = {2}, .shape = {4}});
    (void)w;
  }));
  CHECK(refused("view: offset and stride must have a number for each size of the shape", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    (void)g.view(a, {.offset = {0, 0}, .shape = {2}});
  }));
}

TEST_CASE("Elements are written once, and only if no node computes their tensor") {
  for (bool const whole : {true, false})
    CHECK(refused("write: an element must be written at most once", [&] {
      dynamic::graph g;
      auto t = g.tensor<double>("t", {4});
      auto a = g.input<double>("a");
      g.write(t, a);
      g.write(whole ? t : g.view(t, {.offset = {1}, .shape = {2}}), a * 2.0);
    }));
  CHECK(refused("write: an element must be written at most once", [] {
    dynamic::graph g;
    auto t = g.tensor<double>("t", {4});
    auto a = g.input<double>("a");
    g.write(g.view(t, {.shape = {2}}), a);
    g.write(g.view(t, {.offset = {1}, .shape = {2}}), a);
  }));
  CHECK(refused("write: an element must be written at most once", [] {
    dynamic::graph g;
    auto t = g.tensor<double>("t", {4});
    auto a = g.input<double>("a");
    g.write(g.view(t, {.shape = {3}, .stride = {0}}), a);
  }));
  CHECK(refused(
      "write: the target must be a tensor of g.tensor, or a view of such a tensor or of an input", [] {
        dynamic::graph g;
        auto t = g.input<double>("t", {4});
        g.write(t, 1.0);
        auto p = g.compile({t * 2.0});
        p.run();
      }));
  CHECK(refused(
      "write: the target must be a tensor of g.tensor, or a view of such a tensor or of an input", [] {
        dynamic::graph g;
        auto t = g.input<double>("t", {4});
        auto y = t * 2.0;
        g.write(y, 1.0);
      }));
  CHECK(refused("the shapes of both operands must be equal axis by axis from the last, or 1", [] {
    dynamic::graph g;
    auto t = g.tensor<double>("t", {4});
    auto a = g.input<double>("a", {5});
    g.write(t, a);
  }));
  CHECK(refused("graph: a node must not depend on its own result", [] {
    dynamic::graph g;
    auto t = g.tensor<double>("t", {4});
    auto a = g.view(t, {.shape = {2}});
    auto b = g.view(t, {.offset = {2}, .shape = {2}});
    g.write(a, b * 2.0);
    g.write(b, a * 2.0);
    auto p = g.compile({t});
    p.run();
  }));
  CHECK(refused("graph: a node must not depend on its own result", [] {
    dynamic::graph g;
    auto t = g.tensor<double>("t", {4});
    g.write(t, t * 2.0);
    auto p = g.compile({t});
    p.run();
  }));
  CHECK(refused("graph: a node must not depend on its own result", [] {
    dynamic::graph g;
    auto t = g.tensor<double>("t", {4});
    auto x = g.input<double>("x", {4});
    g.write(t, t * x);
    (void)g.gradient({ct::sum(t)}, {x});
  }));
}

} // namespace
