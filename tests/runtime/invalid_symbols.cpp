// SPDX-License-Identifier: BSL-1.0
#include <cotangent/dynamic.hpp>

#include "../words.hpp"

#include <climits>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

// Calls of the symbolic API that are refused.

namespace {

namespace ct = cotangent;
namespace dynamic = cotangent::dynamic;
using I = std::int64_t;
constexpr I MAX = INT64_MAX;

TEST_CASE("Symbols must be alive, present, and of the same graph") {
  CHECK(refused("symbolic: the number of a sub-graph must be at least 0 and less than the number of graphs",
                [] {
                  dynamic::graph g;
                  auto s = g.symbolic();
                  auto q = s.graph(999);
                  auto t = q.tensor<double>({2}, "t");
                  (void)t;
                }));
  CHECK(refused("symbolic: the number of a sub-graph must be at least 0 and less than the number of graphs",
                [] {
                  dynamic::graph g;
                  auto s = g.symbolic();
                  auto q = s.graph(-5);
                  (void)q.outer();
                }));
  CHECK(refused("symbolic: a symbol that was freed must not be used", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    auto t = s.tensor<double>({2}, "t");
    s.free(t);
    (void)s.name_of(t);
  }));
  CHECK(refused("symbolic: a symbol that was freed must not be used", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    auto t = s.tensor<double>({2}, "t");
    s.free(t);
    s.free(t);
  }));
  CHECK(refused("symbolic: a symbol that was freed must not be used", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    auto t = s.tensor<double>({2}, "t");
    s.free(t);
    auto u = s.tensor<double>({3}, "u");
    (void)u;
    (void)s.shape_of(t);
  }));
  CHECK(refused("symbolic: a symbol must be given here", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    (void)s.shape_of(dynamic::symbolic_tensor{});
  }));
  CHECK(refused("the operands must be expressions of one graph", [] {
    dynamic::graph g, h;
    auto s = g.symbolic();
    auto t = h.symbolic().tensor<double>({2}, "t");
    auto u = s.tensor<double>({2}, "u");
    (void)s.exec(dynamic::command::of<ct::op::exp>(), {t}, {u}, "e");
  }));
  CHECK(refused("free: a symbol that an operation, an alias or an expression still uses must not be freed", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    auto t = s.tensor<double>({2}, "t"), u = s.tensor<double>({2}, "u");
    (void)s.exec(dynamic::command::of<ct::op::exp>(), {t}, {u}, "e");
    s.free(t);
  }));
  CHECK(refused("symbolic: a symbol that was freed must not be used", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    auto t = s.tensor<double>({2}, "t"), u = s.tensor<double>({2}, "u");
    auto e = s.exec(dynamic::command::of<ct::op::exp>(), {t}, {u}, "e");
    auto p = s.compile({.outputs = {u}});
    s.free(e);
    s.free(t);
    s.free(u);
    auto w = s.tensor<double>({2}, "w");
    std::vector<double> x(2, 1);
    p.bind(t, x);
    p.run();
    (void)p.value<double>(u);
    (void)w;
  }));
  CHECK(refused("symbolic: a symbol must be given here", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    auto t = s.tensor<double>({2}, "t"), u = s.tensor<double>({2}, "u");
    auto e = s.exec(dynamic::command::of<ct::op::exp>(), {t}, {u}, "e");
    auto p = s.compile({.outputs = {u}});
    (void)e;
    std::vector<double> x(2, 1);
    p.bind(dynamic::symbolic_tensor{}, x);
  }));
  CHECK(refused("while_: a body must be a sub-graph of this graph that no loop or branch runs yet", [] {
    dynamic::graph g, h;
    auto s = g.symbolic();
    auto b = h.symbolic().sub_graph("b");
    auto t = b.tensor<bool>({}, "t");
    (void)s.while_(b, t);
  }));
  CHECK(refused("the operands must be expressions of one graph", [] {
    dynamic::graph g, h;
    auto s = g.symbolic();
    auto t = s.tensor<double>({2}, "t");
    auto u = h.symbolic().tensor<double>({2}, "u");
    s.set_peer(t, u);
  }));
  CHECK(refused("symbolic: a symbol that was freed must not be used", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    auto t = s.tensor<double>({2}, "t"), u = s.tensor<double>({2}, "u");
    auto e = s.exec(dynamic::command::of<ct::op::exp>(), {t}, {u}, "e");
    s.free(e);
    s.set_command(e, dynamic::command::of<ct::op::sin>());
  }));
}

TEST_CASE("Commands refuse operands that do not fit") {
  CHECK(refused("exec: there must be as many inputs as the command takes", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    auto t = s.tensor<double>({2}, "t"), u = s.tensor<double>({2}, "u");
    (void)s.exec(dynamic::command::of<ct::op::exp>(), {t, t}, {u}, "e");
  }));
  CHECK(refused("exec: there must be as many outputs as the command makes", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    auto t = s.tensor<double>({2}, "t"), u = s.tensor<double>({2}, "u");
    (void)s.exec(dynamic::command::of<ct::op::exp>(), {t}, {u, t}, "e");
  }));
  CHECK(refused("exec: there must be as many outputs as the command makes", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    auto t = s.tensor<double>({2}, "t");
    (void)s.exec(dynamic::command::of<ct::op::exp>(), {t}, {}, "e");
  }));
  CHECK(refused("symbolic: a shape must be set, or follow from the operation that writes the tensor", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    auto t = s.tensor<double>(dynamic::automatic, "t"), u = s.tensor<double>(dynamic::automatic, "u");
    (void)s.exec(dynamic::command::of<ct::op::exp>(), {t}, {u}, "e");
    (void)s.compile({.outputs = {u}});
  }));
  CHECK(refused("exec: a command must have as many attributes as its operation takes", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    auto t = s.tensor<double>({2}, "t"), u = s.tensor<double>({}, "u");
    auto e = s.exec(dynamic::command::of<ct::op::sum>({1}), {t}, {u}, "e");
    s.set_params(e, {});
    auto p = s.compile({.outputs = {u}});
    p.run();
  }));
  CHECK(refused("an axis must be less than the rank of the operand", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    auto t = s.tensor<double>({2}, "t"), u = s.tensor<double>({}, "u");
    auto e = s.exec(dynamic::command::of<ct::op::sum>({1}), {t}, {u}, "e");
    s.set_params(e, {MAX});
    auto p = s.compile({.outputs = {u}});
    p.run();
  }));
  CHECK(refused("dynamic: a size must be at least 0, and all together must fit 64 bits", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    auto t = s.tensor<double>({2}, "t");
    s.set_shape(t, {-2});
  }));
  CHECK(refused("exec: an output must have the element type and the shape that the operation gives it", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    auto t = s.tensor<double>({2}, "t"), u = s.tensor<double>({2}, "u");
    (void)s.exec(dynamic::command::of<ct::op::exp>(), {t}, {u}, "e");
    s.set_shape(t, {3});
    auto p = s.compile({.outputs = {u}});
    p.run();
  }));
  CHECK(refused("symbolic: a symbol must be given here", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    auto t = s.tensor<double>({2}, "t"), u = s.tensor<double>({2}, "u");
    (void)s.exec(dynamic::command("bad", [](ct::term) { return ct::term{}; }), {t}, {u}, "e");
    (void)s.compile({.outputs = {u}});
  }));
  CHECK(
      refused("view: every element of a view, its offset included, must be within the viewed tensor or view", [] {
        dynamic::graph g;
        auto s = g.symbolic();
        auto t = s.tensor<double>({2}, "t");
        (void)s.alias(t, {.offset = {2}, .shape = {2}}, "a");
      }));
}

TEST_CASE("Edges must not form a cycle") {
  CHECK(refused("graph: a node must not depend on its own result", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    auto t = s.tensor<double>({2}, "t"), u = s.tensor<double>({2}, "u");
    (void)s.exec(dynamic::command::of<ct::op::exp>(), {t}, {u}, "e");
    (void)s.exec(dynamic::command::of<ct::op::exp>(), {u}, {t}, "f");
    auto p = s.compile({.outputs = {u}});
    p.run();
  }));
  CHECK(refused("graph: a node must not depend on its own result", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    auto t = s.tensor<double>({2}, "t");
    (void)s.exec(dynamic::command::of<ct::op::exp>(), {t}, {t}, "e");
    auto p = s.compile({.outputs = {t}});
    p.run();
  }));
  CHECK(refused("graph: a node must not depend on its own result", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    auto t = s.tensor<double>({2}, "t"), u = s.tensor<double>({2}, "u"), v = s.tensor<double>({2}, "v");
    auto e = s.exec(dynamic::command::of<ct::op::exp>(), {t}, {u}, "e");
    auto f = s.exec(dynamic::command::of<ct::op::exp>(), {u}, {v}, "f");
    s.concat(f, e);
    auto p = s.compile({.outputs = {v}});
    p.run();
  }));
  CHECK(refused("concat: an edge must join two different operations of one graph", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    auto t = s.tensor<double>({2}, "t"), u = s.tensor<double>({2}, "u");
    auto e = s.exec(dynamic::command::of<ct::op::exp>(), {t}, {u}, "e");
    s.concat(e, e);
  }));
}

TEST_CASE("Loops and branches refuse invalid sub-graphs") {
  CHECK(
      refused("while_: the condition must be one bool of the body, computed without loops and branches", [] {
        dynamic::graph g;
        auto s = g.symbolic();
        auto b = s.sub_graph("b");
        auto t = b.tensor<double>({}, "t");
        (void)s.while_(b, t);
      }));
  CHECK(refused("while_: a body must be a sub-graph of this graph that no loop or branch runs yet", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    auto b = s.sub_graph("b");
    auto t = b.tensor<bool>({}, "t");
    (void)s.while_(b, t);
    (void)s.while_(b, t);
  }));
  CHECK(refused("while_: a body must be a sub-graph of this graph that no loop or branch runs yet", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    auto t = s.tensor<bool>({}, "t");
    (void)s.while_(s, t);
  }));
  CHECK(refused("symbolic: the sub-graph must be the body of a loop", [] {
    dynamic::graph g;
    (void)g.symbolic().count();
  }));
  CHECK(refused("symbolic: the operation must be a choice that case_of created", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    auto t = s.tensor<double>({2}, "t"), u = s.tensor<double>({2}, "u");
    auto e = s.exec(dynamic::command::of<ct::op::exp>(), {t}, {u}, "e");
    (void)s.branch(e);
  }));
  CHECK(refused("case_of: the index must be an integer scalar", [] {
    dynamic::graph g;
    auto s = g.symbolic();
    (void)s.case_of(s.tensor<double>({}, "t"));
  }));
  CHECK(refused(
      "hookup: a symbol must represent one symbol of the enclosing graph, with its element type and shape",
      [] {
        dynamic::graph g;
        auto s = g.symbolic();
        auto t = s.tensor<double>({2}, "t");
        s.hookup(t, t);
      }));
}

TEST_CASE("An exception of a command propagates, and the graph stays unchanged") {
  dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({2}, "x"), y = s.tensor<double>({2}, "y");
  bool bad = true;
  dynamic::command const mine("mine", [&](ct::term t) -> ct::term {
    if (bad) throw std::runtime_error("mine");
    return t;
  });
  CHECK_THROWS_AS(s.exec(mine, {x}, {y}), std::runtime_error);
  CHECK(s.size() == 0);
  bad = false;
  s.exec(mine, {x}, {y});
  auto p = s.compile({.outputs = {y}});
  p.bind(x, {1., 2.});
  p.run();
  CHECK(p.value<double>(y)(1) == 2);
}

} // namespace
