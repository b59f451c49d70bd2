// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

// Symbols of a graph, whoever makes them: hooks, the symbols of one graph in another, values after a run.

namespace {

namespace ct = cotangent;
using ct::dynamic::absent;
using ct::dynamic::automatic;
using ct::dynamic::command;
using ct::dynamic::symbolic_exec;
using ct::dynamic::symbolic_graph;
using ct::dynamic::symbolic_tensor;

command const add = command::of<ct::op::add>(), mul = command::of<ct::op::multiply>(),
              exp_of = command::of<ct::op::exp>(), sin_of = command::of<ct::op::sin>();

std::vector<double> elements(ct::dynamic::values<double> const& v) { return {v.begin(), v.end()}; }

/// Counts the calls of hooks by kind, and checks that none comes twice.
struct counting {
  symbolic_graph s;
  std::vector<symbolic_tensor> tensors{}, aliases{};
  std::vector<symbolic_exec> execs{};
  decltype(s.on_tensor({})) on_tensor = s.on_tensor([this](symbolic_tensor const& t) { tensors.push_back(t); });
  decltype(s.on_alias({})) on_alias = s.on_alias([this](symbolic_tensor const& t) { aliases.push_back(t); });
  decltype(s.on_exec({})) on_exec = s.on_exec([this](symbolic_exec const& e) { execs.push_back(e); });

  template <class All> static bool distinct(All const& all) {
    for (std::size_t k = 0; k < all.size(); ++k)
      for (std::size_t j = 0; j < k; ++j)
        if (all[k] == all[j]) return false;
    return true;
  }
  std::vector<int> counts() {
    CHECK(distinct(tensors));
    CHECK(distinct(aliases));
    CHECK(distinct(execs));
    for (auto const& e : execs) CHECK(s.is_alive(e));
    std::vector<int> const n{int(tensors.size()), int(aliases.size()), int(execs.size())};
    tensors.clear();
    aliases.clear();
    execs.clear();
    return n;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (auto const& e : execs) all.push_back(s.command_of(e).name());
    return all;
  }
};
using counted = std::vector<int>;

TEST_CASE("hooks are told at once of the symbols of expressions", "[symbolic]") {
  ct::dynamic::graph g;
  auto const before = g.input<double>("before", {4});
  counting told{g.symbolic()};
  CHECK(told.counts() == counted{0, 0, 0}); // earlier symbols cause no call
  auto const x = g.input<double>("x", {4});
  CHECK(told.tensors == std::vector<symbolic_tensor>{told.s.find_tensor("x")});
  CHECK(told.counts() == counted{1, 0, 0});
  auto const y = ct::exp(x);
  CHECK(told.names() == std::vector<std::string>{"exp"});
  CHECK(told.s.outputs_of(told.execs[0]) == told.tensors);
  CHECK(told.s.symbol_of(y) == told.tensors[0]);
  CHECK(told.counts() == counted{1, 0, 1});
  (void)ct::exp(x); // merged: nothing new
  CHECK(told.counts() == counted{0, 0, 0});
  auto const part = g.view(y, {.shape = {2}});
  CHECK(told.s.base_of(told.aliases[0]) == told.s.symbol_of(y));
  CHECK(told.counts() == counted{0, 1, 0});
  auto const t = g.tensor<double>("t", {2});
  (void)g.write(t, part);
  CHECK(told.names() == std::vector<std::string>{"identity"});
  CHECK(told.counts() == counted{1, 0, 1});
  (void)g.constant(7.5);
  CHECK(told.counts() == counted{1, 0, 1});
  CHECK_THROWS_AS(y + t, ct::shape_error);
  CHECK(told.counts() == counted{0, 0, 0});
  (void)(before + x);
  CHECK(told.names() == std::vector<std::string>{"add"});
}

TEST_CASE("hooks are called for loops and branches of expressions, and for symbols in bodies",
          "[symbolic][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {4});
  auto const n = g.constant(std::int64_t{3});
  counting told{g.symbolic()};
  std::vector<std::size_t> inside;
  auto const y = ct::for_loop(
      n,
      [&](auto, auto s) {
        auto const z = ct::sin(s);
        inside.push_back(told.execs.size());
        return z * x;
      },
      x);
  CHECK(inside == std::vector<std::size_t>{1}); // sin was reported at its creation
  CHECK(told.names() == std::vector<std::string>{"sin", "mul", "loop"});
  CHECK(told.s.outputs_of(told.execs[2])[0] == told.s.symbol_of(y));
  bool found = false;
  for (auto const& t : told.tensors) found = found || t == told.s.symbol_of(y);
  CHECK(found);
  (void)told.counts();
  (void)ct::case_of(n, [](auto a) { return ct::exp(a); })(x);
  CHECK(told.names() == std::vector<std::string>{"exp", "case_of"});
}

TEST_CASE("hooks are called for the symbols of gradients, of expressions and of symbols", "[symbolic]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = g.input<double>("x", {4});
  auto const y = ct::sum(ct::exp(x) * x);
  int const before = s.size();
  {
    counting told{s};
    auto const dx = g.gradient({y}, {x}).front();
    CHECK(int(told.execs.size()) == s.size() - before);
    bool found = false;
    for (auto const& t : told.tensors) found = found || t == s.symbol_of(dx);
    CHECK(found);
    (void)told.counts();
    int const then = s.size();
    auto const table = s.backward({s.symbol_of(ct::sum(dx))}, {s.symbol_of(x)});
    CHECK(int(told.execs.size()) == s.size() - then);
    found = false;
    for (auto const& t : told.tensors) found = found || t == table.all()[0];
    CHECK(found);
    (void)told.counts();
    (void)g.minimize(y * 2.0, ct::sgd{}, {x});
    CHECK_FALSE(told.execs.empty());
  }
  { // a refused gradient makes nothing
    counting told{s};
    CHECK_THROWS_AS(s.backward({s.symbol_of(x)}, {s.symbol_of(x)}), ct::shape_error);
    CHECK(told.counts() == counted{0, 0, 0});
  }
  { // an operation of symbols is one, whatever it is made of; inner symbols that stand for outer ones are told
    counting told{s};
    auto const a = s.tensor<double>({4}, "a"), b = s.tensor<double>({4}, "b");
    s.exec(command("f", [](ct::term t) { return t * (t + t) + t; }), {a}, {b}, "f");
    CHECK(told.counts() == counted{2, 0, 1});
    auto const body = s.sub_graph("body");
    auto const inner = body.resolve(a);
    CHECK(told.tensors == std::vector<symbolic_tensor>{inner});
    CHECK(told.counts() == counted{1, 0, 0});
    auto const next = body.tensor<double>({4}, "next"), goes_on = body.tensor<bool>({}, "goes on");
    body.exec(mul, {inner, b}, {next}); // b gets a symbol there
    body.exec(command("below", [](ct::term i) { return i < 2; }), {body.count()}, {goes_on});
    body.carry(next, inner);
    s.while_(body, goes_on);
    CHECK(told.counts() == counted{4, 0, 3});
    auto const last = s.tensor<double>({4}, "last"), sum = s.tensor<double>({}, "sum");
    body.hookup(next, last);
    s.exec(command("sum", [](ct::term t) { return ct::extend::sum(t, 1u); }), {last}, {sum});
    (void)told.counts();
    int const then = s.size();
    auto const table = s.backward({sum}, {a});
    int here = 0;
    for (auto const& e : told.execs) here += s.command_of(e) == ct::dynamic::noop ? 0 : 1;
    CHECK(here >= s.size() - then);
    CHECK(table.all()[0].present());
  }
}

TEST_CASE("a hook may create symbols, and a hook that is set meanwhile is told from then on", "[symbolic]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = g.input<double>("x", {4});
  int told = 0;
  auto const outer = s.on_exec([&](symbolic_exec const& e) {
    if (++told == 1) (void)(g.expression<double>(s.outputs_of(e)[0]) * 3.0);
  });
  (void)ct::sin(x);
  CHECK(told == 4); // sin, the number, its broadcast, the product
}

// ---- resolve

TEST_CASE("symbols of a sub-graph are mapped to outer symbols, and back", "[symbolic][control]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({2}, "x");
  auto const outer = s.sub_graph("outer");
  auto const body = outer.sub_graph("body");
  auto const at = body.tensor<double>({2}, "at"), next = body.tensor<double>(automatic, "next"),
             w = body.tensor<double>({2}, "w"), goes_on = body.tensor<bool>({}, "goes on");
  body.exec(mul, {at, w}, {next}, "product");
  body.exec(command("below", [](ct::term i) { return i < 2; }), {body.count()}, {goes_on});
  body.carry(next, at);
  auto const first = outer.resolve(at); // its value in the first iteration
  CHECK(body.resolve(first) == at);
  outer.while_(body, goes_on);
  auto const last = s.resolve(next); // through both
  CHECK(last.present());
  CHECK(s.resolve(outer.resolve(next)) == last);
  CHECK(body.resolve(last) == next);
  CHECK(s.name_of(last) == "next");
  CHECK_FALSE(outer.resolve(body.count()).present());
  auto const given = s.resolve(w);
  CHECK(s.resolve(outer.resolve(w)) == given);

  auto const twice = outer.tensor<bool>({}, "twice");
  outer.exec(command("below", [](ct::term i) { return i < 2; }), {outer.count()}, {twice});
  outer.carry(outer.resolve(next), first);
  outer.hookup(first, x);
  s.while_(outer, twice);
  // two times three... iterations of at <- at w: the condition is asked first, with counts 0 and 1
  auto const loss = s.tensor<double>({}, "loss");
  s.exec(command("sum", [](ct::term t) { return ct::extend::sum(t, 1u); }), {last}, {loss});
  auto const run = [&] {
    auto const table = s.backward({loss}, {x, given});
    auto p = s.compile({.outputs = {last, table.all()[0], table.all()[1]}});
    p.bind(x, {2., 3.});
    p.bind(given, {.5, 2.});
    p.run();
    CHECK(elements(p.value<double>(last)) == std::vector<double>{2. / 16, 3. * 16});
    CHECK(elements(p.value<double>(table.all()[0])) == std::vector<double>{1. / 16, 16});
    CHECK(elements(p.value<double>(table.all()[1])) == std::vector<double>{4 * 2 * .125, 4 * 3 * 8.});
  };
  run();
  CHECK(s.resolve(next) == last); // also after the sub-graphs cannot be changed any more
  CHECK(body.resolve(last) == next);
  CHECK(s.resolve(w) == given);
  CHECK_FALSE(s.resolve(goes_on).present()); // nothing around gets it
  run();
}

TEST_CASE("symbols of the bodies of expressions are found from both sides", "[symbolic][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {4}), w = g.input<double>("w", {4});
  ct::dynamic::expr<double> in = x, out = x, mid = x;
  auto const y = ct::for_loop(
      3,
      [&](auto, auto s) {
        in = s;
        mid = ct::sin(s);
        return out = mid * w;
      },
      x);
  auto const s = g.symbolic();
  std::vector<std::int32_t> graphs;
  s.visit([&](ct::dynamic::symbolic_node const& n) {
    for (std::int32_t const r : n.graphs) graphs.push_back(r);
  });
  REQUIRE(graphs.size() == 1);
  auto const body = s.graph(graphs[0]);
  CHECK(s.resolve(s.symbol_of(in)) == s.symbol_of(x));
  CHECK(s.resolve(s.symbol_of(out)) == s.symbol_of(y));
  CHECK_FALSE(s.resolve(s.symbol_of(mid)).present());
  CHECK(body.resolve(s.symbol_of(x)) == s.symbol_of(in));
  CHECK(body.resolve(s.symbol_of(y)) == s.symbol_of(out));
  CHECK(s.resolve(body.resolve(s.symbol_of(w))) == s.symbol_of(w));
  auto const other = g.input<double>("other", {4});
  CHECK_THROWS_WITH(body.resolve(s.symbol_of(other)), Catch::Contains("must not be changed"));
}

TEST_CASE("symbols of branches are mapped to outer symbols", "[symbolic][control]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const n = s.tensor<std::int64_t>({}, "n");
  auto const x = s.tensor<double>({2}, "x");
  auto const choice = s.case_of(n);
  auto const one = s.branch(choice), two = s.branch(choice);
  auto const a = one.tensor<double>({2}, "a"), b = two.tensor<double>({2}, "b");
  one.exec(sin_of, {x}, {a});
  two.exec(exp_of, {x}, {b});
  auto const y = s.resolve(a);
  two.hookup(b, y);
  CHECK(s.resolve(b) == y);
  auto p = s.compile({.outputs = {y}});
  p.bind(x, {1., 2.});
  for (std::int64_t const k : {0, 1}) {
    p.bind(n, k);
    p.run();
    CHECK(p.value<double>(y)[1] == Approx(k == 0 ? std::sin(2.) : std::exp(2.)));
  }
}

// ---- values after a run

TEST_CASE("a program returns the value of each kept symbol, also by its name", "[symbolic]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({4}, "x"), y = s.tensor<double>({4}, "y"), z = s.tensor<double>({4}, "z");
  auto const tail = s.alias(y, {.offset = {2}, .shape = {2}}, "tail");
  s.exec(exp_of, {x}, {y});
  s.exec(mul, {y, x}, {z});
  auto const body = s.sub_graph();
  auto const inside = body.tensor<double>({4}, "inside"), goes_on = body.tensor<bool>({}, "goes on");
  body.exec(add, {z, z}, {inside});
  body.exec(command("below", [](ct::term i) { return i < 2; }), {body.count()}, {goes_on});
  body.carry(inside, z);
  auto const last = s.resolve(inside);
  s.while_(body, goes_on);
  std::vector<double> const data{1, 2, 3, 4};
  {
    auto p = s.compile({.outputs = {z}});
    p.bind(x, data);
    CHECK_THROWS_WITH(p.value<double>("z"), Catch::Contains("must have run"));
    p.run();
    CHECK(p.value<double>("z").data() == p.value<double>(z).data());
    CHECK(elements(p.value<double>("x")) == data);
    for (char const* const name : {"y", "tail", "nobody", ""})
      CHECK_THROWS_WITH(p.value<double>(name), Catch::Contains("name it in compile, or compile with keep_all") &&
                                                   Catch::Contains(name));
    CHECK_THROWS_WITH(p.value<double>(y), Catch::Contains("name it in compile, or compile with keep_all"));
    CHECK_THROWS_WITH(p.value<double>(tail), Catch::Contains("name it in compile, or compile with keep_all"));
    CHECK_THROWS_WITH(p.value<double>(inside), Catch::Contains("it has a value in each iteration"));
    CHECK_THROWS_WITH(p.value<float>("z"), Catch::Contains("must be that of the symbol"));
    CHECK_THROWS_AS(p.value<float>(z), ct::graph_error);
    CHECK_THROWS_AS(ct::dynamic::program().value<double>("z"), ct::graph_error);
  }
  auto p = s.compile({.binds = {{x, data}}, .keep_all = true});
  p.run();
  for (std::int64_t k = 0; k < 4; ++k) {
    double const v = data[static_cast<std::size_t>(k)];
    CHECK(p.value<double>("y")[k] == Approx(std::exp(v)));
    CHECK(p.value<double>(z)[k] == Approx(v * std::exp(v)));
    CHECK(p.value<double>(last)[k] == Approx(4 * v * std::exp(v)));
  }
  CHECK(elements(p.value<double>("tail")) == std::vector<double>{p.value<double>(y)[2], p.value<double>(y)[3]});
  CHECK(elements(p.value<double>(tail)) == elements(p.value<double>("tail")));
  CHECK(elements(p.value<double>("x")) == data);
  CHECK_THROWS_WITH(p.value<double>(inside), Catch::Contains("it has a value in each iteration"));
}

TEST_CASE("all values of a graph of expressions can be kept, with the same bits", "[dynamic]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {4});
  auto const y = ct::exp(x), z = ct::sum(y * x), t = g.tensor<double>("t", {4}), none = g.tensor<double>("none", {2});
  auto const low = g.view(t, {.shape = {2}});
  g.write(low, g.view(y, {.offset = {1}, .shape = {2}}));
  auto const dx = g.gradient({z}, {x}).front();
  auto p = g.compile({z, y, dx, low, t}), q = g.compile({}, {}, {.keep_all = true});
  for (auto* const program : {&p, &q}) {
    program->bind(x, {1., 2., 3., 4.});
    program->run();
  }
  for (auto const& e : {y, dx, low, t}) CHECK(elements(p.value(e)) == elements(q.value(e)));
  CHECK(double(p.value(z)) == double(q.value(z)));
  CHECK(elements(q.value<double>("t")) == elements(q.value(t)));
  CHECK(q.value(t)[3] == 0);
  CHECK(elements(q.value(none)) == std::vector<double>{0, 0});
  CHECK_THROWS_WITH(g.compile({z}).value(y), Catch::Contains("name it in compile, or compile with keep_all"));
}

TEST_CASE("all values can be kept beside those of one row and of a rule, which are none of the graph", "[dynamic]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {3});
  auto const twice = 2.0 * x;
  auto const rows = ct::map([&](auto r) { return r * ct::exp(r) * ct::sum(twice); }, x);
  auto const loops = ct::vmap([&](auto r) { return ct::for_loop(2, [&](auto, auto s) { return s * r; }, r); })(twice);
  auto const ruled = ct::custom_vjp([](auto r) { return r * r; }, [](auto r, auto, auto d) { return 3.0 * r * d; })(rows);
  auto const dx = g.gradient({ct::sum(ruled * loops)}, {x}).front();
  auto p = g.compile({rows, loops, ruled, dx}), q = g.compile({dx}, {}, {.keep_all = true});
  for (auto* const program : {&p, &q}) {
    program->bind(x, {1., 2., 3.});
    program->run();
  }
  for (auto const& e : {rows, loops, ruled, dx})
    for (int k = 0; k < 3; ++k) CHECK(p.value(e)[k] == Approx(q.value(e)[k]).epsilon(1e-14));
  CHECK(elements(q.value(twice)) == std::vector<double>{2, 4, 6});
}

} // namespace
