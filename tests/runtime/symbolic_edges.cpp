// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>
#include <cotangent/inspect.hpp>

#include "catch.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

// Edges that are generated, and how many operations gradients have.

namespace {

namespace ct = cotangent;
using ct::dynamic::absent;
using ct::dynamic::command;
using ct::dynamic::symbolic_exec;
using ct::dynamic::symbolic_graph;
using ct::dynamic::symbolic_tensor;

command const add = command::of<ct::op::add>(), mul = command::of<ct::op::multiply>(),
              log_of = command::of<ct::op::log>(), div = command::of<ct::op::divide>(),
              identity = command::of<ct::op::identity>();

TEST_CASE("an edge is generated exactly if an operation reads what another one writes", "[symbolic]") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 dice(seed);
    auto const roll = [&](std::int64_t low, std::int64_t high) {
      return std::uniform_int_distribution<std::int64_t>(low, high)(dice);
    };
    ct::dynamic::graph g;
    auto const s = g.symbolic();
    std::int64_t const rows = roll(2, 6), columns = roll(2, 7);
    auto const m = s.tensor<double>({rows, columns}, "m");
    using elements = std::set<std::int64_t>;
    struct at {
      symbolic_exec exec;
      elements touched;
    };
    std::vector<at> writers, readers;
    elements taken;
    for (int k = 0; k < 60; ++k) {
      std::int64_t const i = roll(0, rows - 1), j = roll(0, columns - 1), down = roll(1, 2),
                         right = roll(1, 3);
      std::int64_t const height = roll(1, (rows - 1 - i) / down + 1),
                         width = roll(1, (columns - 1 - j) / right + 1);
      elements here;
      for (std::int64_t a = 0; a < height; ++a)
        for (std::int64_t b = 0; b < width; ++b) here.insert((i + a * down) * columns + j + b * right);
      auto const corner = s.alias(m, {.offset = {i, j}, .shape = {rows - i, columns - j}});
      auto const part = s.alias(corner, {.shape = {height, width}, .stride = {down * columns, right}});
      auto const other = s.tensor<double>({height, width});
      bool writes = k % 3 == 0;
      for (std::int64_t const e : here) writes = writes && taken.count(e) == 0;
      if (writes) {
        writers.push_back({s.exec(identity, {other}, {part}), here});
        taken.insert(here.begin(), here.end());
      } else if (k % 3 != 0) readers.push_back({s.exec(identity, {part}, {other}), here});
    }
    s.autogen();
    int wrong = 0, edges = 0;
    for (at const& w : writers)
      for (at const& r : readers) {
        bool meet = false;
        for (std::int64_t const e : r.touched) meet = meet || w.touched.count(e) != 0;
        bool edge = true;
        try {
          s.disjoin(w.exec, r.exec);
          ++edges;
        } catch (ct::graph_error const&) { edge = false; }
        wrong += edge != meet;
      }
    CAPTURE(seed);
    CHECK(wrong == 0);
    CHECK(edges > 0);
    int left = 0; // there are no others
    for (at const& w : writers)
      for (at const& r : readers) try {
          s.disjoin(r.exec, w.exec);
          ++left;
        } catch (ct::graph_error const&) {}
    CHECK(left == 0);
  }
}

/// How many operations there are, without constants.
int operations(symbolic_graph const& s) {
  int n = 0;
  s.visit([&](ct::dynamic::symbolic_node const& node) { n += node.what.kind() != command::form::set; });
  return n;
}

TEST_CASE("operations off the requested paths get no adjoint", "[symbolic]") {
  for (bool const of_x : {true, false}) {
    ct::dynamic::graph g;
    auto const s = g.symbolic();
    auto const t = [&](char const* name) { return s.tensor<double>({}, name); };
    auto const x = t("x"), y = t("y"), w = t("w"), u = t("u"), v = t("v"), z = t("z");
    s.exec(mul, {of_x ? x : y, x}, {w}, "prod");
    s.exec(div, {absent, x}, {u}, "div");
    s.exec(log_of, {u}, {v}, "log");
    s.exec(add, {w, v}, {z}, "sum");
    int const before = operations(s);
    CHECK(before == 4);
    auto const d = s.backward({z}, {of_x ? x : y}).gradient_of(of_x ? x : y);
    if (!of_x) { // the adjoint of the product alone: the sum's is the cotangent itself
      CHECK(operations(s) == 5);
      std::string names;
      s.visit(
          [&](ct::dynamic::symbolic_node const& n) { names += n.name.empty() ? n.what.name() + " " : ""; });
      CHECK(names.find("div") == std::string::npos);
    }
    auto p = s.compile({.outputs = {z, d}});
    p.bind(x, .84);
    p.bind(y, 1.23);
    p.run();
    CHECK(p.step_count() <= (of_x ? 9 : 6));
    CHECK(double(p.value<double>(z)) == Approx(of_x ? .879953 : 1.2075534).epsilon(1e-5));
    CHECK(double(p.value<double>(d)) == Approx(of_x ? 2 * .84 - 1 / .84 : .84));
  }
}

TEST_CASE("operations of backward are visited and run after all earlier ones", "[symbolic]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const t = [&](char const* name) { return s.tensor<double>({}, name); };
  auto const x = t("x"), w = t("w"), u = t("u"), v = t("v"), z = t("z"), seed = t("seed");
  auto const sum = s.exec(add, {w, v}, {z}, "forward"); // written down in another order than that of its data
  s.exec(log_of, {u}, {v}, "forward");
  s.exec(mul, {x, x}, {w}, "forward");
  s.exec(div, {absent, x}, {u}, "forward");
  auto const d = s.backward({z}, {x}, {seed}).gradient_of(x);
  auto const dd = s.backward({d}, {x}, {seed}).gradient_of(x);
  auto const after = t("after"); // made last, and asked for before by nobody
  s.exec(log_of, {z}, {after}, "forward");
  int forward = 0, backward = 0;
  s.visit([&](ct::dynamic::symbolic_node const& n) {
    if (n.name == "forward") ++forward;
    else ++backward;
    if (n.name == "forward" && forward < 5) CHECK(backward == 0);
  });
  CHECK(forward == 5);
  CHECK(backward > 5);
  // and it waits for none of it that it does not read: a gradient alone does not compute the value
  auto p = s.compile({.outputs = {d, dd}});
  p.bind(x, .84);
  p.bind(seed, 1.);
  p.run();
  CHECK(double(p.value<double>(d)) == Approx(2 * .84 - 1 / .84));
  CHECK(double(p.value<double>(dd)) == Approx(2 + 1 / (.84 * .84)));
  s.concat(sum, s.exec(ct::dynamic::noop, {d}, {}, "ready"));
  s.visit([&](ct::dynamic::symbolic_node const& n) {
    if (n.name == "ready") CHECK(n.edges_in == 2);
  });
}

TEST_CASE("an edge leads from an operation to each part of its adjoint, which only orders", "[symbolic]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const t = [&](char const* name) { return s.tensor<double>({}, name); };
  auto const x = t("x"), w = t("w"), u = t("u"), v = t("v"), z = t("z"), seed = t("seed"), other = t("other");
  auto const sum = s.exec(add, {w, v, other}, {z}, "sum");
  auto const log = s.exec(log_of, {u}, {v}, "log");
  auto const product = s.exec(mul, {x, x}, {w}, "product"),
             quotient = s.exec(div, {absent, x}, {u}, "quotient");
  s.set_flags(log, {.exact = true});
  auto const d = s.backward({z}, {x}, {seed}).gradient_of(x);
  std::vector<symbolic_exec> const all{sum, log, product, quotient};
  auto const edges = [&](symbolic_graph const& of) { // from each of the four, and how many lead to the sums
    std::vector<int> found(5);
    of.visit([&](ct::dynamic::symbolic_node const& n) {
      auto const f = of.forward_of(n.exec);
      if (!f.present()) return void(found[4] += n.name.empty());
      CHECK(of.reaches({f}, n.exec) == std::vector<bool>{true});
      CHECK(n.edges_in >= 1);
      for (std::size_t k = 0; k < 4; ++k) found[k] += of.same(all[k]) == f;
    });
    return found;
  };
  std::vector<int> const made = edges(s);
  CHECK(made[0] == 0); // the adjoint of a sum is the cotangent itself
  CHECK(made[1] == 1);
  CHECK(made[2] >= 1);
  CHECK(made[3] >= 1);
  CHECK(made[4] >= 1); // the sum of the contributions
  CHECK_FALSE(s.forward_of(sum).present());
  CHECK(edges(g.duplicate().symbolic()) == made);
  symbolic_exec of_log;
  s.visit([&](ct::dynamic::symbolic_node const& n) {
    if (s.forward_of(n.exec) == log) of_log = n.exec;
  });
  // what is not read is not computed for its adjoint's sake: the value alone needs `other`
  auto const gradient = [&](bool value) {
    auto p = value ? s.compile({.outputs = {d, z}}) : s.compile({.outputs = {d}});
    p.bind(x, .84);
    p.bind(seed, 1.);
    p.run();
    return double(p.value<double>(d));
  };
  CHECK(gradient(false) == Approx(2 * .84 - 1 / .84));
  CHECK_THROWS_AS(gradient(true), ct::graph_error);
  // an edge as any other
  int const ends = static_cast<int>(s.destinations().size());
  s.autogen();
  CHECK(static_cast<int>(s.destinations().size()) == ends);
  CHECK(edges(s) == made);
  CHECK(gradient(false) == Approx(2 * .84 - 1 / .84));
  s.disjoin(log, of_log);
  CHECK_FALSE(s.forward_of(of_log).present());
  s.free(quotient); // (then u is given)
  CHECK(edges(s)[3] == 0);
  CHECK_THROWS_AS(s.forward_of(quotient), ct::graph_error);
}

TEST_CASE("an adjoint has the exact flag of its operation", "[symbolic]") {
  for (bool const exact : {true, false})
    for (command const& what : {command::of<ct::op::matmul>({0, 0}), command::of<ct::op::multiply>()}) {
      ct::dynamic::graph g;
      auto const s = g.symbolic();
      auto const x = s.tensor<double>({3, 3}, "x"), w = s.tensor<double>({3, 3}, "w"),
                 y = s.tensor<double>({3, 3}, "y"), z = s.tensor<double>({3, 3}, "z"),
                 seed = s.tensor<double>({3, 3}, "seed");
      auto const first = s.exec(what, {x, w}, {y}, "first");
      s.exec(command::of<ct::op::tanh>(), {y}, {z}, "second");
      s.set_flags(first, {.exact = exact});
      (void)s.backward({z}, {x, w}, {seed});
      int marked = 0;
      s.visit([&](ct::dynamic::symbolic_node const& n) {
        auto const f = s.forward_of(n.exec);
        if (f.present()) CHECK(s.flags_of(n.exec).exact == (exact && f == first));
        marked += f == first;
      });
      CHECK(marked == 2);
    }
}

TEST_CASE("a noop waits for operations, and operations wait for it", "[symbolic]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const t = [&](char const* name) { return s.tensor<double>({}, name); };
  auto const a = t("a"), b = t("b"), c = t("c"), d = t("d"), e = t("e");
  auto const last = s.exec(log_of, {d}, {e}, "last"); // made first
  auto const first = s.exec(log_of, {a}, {b}, "first");
  auto const other = s.exec(log_of, {c}, {d}, "other");
  auto const wait = s.exec(ct::dynamic::noop, {b}, {}, "wait");
  s.concat(wait, other);
  std::string seen;
  s.visit([&](ct::dynamic::symbolic_node const& n) { seen += n.name + " "; });
  CHECK(seen == "first wait other last ");
  s.concat(last, first);
  CHECK_THROWS_WITH(s.compile({.outputs = {e}}), Catch::Contains("on it is"));
  s.disjoin(last, first);
  auto p = s.compile({.outputs = {b, e}});
  p.bind(a, std::exp(1.));
  p.bind(c, std::exp(std::exp(2.)));
  p.run();
  CHECK(double(p.value<double>(b)) == Approx(1));
  CHECK(double(p.value<double>(e)) == Approx(2));
}

TEST_CASE("a drawing of a symbolic graph shows its loops", "[symbolic]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({}, "start"), y = s.tensor<double>({}, "end"),
             unused = s.tensor<double>({}, "unused");
  auto const body = s.sub_graph();
  auto const goes_on = body.tensor<bool>({});
  body.exec(command("below", [](ct::term i) { return i < 3; }), {body.count()}, {goes_on});
  body.exec(mul, {x, x}, {y});
  body.carry(y, x);
  s.while_(body, goes_on);
  s.exec(log_of, {unused}, {s.tensor<double>({})});
  std::ostringstream picture;
  ct::dot(picture, g, {{"result", g.expression<double>(y)}});
  CHECK(picture.str().find("loop") != std::string::npos);
  CHECK(picture.str().find("mul") != std::string::npos);
  CHECK(picture.str().find("nothing") == std::string::npos);
  CHECK(picture.str().find("log") == std::string::npos);
}

} // namespace
