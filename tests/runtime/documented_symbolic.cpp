// SPDX-License-Identifier: BSL-1.0
// The code of docs/how-to/symbolic-graphs.md.
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace {

namespace ct = cotangent;

TEST_CASE("a graph is built from symbols, changed and differentiated", "[documented][symbolic]") {
  // [first]
  using ct::dynamic::command;
  ct::dynamic::graph g;
  auto s = g.symbolic();
  auto x = s.tensor<double>({3}, "x"), y = s.tensor<double>({3}, "y"), z = s.tensor<double>({}, "z");
  auto curve = s.exec(command::of<ct::op::exp>(), {x}, {y}, "curve");
  s.exec(command::of<ct::op::sum>({0b1}), {y}, {z}, "sum"); // the axes as bits
  auto dx = s.backward({z}, {x}).gradient_of(x);

  auto p = s.compile({.outputs = {z, dx}});
  p.bind(x, {0.0, 1.0, 2.0});
  p.run();
  double const value = p.value<double>(z), slope = p.value<double>(dx)[2];
  // [/first]
  CHECK(value == Approx(1 + std::exp(1) + std::exp(2)));
  CHECK(slope == Approx(std::exp(2)));

  // [change]
  s.set_command(curve,
                command("gaussian", [](ct::term t) { return ct::extend::apply<ct::op::exp>(-(t * t)); }));
  auto after = s.backward({z}, {x}); // a table of its own; the first one is still of exp
  std::string seen;
  s.visit([&](ct::dynamic::symbolic_node const& n) { seen += n.what.name() + " "; });
  // [/change]
  CHECK(seen.find("gaussian sum") != std::string::npos);
  auto q = s.compile({.outputs = {z, after.gradient_of(x)}});
  q.bind(x, {0.0, 1.0, 2.0});
  q.run();
  CHECK(double(q.value<double>(z)) == Approx(1 + std::exp(-1) + std::exp(-4)));
  CHECK(q.value<double>(after.gradient_of(x))[1] == Approx(-2 * std::exp(-1)));
}

TEST_CASE("aliases are read and written, and shapes are inferred", "[documented][symbolic]") {
  using ct::dynamic::command;
  // [aliases]
  ct::dynamic::graph g;
  auto s = g.symbolic();
  auto x = s.tensor<double>({4, 2}, "x"), joined = s.tensor<double>({4, 3}, "joined");
  auto left = s.alias(joined, {.shape = {4, 2}}),
       right = s.alias(joined, {.offset = {0, 2}, .shape = {4, 1}});
  auto rows = s.tensor<double>(ct::dynamic::automatic, "rows"); // its shape follows
  s.exec(command::of<ct::op::tanh>(), {x}, {left});
  s.exec(command::set(1.0), {}, {right});
  s.exec(command::of<ct::op::sum>({0b10}), {joined}, {rows});
  // [/aliases]
  auto p = s.compile({.outputs = {rows}});
  p.bind(x, std::vector<double>(8, .5));
  p.run();
  CHECK(p.value<double>(rows).size() == 4);
  CHECK(p.value<double>(rows)[3] == Approx(1 + 2 * std::tanh(.5)));
}

TEST_CASE("a sub-graph is run as a loop", "[documented][symbolic]") {
  using ct::dynamic::command;
  // [loop]
  ct::dynamic::graph g;
  auto s = g.symbolic();
  auto x = s.tensor<double>({}, "x"), w = s.tensor<double>({}, "w"), y = s.tensor<double>({}, "y");
  auto body = s.sub_graph("body");
  auto goes_on = body.tensor<bool>({}, "goes on");
  body.exec(command("below 5", [](ct::term i) { return i < 5; }), {body.count()}, {goes_on});
  body.exec(command::of<ct::op::multiply>(), {x, w},
            {y});   // symbols around the body: x and w are read, y is written
  body.carry(y, x); // the next x is this y
  s.while_(body, goes_on);
  auto table = s.backward({y}, {x, w});
  // [/loop]
  auto p = s.compile({.outputs = {y, table.gradient_of(x), table.gradient_of(w)}});
  p.bind(x, 2.0);
  p.bind(w, 1.5);
  p.run();
  CHECK(double(p.value<double>(y)) == Approx(2 * std::pow(1.5, 5)));
  CHECK(double(p.value<double>(table.gradient_of(x))) == Approx(std::pow(1.5, 5)));
  CHECK(double(p.value<double>(table.gradient_of(w))) == Approx(10 * std::pow(1.5, 4)));
}

TEST_CASE("one of several sub-graphs is selected", "[documented][symbolic]") {
  using ct::dynamic::command;
  // [choice]
  ct::dynamic::graph g;
  auto s = g.symbolic();
  auto x = s.tensor<double>({2}, "x"), y = s.tensor<double>({2}, "y");
  auto which = s.tensor<std::int64_t>({}, "which");
  auto choice = s.case_of(which);
  s.branch(choice).exec(command::of<ct::op::exp>(), {x}, {y}); // 0
  s.branch(choice).exec(command::of<ct::op::sin>(), {x}, {y}); // 1
  s.bypass(choice, x, y);                                      // -1
  // [/choice]
  auto p = s.compile({.outputs = {y}});
  p.bind(x, {.5, 1.});
  for (int const k : {0, 1, -1}) {
    p.bind(which, int(k));
    p.run();
    CHECK(p.value<double>(y)[0] == Approx(k == 0 ? std::exp(.5) : k == 1 ? std::sin(.5) : .5));
  }
}

TEST_CASE("expressions are used among symbols, and a graph is duplicated", "[documented][symbolic]") {
  using ct::dynamic::command;
  // [mixed]
  ct::dynamic::graph g;
  auto a = g.input<double>("a", {2});
  auto s = g.symbolic();
  auto squares = s.tensor<double>({2}, "squares");
  s.exec(command::of<ct::op::square>(), {s.symbol_of(ct::exp(a))}, {squares}, "square");
  auto loss = ct::sum(g.expression<double>(squares));

  auto other = g.duplicate([](ct::dynamic::symbolic_exec const&, command const& c) {
    return c == command::of<ct::op::square>() ? command::of<ct::op::abs>() : c;
  });
  // [/mixed]
  auto p = g.compile({loss});
  p.bind(a, {0.0, 1.0});
  p.run();
  CHECK(double(p.value(loss)) == Approx(1 + std::exp(2)));
  auto t = other.symbolic();
  auto q = t.compile({.outputs = {t.same(squares)}});
  q.bind(t.same(s.symbol_of(a)), {0.0, 1.0});
  q.run();
  CHECK(q.value<double>(t.same(squares))[1] == Approx(std::exp(1)));
}

} // namespace
