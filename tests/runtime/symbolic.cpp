// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include <cmath>
#include <string>
#include <vector>

// Graphs by their symbols: tensors, operations, edges; what is asked of them and changed, and their programs.

namespace {

namespace ct = cotangent;
using ct::dynamic::absent;
using ct::dynamic::command;
using ct::dynamic::symbolic_exec;
using ct::dynamic::symbolic_graph;
using ct::dynamic::symbolic_tensor;
using tensors = std::vector<symbolic_tensor>;

command const add = command::of<ct::op::add>(), mul = command::of<ct::op::multiply>(),
              sub = command::of<ct::op::subtract>(), log = command::of<ct::op::log>(),
              div = command::of<ct::op::divide>(), exp = command::of<ct::op::exp>();

/// z = x x + log(1 / x)
struct c1 {
  symbolic_tensor x, w, u, v, z;
  c1(symbolic_graph const& s, std::string const& n)
      : x(s.tensor<double>({}, "x" + n)), w(s.tensor<double>({}, "w" + n)), u(s.tensor<double>({}, "u" + n)),
        v(s.tensor<double>({}, "v" + n)), z(s.tensor<double>({}, "z" + n)) {
    s.exec(add, {w, v}, {z}, "sum" + n); // in any order
    s.exec(mul, {x, x}, {w}, "prod" + n);
    s.exec(div, {absent, x}, {u}, "div" + n);
    s.exec(log, {u}, {v}, "log" + n);
  }
};

TEST_CASE("one operation may read an input twice, and a quotient may lack its numerator", "[symbolic]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  c1 const c(s, "");
  CHECK(s.size() == 4);
  auto const table = s.backward({c.z}, {c.x});
  auto const dx = table.gradient_of(c.x);
  REQUIRE(dx.present());
  auto p = s.compile({.outputs = {c.z, dx}});
  for (double const x : {.84, 2.5}) {
    p.bind(c.x, double(x));
    p.run();
    CHECK(double(p.value<double>(c.z)) == Approx(x * x - std::log(x)));
    CHECK(double(p.value<double>(dx)) == Approx(2 * x - 1 / x));
  }
}

TEST_CASE("an independent variable has gradient zero, from one operation of its own", "[symbolic]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({}, "x"), y = s.tensor<double>({}, "y");
  s.exec(command::set(1), {}, {y}, "one");
  auto const table = s.backward({y}, {x});
  auto const dx = table.gradient_of(x);
  REQUIRE(dx.present());
  CHECK_FALSE(table.gradient_of(y).present());
  CHECK(s.command_of(table.producer_of(dx)) == command::set(0.0));
  auto p = s.compile({.outputs = {dx, y}});
  p.run();
  CHECK(double(p.value<double>(dx)) == 0);
  CHECK(double(p.value<double>(y)) == 1);
  CHECK_THROWS_AS(s.backward({y}, {x}, {}, ct::unreachable::error), ct::unreachable_error);
}

TEST_CASE("several outputs, several gradients, and outputs that depend on each other", "[symbolic]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const t = [&](char const* name) { return s.tensor<double>({}, name); };
  auto const x = t("x"), y = t("y"), one = t("one"), w = t("w"), u = t("u"), v = t("v");
  s.exec(command::set(1), {}, {one});
  s.exec(sub, {x, y}, {w});
  s.exec(add, {y, one}, {u});
  s.exec(mul, {w, u}, {v});
  auto const table = s.backward({v}, {x, y});
  c1 const a(s, "0"), b(s, "1");
  auto const both = s.backward({a.z, b.z}, {a.x, b.x});
  auto const q = t("q"), r = t("r");
  s.exec(mul, {x, x}, {q});
  s.exec(mul, {q, q}, {r});
  auto const of_itself = s.backward({r}, {r}), twice = s.backward({q, r}, {x});
  auto const all = [&] {
    tensors o{v,
              a.z,
              b.z,
              table.gradient_of(x),
              table.gradient_of(y),
              both.gradient_of(a.x),
              both.gradient_of(b.x),
              of_itself.gradient_of(r),
              twice.gradient_of(x)};
    return s.compile({.outputs = o});
  };
  auto p = all();
  p.bind(x, 43.24);
  p.bind(y, .38);
  p.bind(a.x, .84);
  p.bind(b.x, .24);
  p.run();
  auto const value = [&](symbolic_tensor const& of) { return double(p.value<double>(of)); };
  CHECK(value(v) == Approx(59.1468));
  CHECK(value(table.gradient_of(x)) == Approx(1.38));
  CHECK(value(table.gradient_of(y)) == Approx(41.48));
  CHECK(value(a.z) == Approx(.879953).epsilon(1e-5));
  CHECK(value(b.z) == Approx(1.4847164));
  CHECK(value(both.gradient_of(a.x)) == Approx(.489524).epsilon(1e-5));
  CHECK(value(both.gradient_of(b.x)) == Approx(-3.6866667));
  CHECK(value(of_itself.gradient_of(r)) == 1);
  CHECK(value(twice.gradient_of(x)) == Approx(2 * 43.24 + 4 * std::pow(43.24, 3)));
}

TEST_CASE("a graph tells which operations lead to another", "[symbolic]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const t = [&] { return s.tensor<float>({}); };
  auto const a = t(), b = t(), c = t(), d = t(), e = t(), f = t(), h = t();
  auto const log1 = s.exec(log, {a}, {b}), log2 = s.exec(log, {c}, {d}), sum1 = s.exec(add, {b, d}, {e});
  auto const log3 = s.exec(log, {e}, {f}), sum2 = s.exec(add, {f, a}, {h});
  using bits = std::vector<bool>;
  CHECK(s.reaches({sum1, log1, log2}, sum1) == bits{true, true, true});
  CHECK(s.reaches({log3, log1, log2}, sum2) == bits{true, true, true});
  CHECK(s.reaches({sum2, log3, log1}, sum1) == bits{false, false, true});
  s.concat(log2, log1);
  CHECK(s.reaches({log1, log2}, log1) == bits{true, true});
  CHECK(s.reaches({log1, log2}, log2) == bits{false, true});
}

TEST_CASE("edges are added and removed, and sources and destinations change with them", "[symbolic]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const t = [&](char const* name) { return s.tensor<float>({}, name); };
  auto const a = t("a"), b = t("b"), c = t("c"), d = t("d"), x = t("x"), y = t("y"), z = t("z");
  auto const prod = s.exec(mul, {x, y}, {z}, "prod"), log0 = s.exec(log, {c}, {d}, "log0"),
             sum = s.exec(add, {a, b}, {c}, "sum");
  s.concat(sum, prod);
  s.concat(sum, log0);
  s.disjoin(sum, prod);
  CHECK_THROWS_AS(s.disjoin(sum, prod), ct::graph_error);
  s.autogen(ct::dynamic::autogen_of::ends);
  CHECK(s.sources().size() == 2);
  CHECK(s.destinations().size() == 2);
  s.free(prod);
  REQUIRE(s.sources().size() == 1);
  REQUIRE(s.destinations().size() == 1);
  CHECK(s.sources()[0] == sum);
  CHECK(s.destinations()[0] == log0);
  CHECK_THROWS_AS(s.set_io(prod, {x, y}, {z}), ct::graph_error);
  CHECK_THROWS_AS(s.concat(prod, sum), ct::graph_error);
  s.free(z);
  CHECK_THROWS_WITH(s.exec(mul, {x, y}, {z}), Catch::Contains("a symbol that was freed must not be used"));
  auto const again = s.tensor<float>({}, "again"); // in the same place
  CHECK(again.id == z.id);
  CHECK_FALSE(s.is_alive(z));
  CHECK_THROWS_AS(s.exec(mul, {x, y}, {z}), ct::graph_error);
  auto const other = s.exec(mul, {x, y}, {again}, "other");
  CHECK(other.id == prod.id);
  CHECK_FALSE(s.is_alive(prod));
  CHECK(s.find_exec("other") == other);
  CHECK(s.find_tensor("again") == again);
  CHECK_FALSE(s.find_exec("prod").present());
}

TEST_CASE("a walk visits each operation once, in a valid order", "[symbolic]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const a = s.tensor<float>({2, 3}, "a"), w = s.tensor<float>({3, 4}, "w"),
             b = s.tensor<float>({2, 4}, "b"), m = s.tensor<float>({2, 4}, "m");
  command const softmax("softmax", [](ct::term x) { return ct::extend::softmax(x, 1); });
  s.exec(softmax, {b}, {m}, "softmax");
  s.exec(command::of<ct::op::matmul>({0, 0}), {a, w}, {b}, "matmul");
  std::vector<std::string> seen;
  s.visit([&](ct::dynamic::symbolic_node const& n) {
    seen.push_back(n.name + " " + std::to_string(n.edges_in) + " " + std::to_string(n.edges_out));
  });
  CHECK(seen == std::vector<std::string>{"matmul 0 1", "softmax 1 0"});
}

TEST_CASE("shapes are set later, or inferred", "[symbolic]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const a = s.tensor<double>(ct::dynamic::automatic, "a"),
             b = s.tensor<double>(ct::dynamic::automatic, "b"),
             c = s.tensor<double>(ct::dynamic::automatic, "c");
  s.exec(command::of<ct::op::sum>({1}), {b}, {c}, "sum");
  s.exec(log, {a}, {b}, "log");
  CHECK_THROWS_WITH(s.compile({.outputs = {b}}), Catch::Contains("a shape must be set, or follow"));
  for (std::int64_t const n : {1, 3}) {
    s.set_shape(a, {n});
    auto p = s.compile({.outputs = {b, c}});
    p.bind(a, std::vector<double>(static_cast<std::size_t>(n), 1.25));
    p.run();
    CHECK(p.value<double>(b).size() == n);
    CHECK(p.value<double>(b)[0] == Approx(.2231436));
    CHECK(double(p.value<double>(c)) == Approx(.2231436 * double(n)));
    CHECK(s.is_automatic(b));
  }
}

TEST_CASE("a shape that is set later is that of a loop's symbols, too, except of those with a shape of their own", "[symbolic]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({3}, "x"), y = s.tensor<double>({3}, "y");
  auto const outer = s.sub_graph("outer"), body = outer.sub_graph("body");
  auto const again = outer.tensor<bool>({}, "again"), go = body.tensor<bool>({}, "go");
  command const below_3("below 3", [](ct::term i) { return i < 3; });
  body.exec(below_3, {body.count()}, {go});
  body.exec(command::of<ct::op::negate>(), {x}, {y});
  body.carry(y, x);
  outer.exec(below_3, {outer.count()}, {again});
  outer.while_(body, go);
  outer.carry(y, x);
  s.while_(outer, again);
  for (std::int64_t const n : {2, 0, 5}) {
    s.set_shape(x, {n});
    s.set_shape(y, {n});
    auto p = s.compile({.outputs = {y}});
    p.bind(x, std::vector<double>(static_cast<std::size_t>(n), 1.25));
    p.run();
    CHECK(p.value<double>(y).size() == n);
    if (n > 0) CHECK(std::abs(p.value<double>(y)[n - 1]) == 1.25);
  }
  body.set_shape(body.resolve(x), {4});
  s.set_shape(x, {6});
  CHECK(body.shape_of(body.resolve(x))[0].number == 4);
  CHECK(outer.shape_of(outer.resolve(x))[0].number == 6);
  CHECK_THROWS_AS(s.compile({.outputs = {y}}), ct::error);
}

} // namespace
