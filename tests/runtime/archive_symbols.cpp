// SPDX-License-Identifier: BSL-1.0
// Graphs of the symbolic API in files: constants, noops, edges, loops that were moved into others. Each is read as it was written.
#include <cotangent/cotangent.hpp>

#include <cotangent/archive.hpp>
#include <cotangent/dynamic.hpp>

#include "../archive_bytes.hpp"
#include "../symbolic_parts.hpp"
#include "catch.hpp"

#include <cmath>
#include <string>
#include <vector>

namespace {

namespace ct = cotangent;
using ct::dynamic::command;
using ct::dynamic::symbolic_exec;
using ct::dynamic::symbolic_tensor;

command const exp_of = command::of<ct::op::exp>(), sin_of = command::of<ct::op::sin>(),
              sum_of = command::of<ct::op::sum>({1});

/// The file again, after it was seen to be written as the same bytes.
ct::archive::contents again(ct::dynamic::graph& g, char const* name, symbolic_tensor const& y) {
  auto const bytes = ct::archive::bytes_of(g, {}, {{name, g.expression<double>(y)}});
  auto c = ct::archive::load_bytes(bytes);
  CHECK(ct::archive::bytes_of(c.graph, {}, {{name, c.find(name)}}) == bytes);
  return c;
}
std::string execs(ct::dynamic::symbolic_graph const& s) {
  std::string text;
  s.visit([&](ct::dynamic::symbolic_node const& n) {
    text += n.name + "(" + std::to_string(n.edges_in) + ") ";
  });
  return text;
}

TEST_CASE("the elements of a constant are saved from a graph with symbols", "[archive]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = g.input<double>("x", {300});
  auto const y = s.tensor<double>({300}, "y");
  std::vector<double> elements;
  for (int k = 0; k < 300; ++k) elements.push_back(k + .5);
  auto const c = g.constant(elements);
  s.exec(command::of<ct::op::multiply>(), {s.symbol_of(x), s.symbol_of(c)}, {y});
  auto file = again(g, "y", y);
  auto p = file.graph.compile({file.find("y")});
  p.bind(file.find<double>("x"), std::vector<double>(300, 2.0));
  p.run();
  for (int k = 0; k < 300; ++k) CHECK(p.value(file.find<double>("y"))(k) == 2 * elements[static_cast<std::size_t>(k)]);
}

TEST_CASE("a tensor read through two aliases is differentiated, saved, and differentiated again",
          "[archive]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({2}, "x"), y = s.tensor<double>({1}), z = s.tensor<double>({1}),
             w = s.tensor<double>({1}), l = s.tensor<double>({}, "l");
  s.exec(exp_of, {s.alias(x, {.shape = {1}})}, {y});
  s.exec(sin_of, {s.alias(x, {.offset = {1}, .shape = {1}})}, {z});
  s.exec(command::of<ct::op::multiply>(), {y, z}, {w});
  s.exec(sum_of, {w}, {l});
  auto const table = s.backward({l}, {x});
  CHECK(s.name_of(table.producer_of(table.gradient_of(x))) == "join");
  auto c = again(g, "l", l);
  CHECK(execs(c.graph.symbolic()) == execs(s));
  auto const t = c.graph.symbolic();
  auto const X = t.symbol_of(c.find("x")), L = t.symbol_of(c.find("l"));
  auto const second = t.backward({L}, {X});
  auto const old = t.symbol_of(c.graph.gradient_of(c.find<double>("x")));
  auto p = t.compile({.outputs = {old, second.gradient_of(X)}});
  p.bind(X, std::vector<double>{.5, .7});
  p.run();
  for (symbolic_tensor const& d : {old, second.gradient_of(X)}) {
    CHECK(p.value<double>(d)(0) == Approx(std::exp(.5) * std::sin(.7)));
    CHECK(p.value<double>(d)(1) == Approx(std::exp(.5) * std::cos(.7)));
  }
}

TEST_CASE("noops are loaded with names, edges and the operations that wait for them", "[archive]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({2}, "x"), y = s.tensor<double>({2}, "y"), z = s.tensor<double>({2}, "z"),
             w = s.tensor<double>({2}, "w");
  auto const last = s.exec(exp_of, {y}, {z}, "last");
  auto const wait = s.exec(ct::dynamic::noop, {w}, {y}, "wait"), alone = s.exec(ct::dynamic::noop, {}, {}, "alone");
  s.exec(sin_of, {x}, {w}, "first");
  auto const other = s.exec(sin_of, {x}, {s.tensor<double>({2})}, "other");
  s.concat(alone, other);
  s.concat(alone, last);
  s.set_hint(wait, "a hint");
  s.set_flags(other, {.keep = true, .exact = true});
  auto c = again(g, "z", z);
  auto const t = c.graph.symbolic();
  CHECK(execs(t) == execs(s));
  CHECK(t.hint_of(t.find_exec("wait")) == "a hint");
  CHECK(t.command_of(t.find_exec("wait")) == command(ct::dynamic::noop));
  CHECK(t.inputs_of(t.find_exec("wait")) == std::vector{t.find_tensor("w")});
  CHECK(t.outputs_of(t.find_exec("wait")) == std::vector{t.find_tensor("y")});
  CHECK(t.flags_of(t.find_exec("other")).keep);
  CHECK(t.flags_of(t.find_exec("other")).exact);
  CHECK_FALSE(t.flags_of(t.find_exec("last")).keep);
  t.disjoin(t.find_exec("alone"), t.find_exec("last"));
  CHECK(ct::archive::load_bytes(ct::archive::bytes_of(c.graph)).graph.symbolic().size() == s.size());
}

TEST_CASE("an operation with many outgoing edges is loaded again", "[archive]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({}, "x"), y = s.tensor<double>({}, "y");
  auto const first = s.exec(exp_of, {x}, {y}, "first");
  for (int k = 0; k < 300; ++k) s.concat(first, s.exec(sin_of, {x}, {s.tensor<double>({})}, "e" + std::to_string(k)));
  auto c = again(g, "y", y);
  CHECK(execs(c.graph.symbolic()) == execs(s));
}

TEST_CASE("a gradient with a tape limit, whose loops were moved into others, is loaded again",
          "[archive][tape_limit]") {
  using ct::dynamic::checkpoints;
  for (auto const schedule : {checkpoints::automatic, checkpoints::equally_spaced, checkpoints::binomial}) {
    CAPTURE(static_cast<int>(schedule));
    ct::dynamic::graph g;
    auto const x = g.input<double>("x");
    auto const y = ct::for_loop(900, [&](auto, auto z) { return ct::sin(z) * z; }, x);
    ct::dynamic::gradient_options const options{.tape = {.limit = 4096, .schedule = schedule}};
    auto const d = g.gradient({y}, {x}, {}, options).front();
    bool moved = false; // into a sub-graph with a higher number
    for (std::int32_t r = 0; r < g.get().regions.size(); ++r) moved = moved || g.get().regions[r].parent > r;
    CHECK(moved);
    auto const bytes = ct::archive::bytes_of(g, {}, {{"y", y}, {"d", d}});
    auto c = ct::archive::load_bytes(bytes);
    CHECK(ct::archive::bytes_of(c.graph, {}, {{"y", c.find("y")}, {"d", c.find("d")}}) == bytes);
    auto const more = c.graph.gradient({c.find("y")}, {c.find("x")}, {}, options).front();
    auto p = g.compile({d});
    auto q = c.graph.compile({c.find("d"), more});
    p.bind(x, 1.25);
    q.bind(c.find<double>("x"), 1.25);
    p.run();
    q.run();
    CHECK(double(q.value(c.find<double>("d"))) == double(p.value(d)));
    CHECK(double(q.value(more.as<double>())) == double(p.value(d)));
  }
}

} // namespace
