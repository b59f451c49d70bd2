// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "../null_allocations.hpp"
#include "../words.hpp"

#include <climits>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

// Programs and pullbacks: bindings, values, options, and objects that hold nothing.

namespace {

namespace ct = cotangent;
namespace dynamic = cotangent::dynamic;
using I = std::int64_t;

TEST_CASE("Bound memory must exist and fit") {
  CHECK(refused("bind: the memory of a result must be writable and outlive the program", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {2});
    auto y = a * 2.0;
    auto p = g.compile({y});
    std::vector<double> const c(2);
    p.bind(y, c);
  }));
  CHECK(refused("bind: memory of shape [3] must have the shape [2] of a", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {2});
    auto p = g.compile({a * 2.0});
    std::vector<double> c(3);
    p.bind(a, c);
  }));
  CHECK(refused("bind: memory of shape [] must have the shape [2] of a", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {2});
    auto p = g.compile({a * 2.0});
    double c = 1;
    p.bind(a, c);
  }));
  CHECK(refused("bind: memory of shape [0] must have the shape [2] of a", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {2});
    auto p = g.compile({a * 2.0});
    std::vector<double> c;
    p.bind(a, c);
    p.run();
  }));
  CHECK(refused("run: every input that is read must be bound to memory", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {2});
    auto y = a * 2.0;
    auto p = g.compile({y});
    std::span<double> c(static_cast<double*>(nullptr), 2);
    p.bind(a, c);
    p.run();
  }));
  CHECK(refused("bind: the memory of a result must be writable and outlive the program", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {2});
    auto y = a * 2.0;
    auto p = g.compile({y});
    std::vector<double> x(2, 1);
    std::span<double> c(static_cast<double*>(nullptr), 2);
    p.bind(a, x);
    p.bind(y, c);
    p.run();
  }));
  CHECK(refused("run: every input that is read must be bound to memory", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {2});
    auto p = g.compile({a * 2.0});
    p.run();
  }));
  CHECK(refused("bind: memory must be aligned as its elements; it is a double [2]", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {2});
    auto p = g.compile({a * 2.0});
    alignas(double) unsigned char raw[24]{};
    p.bind(a, std::span<double const>(reinterpret_cast<double const*>(raw + 1), 2));
  }));
  CHECK(refused("bind: memory must be aligned as its elements; it is float [2]", [] {
    dynamic::graph g;
    auto a = g.input<float>("a", {2});
    auto y = a * 2.0f;
    auto p = g.compile({y});
    alignas(float) unsigned char raw[12]{};
    p.bind(y, std::span<float>(reinterpret_cast<float*>(raw + 2), 2));
  }));
  CHECK(refused("bind: results must not share memory", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {2});
    auto y = a * 2.0;
    auto z = a * 3.0;
    auto p = g.compile({y, z});
    std::vector<double> x(2), o(2);
    p.bind(a, x);
    p.bind(y, o);
    p.bind(z, o);
    p.run();
  }));
  CHECK(refused("bind: a result must not overlap an input, unless it is that input", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {2});
    auto y = a * 2.0;
    auto p = g.compile({y});
    std::vector<double> x(4);
    std::span<double> s(x.data(), 2), t(x.data() + 1, 2);
    p.bind(a, s);
    p.bind(y, t);
    p.run();
  }));
}

TEST_CASE("A list of bindings names each input once, and results any number of times") {
  dynamic::graph g;
  auto const x = g.input<double>("x", {2}), y = x * 2.0;
  auto const part = g.view(x, {.shape = {1}});
  std::vector<double> a{1, 2}, b{10, 20}, one{5}, other{6}, first(2), second(2);
  auto const refuses = [&](std::vector<dynamic::binding> const& binds) {
    auto const compiles = [&] { (void)g.compile({y}, binds); };
    CHECK(refused<ct::graph_error>("bind: an input must be bound to one memory only; in compile of ", compiles));
    CHECK(refused<ct::graph_error>("invalid_programs.cpp:", compiles));
  };
  refuses({{x, a}, {x, b}});
  refuses({{x, a}, {y, first}, {x, a}});
  refuses({{part, one}, {part, other}});
  auto p = g.compile({}, {{x, a}, {y, first}, {y, second}});
  p.run();
  CHECK((first[1] == 4 && second[1] == 4));
  p.bind(x, b);
  p.run();
  CHECK((first[1] == 40 && second[1] == 40));

  dynamic::graph h;
  auto const s = h.symbolic();
  auto const t = s.tensor<double>({2}, "t"), u = s.tensor<double>({2}, "u");
  (void)s.exec(dynamic::command::of<ct::op::exp>(), {t}, {u}, "e");
  CHECK(refused<ct::graph_error>("must be bound to one memory only; in compile of t double [2], at ",
                                 [&] { (void)s.compile({.outputs = {u}, .binds = {{t, a}, {t, b}}}); }));
}

TEST_CASE("Memory bound to a constant is that of a result") {
  dynamic::graph g;
  auto const x = g.input<double>("x", {3}), c = g.constant(std::vector<double>{1, 2, 3}), y = ct::sum(x * c);
  std::vector<double> a{1, 2, 3}, first{9, 9, 9}, second{9, 9, 9};
  auto p = g.compile({c, y});
  p.bind(x, a);
  p.bind(c, first);
  p.run();
  CHECK((first == a && p.value(y) == 14));
  auto twice = g.compile({c, c});
  first.assign(3, 9);
  twice.bind(c, first);
  twice.bind(c, second);
  twice.run();
  CHECK((first == a && second == a));
  for (bool const own : {false, true}) {
    first.assign(3, 9);
    auto listed = g.compile({y}, {{c, first}, {x, a}}, {.own_memory = own});
    listed.run();
    CHECK((first == a && listed.value(y) == 14));
  }
  auto other = g.compile({y});
  CHECK(refused<ct::graph_error>("bind: an expression must be an input or a result of the program", [&] { other.bind(c, first); }));
  std::vector<double> const fixed{4, 5, 6};
  CHECK(refused<ct::graph_error>("bind: the memory of a result must be writable", [&] { p.bind(c, fixed); }));
}

TEST_CASE("A function that has nothing to do for these sizes has a result of its own") {
  auto const holds = [](auto function) {
    for (bool const constant : {false, true})
      for (bool const listed : {false, true}) {
        dynamic::graph g;
        auto const x = g.input<double>("x", {3}), c = g.constant(std::vector<double>{1, 2, 3});
        dynamic::expr<double> const r = constant ? function(c) : function(x), y = ct::sum(x * c);
        std::vector<double> a{1, 2, 3}, m{9, 9, 9};
        auto p = listed ? g.compile({r, y}, {{x, a}, {r, m}}) : g.compile({r, y});
        if (!listed) p.bind(x, a), p.bind(r, m);
        p.run();
        CHECK((m == a && p.value(y) == 14 && p.value(r)(1) == 2));
      }
  };
  holds([](auto x) { return ct::reshape(x, {3}); });
  holds([](auto x) { return ct::flatten(x); });
  holds([](auto x) { return ct::broadcast_to(x, {3}); });
  holds([](auto x) { return ct::transpose(x); });
  holds([](auto x) { return ct::sum(x, std::vector<int>{}); });
  holds([](auto x) { return ct::convert<double>(x); });
  holds([](auto x) { return x(ct::all); });
  holds([](auto x) { return x(dynamic::between(0, 3)); });
  holds([](auto x) { return ct::roll(x, 0, 0); });
  holds([](auto x) { return ct::tile(x, {1}); });
  holds([](auto x) { return ct::squeeze(x); });
  holds([](auto x) { return ct::concatenate({x}, 0); });
}

TEST_CASE("Values can be read only after a run, at positions that exist") {
  CHECK(refused("value: the program must have run before it has values", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {2});
    auto y = a * 2.0;
    auto p = g.compile({y});
    (void)p.value(y);
  }));
  CHECK(refused("dynamic: the indices", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {2});
    auto y = a * 2.0;
    auto p = g.compile({y});
    std::vector<double> x(2);
    p.bind(a, x);
    p.run();
    (void)p.value(y)(2);
  }));
  CHECK(refused("dynamic: the indices", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {2});
    auto y = a * 2.0;
    auto p = g.compile({y});
    std::vector<double> x(2);
    p.bind(a, x);
    p.run();
    (void)p.value(y)(-1);
  }));
  CHECK(refused("dynamic: the indices", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {2});
    auto y = a * 2.0;
    auto p = g.compile({y});
    std::vector<double> x(2);
    p.bind(a, x);
    p.run();
    (void)p.value(y)(1, 0);
  }));
  CHECK(refused("dynamic: a value of shape [2] must not be used as one element", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {2});
    auto y = a * 2.0;
    auto p = g.compile({y});
    std::vector<double> x(2);
    p.bind(a, x);
    p.run();
    double d = p.value(y);
    (void)d;
  }));
  CHECK(refused("value: an expression must be a result of the program", [] {
    dynamic::graph g;
    auto a = g.input<double>("a");
    auto y = a * a;
    auto p = g.compile({y});
    double x = 3;
    p.bind(a, x);
    p.run();
    auto z = y * a;
    (void)p.value(z);
  }));
}

TEST_CASE("Programs and graphs that were moved from, or default constructed, are refused") {
  CHECK(refused("program: a program must be compiled before it is used", [] {
    dynamic::program p;
    p.run();
  }));
  CHECK(refused("program: a program must be compiled before it is used", [] {
    dynamic::graph g;
    auto a = g.input<double>("a");
    dynamic::program p;
    double x = 1;
    p.bind(a, x);
  }));
  CHECK(refused("program: a program must be compiled before it is used", [] {
    dynamic::graph g;
    auto a = g.input<double>("a");
    dynamic::program p;
    (void)p.value(a);
  }));
  CHECK(refused("program: a program must be compiled before it is used", [] {
    dynamic::graph g;
    auto a = g.input<double>("a");
    auto p = g.compile({a * 2.0});
    double x = 1;
    p.bind(a, x);
    p.run();
    auto q = std::move(p);
    p.run();
  }));
  CHECK(refused("graph: a graph must not be used after it was moved from", [] {
    dynamic::graph g;
    (void)g.input<double>("a");
    dynamic::graph h = std::move(g);
    (void)g.input<double>("b");
  }));
}

TEST_CASE("A moved graph keeps its expressions, and may be assigned another graph") {
  dynamic::graph g;
  auto const a = g.input<double>("a");
  dynamic::graph h = std::move(g);
  auto const y = a * a;
  auto p = h.compile({y});
  p.bind(a, 3.0);
  p.run();
  CHECK(double(p.value(y)) == 9);
  g = h;
  CHECK(g.input<double>("b").rank() == 0);
}

TEST_CASE("A program does not change when its graph changes or ends") {
  dynamic::program p;
  dynamic::expr<double> a, y;
  {
    dynamic::graph g;
    a = g.input<double>("a");
    y = a * a;
    p = g.compile({y});
    for (int i = 0; i < 1000; ++i) (void)ct::exp(a * double(i));
    p.bind(a, 3.0);
    p.run();
    CHECK(double(p.value(y)) == 9);
  }
  p.bind(a, 4.0);
  p.run();
  CHECK(double(p.value(y)) == 16);
}

TEST_CASE("A program recognizes its graph, even if another graph takes its address") {
  auto g = std::make_unique<dynamic::graph>();
  auto p = g->compile({g->input<double>("x") * 2.0});
  for (int again = 0; again < 50; ++again) {
    g.reset();
    g = std::make_unique<dynamic::graph>();
    auto const x = g->input<double>("x"), y = x * 2.0;
    CHECK(refused<ct::graph_error>("belong to the graph that the program was compiled from",
                                   [&] { p.bind(x, 1.0); }));
    CHECK(refused<ct::graph_error>("belong to the graph that the program was compiled from",
                                   [&] { (void)p.value(y); }));
    auto const s = g->symbolic().symbol_of(x);
    CHECK(refused<ct::graph_error>("belong to the graph that the program was compiled from",
                                   [&] { p.bind(s, 1.0); }));
  }
}

TEST_CASE("A copy of a graph is a different graph") {
  dynamic::graph g;
  auto const x = g.input<double>("x"), y = x * 2.0;
  dynamic::graph const h = g;
  auto p = g.compile({y});
  CHECK(refused<ct::graph_error>("expressions of one graph", [&] { (void)h.compile({y}); }));
  auto const there = dynamic::graph(h).symbolic().same(g.symbolic().symbol_of(x));
  CHECK(refused<ct::graph_error>("belong to the graph that the program was compiled from",
                                 [&] { p.bind(there, 1.0); }));
}

TEST_CASE("Every part of a vjp program that was moved from is refused") {
  dynamic::graph g;
  auto const x = g.input<double>("x"), y = ct::sin(x);
  auto s = g.vjp({y}, {x});
  auto const moved = std::move(s);
  CHECK(refused<ct::graph_error>("default-constructed or moved from", [&] { (void)s.run(); }));
  CHECK(refused<ct::graph_error>("default-constructed or moved from", [&] { (void)s.saved_bytes(); }));
  CHECK(refused<ct::graph_error>("default-constructed or moved from", [&] { (void)s.needs_input(x); }));
  CHECK(refused<ct::graph_error>("default-constructed or moved from",
                                 [] { (void)dynamic::program().workspace_bytes(); }));
  CHECK(refused<ct::shape_error>("must not be used as one element",
                                 [] { (void)double(dynamic::values<double>()); }));
}

TEST_CASE("A vjp program that is asked about another graph names the question and the line") {
  dynamic::graph g, h;
  auto const x = g.input<double>("x"), y = ct::sin(x), other = h.input<double>("other");
  auto const s = g.vjp({y}, {x});
  auto const refuses = [](char const* question, auto const& ask) {
    CHECK(refused<ct::graph_error>("belong to the graph that the program was compiled from", ask));
    CHECK(refused<ct::graph_error>(question, ask));
    CHECK(refused<ct::graph_error>("invalid_programs.cpp:", ask));
  };
  refuses("in needs_input", [&] { (void)s.needs_input(other); });
  refuses("in needs_output", [&] { (void)s.needs_output(other); });
  refuses("in needs_cotangent", [&] { (void)s.needs_cotangent(other); });
}

TEST_CASE("Only inputs are updated, once each") {
  CHECK(refused("update: the target must be an input of the graph", [] {
    dynamic::graph g;
    auto a = g.input<double>("a");
    auto y = a * a;
    (void)g.compile({}, {}, {.updates = {{y, a}}});
  }));
  CHECK(refused("update: an input must be updated by one value only", [] {
    dynamic::graph g;
    auto a = g.input<double>("a");
    auto y = a * a;
    (void)g.compile({}, {}, {.updates = {{a, y}, {a, a}}});
  }));
  CHECK(refused("update: the new value must have the element and the shape of the input", [] {
    dynamic::graph g;
    auto a = g.input<double>("a");
    auto y = g.input<double>("b", {2});
    (void)g.compile({}, {}, {.updates = {{a, y}}});
  }));
  CHECK(refused("apply_gradients, minimize: there must be parameters to update", [] {
    dynamic::graph g;
    (void)g.minimize(g.input<double>("a"), ct::sgd{}, {});
  }));
  CHECK(refused("run: an input that is updated must be bound to memory that can be written", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {1});
    auto p = g.compile({}, {}, {.updates = {{a, a * a}}});
    std::vector<double> const c(1);
    p.bind(a, c);
    p.run();
  }));
}

TEST_CASE("Budgets and tape limits below the minimum are refused") {
  CHECK(refused("memory_budget: the budget must hold the smallest program that computes this", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {100});
    auto y = ct::sum(ct::softmax(ct::exp(ct::sin(a)), 0) * ct::cos(a));
    auto d = g.gradient({y}, {a}).front();
    (void)g.compile({y, d}, {}, {.memory_budget = 1});
  }));
  CHECK(refused("memory_budget: the budget must hold the smallest program that computes this", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {100});
    auto y = ct::sum(ct::softmax(ct::exp(ct::sin(a)), 0));
    (void)g.compile({y}, {}, {.memory_budget = -1});
  }));
  CHECK(refused(
      "gradient: the tape limit must hold the carried values of a loop and the record of one iteration", [] {
        dynamic::graph g;
        auto a = g.input<double>("a");
        auto y = ct::for_loop(100, [](auto, auto s) { return ct::sin(s); }, a);
        (void)g.gradient({y}, {a}, {}, {.tape = {.limit = 1}});
      }));
  CHECK(refused(
      "gradient: the tape limit must hold the carried values of a loop and the record of one iteration", [] {
        dynamic::graph g;
        auto a = g.input<double>("a");
        auto y = ct::for_loop(100, [](auto, auto s) { return ct::sin(s); }, a);
        (void)g.gradient({y}, {a}, {}, {.tape = {.limit = -1}});
      }));
}

TEST_CASE("Gradients need floating outputs, with a cotangent for each") {
  CHECK(refused("this operation needs float or double", [] {
    dynamic::graph g;
    auto a = g.input<I>("a");
    auto x = g.input<double>("x");
    (void)g.gradient(std::vector<dynamic::any_expr>{a * I(2)}, {x});
  }));
  CHECK(refused("this operation needs float or double", [] {
    dynamic::graph g;
    auto a = g.input<I>("a");
    auto x = g.input<double>("x");
    (void)g.gradient(std::vector<dynamic::any_expr>{x * x}, {a});
  }));
  CHECK(refused("gradient: an output that is not a scalar must have a cotangent", [] {
    dynamic::graph g;
    auto x = g.input<double>("x", {2});
    (void)g.gradient({x * x}, {x});
  }));
  CHECK(refused("gradient: a cotangent must have the shape of its output", [] {
    dynamic::graph g;
    auto x = g.input<double>("x", {2});
    (void)g.gradient({x * x}, {x}, {g.input<double>("d", {3})});
  }));
  CHECK(refused("both operands must have one element type", [] {
    dynamic::graph g;
    auto x = g.input<double>("x", {2});
    (void)g.gradient({x * x}, {x}, {g.input<float>("d", {2})});
  }));
  CHECK(refused("gradient: there must be one cotangent for each output, or none at all", [] {
    dynamic::graph g;
    auto x = g.input<double>("x", {2});
    (void)g.gradient({x * x}, {x}, {x, x});
  }));
  dynamic::graph empty;
  CHECK(empty.gradient(std::vector<dynamic::any_expr>{}, {empty.input<double>("x", {2})}).size() == 1);
  CHECK(refused("gradient: an output must depend on each value that a gradient is requested for", [] {
    dynamic::graph g;
    auto x = g.input<double>("x"), z = g.input<double>("z");
    (void)g.gradient({x * x}, {z}, {}, ct::unreachable::error);
  }));
  CHECK(refused("gradient_of: a gradient must have been computed with respect to this expression", [] {
    dynamic::graph g;
    auto x = g.input<double>("x");
    (void)g.gradient_of(x);
  }));
  CHECK(refused("gradient: a sum of contributions must have their shape and element type", [] {
    dynamic::graph g;
    auto x = g.input<double>("x", {2});
    (void)g.gradient({ct::sum(x * ct::sin(x))}, {x}, {},
                     {.sum = [](std::vector<dynamic::any_expr> const& v) -> dynamic::any_expr {
                       return ct::sum(v[0].as<double>());
                     }});
  }));
}

TEST_CASE("Pullbacks take the cotangents of outputs, and return the requested gradients") {
  CHECK(refused("pullback: a cotangent must be that of a floating output of the vjp program", [] {
    dynamic::graph g;
    auto x = g.input<double>("x", {2});
    auto y = ct::sin(x);
    auto s = g.vjp({y}, {x});
    std::vector<double> d(2);
    s.bind(x, d);
    auto b = s.run();
    b.bind(x, d);
    b.run();
  }));
  CHECK(refused("pullback: an output that is no number must be bound to a cotangent", [] {
    dynamic::graph g;
    auto x = g.input<double>("x", {2});
    auto y = ct::sin(x);
    auto s = g.vjp({y}, {x});
    std::vector<double> d(2);
    s.bind(x, d);
    auto b = s.run();
    b.run();
  }));
  {
    dynamic::expr<double> x, y;
    std::vector<double> d(2, 0.5);
    auto make = [&] {
      dynamic::graph g;
      x = g.input<double>("x", {2});
      y = ct::sin(x);
      auto s = g.vjp({y}, {x});
      s.bind(x, d);
      return s.run();
    };
    auto b = make(); // the graph and the vjp program have ended
    b.bind(y, d);
    b.run();
    CHECK(b.value(x)(1) == Approx(.5 * std::cos(.5)));
  }
  CHECK(refused("value: the gradient must be with respect to this expression", [] {
    dynamic::graph g;
    auto x = g.input<double>("x", {2});
    auto y = ct::sin(x);
    auto s = g.vjp({y}, {x});
    std::vector<double> d(2);
    s.bind(x, d);
    auto b = s.run();
    b.bind(y, d);
    b.run();
    (void)b.value(y);
  }));
  CHECK(refused("value: the program must have run before it has values", [] {
    dynamic::graph g;
    auto x = g.input<double>("x", {2});
    auto y = ct::sin(x);
    auto s = g.vjp({y}, {x});
    std::vector<double> d(2);
    s.bind(x, d);
    auto b = s.run();
    (void)b.value(x);
  }));
  CHECK(refused("program: a program must be compiled before it is used", [] {
    dynamic::graph g;
    auto x = g.input<double>("x", {2});
    auto y = ct::sin(x);
    auto s = g.vjp({y}, {x});
    std::vector<double> d(2);
    s.bind(x, d);
    auto b = s.run();
    b.bind(y, d);
    auto c = std::move(b);
    b.run();
  }));
}

TEST_CASE("Too little memory is a memory_error") {
  CHECK(refused<ct::memory_error>("memory: there must be enough memory for", [] {
    dynamic::graph g;
    auto y = g.full({I(1) << 59}, 1.0);
    auto p = g.compile({y});
    p.run();
  }));
  CHECK(refused<ct::memory_error>("memory: there must be enough memory for", [] {
    dynamic::graph g;
    auto y = g.full({I(1) << 50}, 1.0);
    auto p = g.compile({y});
    p.run();
  }));
}

TEST_CASE("A tensor, and a static program, without enough memory throw memory_error") {
  CHECK(refused<ct::memory_error>("memory: there must be enough memory for",
                                  [] { ct::tensor<double, "n"> const x(I(1) << 50); }));
  dynamic::graph g; // of a sum no element is kept
  auto const y = ct::sum(g.full({I(1) << 50}, 1.0));
  auto p = g.compile({y});
  p.run();
  CHECK(double(p.value(y)) == std::ldexp(1.0, 50));
}

TEST_CASE("A run without a workspace, or with one that is not aligned, is refused") {
  static constexpr auto f = [](auto x) {
    return ct::sum(ct::softmax(ct::reshape<16, 16>(x)) * ct::reshape<16, 16>(x));
  };
  using P = ct::program<decltype(f), ct::tensor<double, 256>>;
  static_assert(P::workspace_bytes > 0);
  ct::tensor<double, 256> x;
  x.fill(1);
  double y = 0;
  void *const none = nullptr, *const aligned = ::operator new(P::workspace_bytes + 64, std::align_val_t{64});
  CHECK(P::run(none, std::tie(x), std::tie(y)) == ct::status::workspace_too_small);
  CHECK(P::run(nullptr, std::tie(x), std::tie(y)) == ct::status::workspace_too_small);
  std::vector<char> empty;
  CHECK(P::run(empty, std::tie(x), std::tie(y)) == ct::status::workspace_too_small);
  void* const displaced = static_cast<char*>(aligned) + 8;
  CHECK(P::run(displaced, std::tie(x), std::tie(y)) == ct::status::workspace_too_small);
  CHECK(P::run(aligned, std::tie(x), std::tie(y)) == ct::status::ok);
  ::operator delete(aligned, std::align_val_t{64});
}

} // namespace
