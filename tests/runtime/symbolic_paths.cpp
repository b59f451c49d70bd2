// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// Paths through a graph of symbols: gradients of the part between sources and destinations, edges among some operations,
// neighbors of an operation, and other inputs and outputs for one.

namespace {

namespace ct = cotangent;
using ct::dynamic::absent;
using ct::dynamic::automatic;
using ct::dynamic::autogen_of;
using ct::dynamic::command;
using ct::dynamic::symbolic_exec;
using ct::dynamic::symbolic_graph;
using ct::dynamic::symbolic_tensor;

command const add = command::of<ct::op::add>(), mul = command::of<ct::op::multiply>(),
              exp_of = command::of<ct::op::exp>(), sin_of = command::of<ct::op::sin>(),
              log_of = command::of<ct::op::log>();
using execs = std::vector<symbolic_exec>;

/// y = sin(x), z = x y, u = exp(y), v = z + u, of numbers: x reaches v by three paths.
struct diamond {
  ct::dynamic::graph g;
  symbolic_graph s = g.symbolic();
  symbolic_tensor x = s.tensor<double>({}, "x"), y = s.tensor<double>({}, "y"), z = s.tensor<double>({}, "z"),
                  u = s.tensor<double>({}, "u"), v = s.tensor<double>({}, "v");
  symbolic_exec sine = s.exec(sin_of, {x}, {y}, "sine"), product = s.exec(mul, {x, y}, {z}, "product"),
                power = s.exec(exp_of, {y}, {u}, "power"), sum = s.exec(add, {z, u}, {v}, "sum");

  /// Of v with respect to x, at x = .7.
  double slope(execs const& sources, execs const& destinations) {
    auto const table = s.backward({.outputs = {v}, .wrt = {x}, .sources = sources, .destinations = destinations});
    auto p = s.compile({.outputs = {table.all()[0]}});
    p.bind(x, .7);
    p.run();
    return double(p.value<double>(table.all()[0]));
  }
};

TEST_CASE("a gradient follows only the paths between sources and destinations", "[symbolic]") {
  double const x = .7, y = std::sin(x), by_sine = (x + std::exp(y)) * std::cos(x);
  CHECK(diamond().slope({}, {}) == Approx(y + by_sine));
  diamond a;
  CHECK(a.slope({a.sine}, {}) == Approx(y + by_sine)); // the product stands behind the sine
  diamond b;
  CHECK(b.slope({b.product}, {}) == Approx(y)); // y counts as given
  diamond c;
  CHECK(c.slope({c.power}, {}) == 0); // x is not read there
  diamond d;
  CHECK(d.slope({d.sine, d.product}, {}) == Approx(y + by_sine));
  diamond e;
  CHECK(e.slope({}, {e.power}) == 0); // v is computed behind it
  diamond f;
  CHECK(f.slope({f.product}, {f.sum}) == Approx(y));
  diamond h;
  CHECK(h.slope({h.power, h.product}, {h.sum}) == Approx(y));
}

TEST_CASE("gradients of a part: intermediate values, outputs in its middle, unreached values", "[symbolic]") {
  diamond g;
  auto const table = g.s.backward(
      {.outputs = {g.z, g.v}, .wrt = {g.y, g.x, g.u}, .sources = {g.product}, .destinations = {g.product}});
  CHECK(table.gradient_of(g.z).present());
  CHECK_FALSE(table.gradient_of(g.v).present()); // it does not depend on them by this part
  auto p = g.s.compile({.outputs = table.all()});
  p.bind(g.x, .7);
  p.run();
  CHECK(double(p.value<double>(table.all()[0])) == .7);
  CHECK(double(p.value<double>(table.all()[1])) == Approx(std::sin(.7)));
  CHECK(double(p.value<double>(table.all()[2])) == 0);
  CHECK_THROWS_AS(g.s.backward({.outputs = {g.v},
                                .wrt = {g.x},
                                .sources = {g.power},
                                .policy = ct::unreachable::error}),
                  ct::unreachable_error);
  ct::dynamic::graph stranger;
  auto const t = stranger.symbolic().tensor<double>({});
  auto const theirs = stranger.symbolic().exec(sin_of, {t}, {stranger.symbolic().tensor<double>({})});
  CHECK_THROWS_WITH(g.s.backward({.outputs = {g.v}, .wrt = {g.x}, .sources = {theirs}}),
                    Catch::Contains("expressions of one graph"));
  auto const again = g.s.backward({.outputs = {table.all()[1]}, .wrt = {g.x}}); // d y / d x
  auto q = g.s.compile({.outputs = {again.all()[0]}});
  q.bind(g.x, .7);
  q.run();
  CHECK(double(q.value<double>(again.all()[0])) == Approx(std::cos(.7)));
}

TEST_CASE("gradients of a part with aliases, loops and non-differentiable operations", "[symbolic]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({4}, "x"), t = s.tensor<double>({4}, "t"), loss = s.tensor<double>({}, "loss");
  auto const low = s.exec(exp_of, {s.alias(x, {.shape = {2}})}, {s.alias(t, {.shape = {2}})}, "low");
  auto const high = s.exec(sin_of, {s.alias(x, {.offset = {2}, .shape = {2}})},
                           {s.alias(t, {.offset = {2}, .shape = {2}})}, "high");
  auto const body = s.sub_graph();
  auto const next = body.tensor<double>({4}, "next"), goes_on = body.tensor<bool>({}, "goes on");
  body.exec(mul, {t, x}, {next});
  body.exec(command("below", [](ct::term i) { return i < 2; }), {body.count()}, {goes_on});
  body.carry(next, t);
  auto const last = s.resolve(next);
  auto const loop = s.while_(body, goes_on);
  s.exec(command("sum", [](ct::term a) { return ct::extend::sum(a, 1u); }), {last}, {loss}); // t x^2
  auto const whole = s.backward({loss}, {x});
  auto const from_low = s.backward({.outputs = {loss}, .wrt = {x}, .sources = {low}});
  auto const from_high = s.backward({.outputs = {loss}, .wrt = {x}, .sources = {high}});
  auto const from_loop = s.backward({.outputs = {loss}, .wrt = {x, t}, .sources = {loop}});
  auto p = s.compile({.outputs = {whole.all()[0], from_low.all()[0], from_high.all()[0], from_loop.all()[0],
                                  from_loop.all()[1]}});
  p.bind(x, {.1, .2, .3, .4});
  p.run();
  for (std::int64_t k = 0; k < 4; ++k) {
    double const v = .1 * double(k + 1), f = k < 2 ? std::exp(v) : std::sin(v), df = k < 2 ? f : std::cos(v);
    double const direct = 2 * v * f, by_t = df * v * v;
    CHECK(p.value<double>(whole.all()[0])[k] == Approx(direct + by_t));
    CHECK(p.value<double>(from_low.all()[0])[k] == Approx(direct + (k < 2 ? by_t : 0)));
    CHECK(p.value<double>(from_high.all()[0])[k] == Approx(direct + (k < 2 ? 0 : by_t)));
    CHECK(p.value<double>(from_loop.all()[0])[k] == Approx(direct));
    CHECK(p.value<double>(from_loop.all()[1])[k] == Approx(v * v));
  }
}

TEST_CASE("an operation knows its direct predecessors and successors", "[symbolic]") {
  diamond g;
  CHECK(g.s.successors_of(g.sine) == execs{g.product, g.power});
  CHECK(g.s.predecessors_of(g.sine).empty());
  CHECK(g.s.predecessors_of(g.sum) == execs{g.product, g.power});
  CHECK(g.s.successors_of(g.sum).empty());
  g.s.concat(g.power, g.product); // by hand
  CHECK(g.s.successors_of(g.power) == execs{g.product, g.sum});
  CHECK(g.s.predecessors_of(g.product) == execs{g.sine, g.power});
  g.s.disjoin(g.power, g.product);
  CHECK(g.s.successors_of(g.power) == execs{g.sum});
  (void)g.s.backward({g.v}, {g.x});
  auto const after = g.s.successors_of(g.power);
  REQUIRE(after.size() >= 2); // its adjoint runs after it
  for (auto const& e : after) {
    auto const back = g.s.predecessors_of(e);
    CHECK(std::count(back.begin(), back.end(), g.power) == 1);
  }
  int edges_in = 0, edges_out = 0;
  g.s.visit([&](ct::dynamic::symbolic_node const& n) {
    CHECK(int(g.s.predecessors_of(n.exec).size()) == n.edges_in);
    CHECK(int(g.s.successors_of(n.exec).size()) == n.edges_out);
    edges_in += n.edges_in;
    edges_out += n.edges_out;
  });
  CHECK(edges_in == edges_out);
  auto const gone = g.s.exec(sin_of, {g.x}, {g.s.tensor<double>({})});
  g.s.free(gone);
  CHECK_THROWS_WITH(g.s.successors_of(gone), Catch::Contains("was freed"));
  CHECK_THROWS_WITH(g.s.predecessors_of({}), Catch::Contains("must be given"));
}

TEST_CASE("edges are generated among selected operations, and others stay unchanged", "[symbolic]") {
  diamond g;
  g.s.concat(g.power, g.product);
  g.s.autogen({g.sine, g.product, g.product}, autogen_of::edges);
  g.s.disjoin(g.sine, g.product); // is written down now
  CHECK_THROWS_WITH(g.s.disjoin(g.sine, g.power), Catch::Contains("there must be such an edge"));
  g.s.disjoin(g.power, g.product); // was by hand, and still is

  g.s.concat(g.sine, g.sum); // from inside to outside: is kept
  g.s.concat(g.sine, g.power);
  g.s.autogen(execs{g.sine, g.power}); // the edge by hand is that by data
  CHECK(g.s.sources() == execs{g.sine, g.product}); // of what is written down in the whole graph
  g.s.disjoin(g.sine, g.sum);
  g.s.disjoin(g.sine, g.power);
  CHECK_THROWS_AS(g.s.disjoin(g.sine, g.power), ct::graph_error);

  g.s.autogen();
  CHECK(g.s.sources() == execs{g.sine});
  CHECK(g.s.destinations() == execs{g.sum});
  g.s.disjoin(g.product, g.sum);
  g.s.disjoin(g.power, g.sum);
  g.s.disjoin(g.sine, g.power);
  g.s.disjoin(g.sine, g.product);
  g.s.autogen(execs{}, autogen_of::ends);
  CHECK(g.s.sources().size() == 4);
  auto const body = g.s.sub_graph();
  CHECK_THROWS_WITH(body.autogen(execs{g.sine}), Catch::Contains("of this sub-graph"));
}

// ---- set_io

struct changed {
  ct::dynamic::graph g;
  symbolic_graph s = g.symbolic();
  symbolic_tensor x = s.tensor<double>({4}, "x"), w = s.tensor<double>({4}, "w"), y = s.tensor<double>({4}, "y"),
                  z = s.tensor<double>({4}, "z");
  symbolic_exec first = s.exec(sin_of, {x}, {y}, "first"), second = s.exec(mul, {y, w}, {z}, "second");

  double at(symbolic_tensor const& t, std::vector<symbolic_tensor> const& given, std::int64_t k = 1) {
    auto p = s.compile({.outputs = {t}});
    double v = 0;
    std::vector<std::vector<double>> data(given.size());
    for (std::size_t i = 0; i < given.size(); ++i) {
      for (int j = 0; j < 4; ++j) data[i].push_back(v += .1);
      p.bind(given[i], data[i]);
    }
    p.run();
    return p.value<double>(t)[k];
  }
};

TEST_CASE("set_io takes other symbols, aliases, absent ones and more inputs, and updates the neighbors",
          "[symbolic]") {
  changed g;
  CHECK(g.at(g.z, {g.x, g.w}) == Approx(std::sin(.2) * .6));
  g.s.set_io(g.second, {g.y, g.x}, {g.z}); // another input
  CHECK(g.at(g.z, {g.x}) == Approx(std::sin(.2) * .2));
  CHECK(g.s.inputs_of(g.second) == std::vector<symbolic_tensor>{g.y, g.x});
  g.s.set_io(g.second, {g.y, g.x, g.w}, {g.z}); // more of them
  CHECK(g.at(g.z, {g.x, g.w}) == Approx(std::sin(.2) * .2 * .6));
  auto const t = g.s.tensor<double>({4}, "t");
  g.s.set_io(g.second, {g.y, g.w}, {t}); // another output: z is given now
  CHECK(g.at(t, {g.x, g.w}) == Approx(std::sin(.2) * .6));
  CHECK(g.at(g.z, {g.z}) == .2);
  CHECK(g.s.successors_of(g.first) == execs{g.second});
  g.s.set_io(g.second, {t, g.w}, {g.z}); // nothing leads from the first to the second now
  CHECK(g.s.successors_of(g.first).empty());
  CHECK(g.at(g.z, {t, g.w}) == Approx(.2 * .6));
  g.s.set_io(g.first, {g.z}, {g.y}); // and the other way around: the first runs last
  CHECK(g.s.successors_of(g.second) == execs{g.first});
  CHECK(g.at(g.y, {t, g.w}) == Approx(std::sin(.2 * .6)));
  auto const low = g.s.alias(g.x, {.shape = {2}}), high = g.s.alias(g.y, {.offset = {2}, .shape = {2}});
  g.s.set_io(g.first, {low}, {high}); // windows
  CHECK(g.at(g.y, {g.x}, 3) == Approx(std::sin(.2)));
  CHECK(g.at(g.y, {g.x}, 1) == 0);
  auto const quotient = g.s.exec(command::of<ct::op::divide>(), {g.w, g.x}, {t});
  g.s.set_io(quotient, {absent, g.x}, {t});
  CHECK(g.at(t, {g.x}) == Approx(1 / .2));
}

TEST_CASE("set_io infers shapes and keeps waiting operations, noops, and later gradients", "[symbolic]") {
  changed g;
  auto const open = g.s.tensor<double>(automatic, "open"),
             unknown = g.s.tensor<double>(automatic, "unknown");
  g.s.set_io(g.first, {g.x}, {open});
  CHECK(g.at(open, {g.x}) == Approx(std::sin(.2)));
  g.s.set_io(g.first, {unknown}, {g.y}); // waits until the shape is there
  CHECK_THROWS_WITH(g.s.compile({.outputs = {g.z}}), Catch::Contains("a shape must be set"));
  g.s.set_shape(unknown, {4});
  CHECK(g.at(g.z, {unknown, g.w}) == Approx(std::sin(.2) * .6));
  g.s.set_shape(unknown, {6});
  CHECK_THROWS_AS(g.s.compile({.outputs = {g.z}}), ct::shape_error);
  g.s.set_io(g.first, {g.w}, {g.y}); // and what did not fit is gone
  auto const loss = g.s.tensor<double>({}, "loss");
  g.s.exec(command("sum", [](ct::term a) { return ct::extend::sum(a, 1u); }), {g.z}, {loss});
  auto const table = g.s.backward({loss}, {g.w});
  auto const dw = table.all()[0];
  CHECK(g.at(dw, {g.w}) == Approx(std::sin(.2) + .2 * std::cos(.2)));

  auto const other = g.s.tensor<double>({4}, "other"), result = g.s.tensor<double>({4}, "result");
  auto const waits = g.s.exec(ct::dynamic::noop, {g.y}, {other}, "waits");
  auto const last = g.s.exec(add, {g.x, other}, {result}, "last");
  g.s.set_io(waits, {g.z}, {g.x}); // it orders others now
  CHECK(g.s.predecessors_of(waits) == execs{g.second});
  CHECK(g.s.predecessors_of(last) == execs{waits});
  CHECK(g.at(result, {g.x, other, g.w}) == Approx(.2 + .6));
}

TEST_CASE("set_io works in a body, and on an operation of an expression", "[symbolic][control]") {
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({4}, "x"), w = s.tensor<double>({4}, "w");
  auto const body = s.sub_graph();
  auto const next = body.tensor<double>({4}, "next"), goes_on = body.tensor<bool>({}, "goes on");
  auto const step = body.exec(mul, {x, x}, {next}, "step");
  body.exec(command("below", [](ct::term i) { return i < 3; }), {body.count()}, {goes_on});
  body.carry(next, x);
  auto const last = s.resolve(next);
  s.while_(body, goes_on);
  body.set_io(step, {x, w}, {next}); // w was not known there
  auto p = s.compile({.outputs = {last}});
  p.bind(x, {1., 2., 3., 4.});
  p.bind(w, {2., 2., 3., 3.});
  p.run();
  CHECK(p.value<double>(last)[2] == 81);
  CHECK_THROWS_WITH(s.set_io(step, {x}, {last}), Catch::Contains("of this sub-graph"));
  auto const a = g.input<double>("a", {4}), b = g.input<double>("b", {4});
  auto const c = ct::sin(a), d = ct::sum(c * c);
  auto const sine = s.predecessors_of(s.predecessors_of(s.predecessors_of(
      s.exec(exp_of, {s.symbol_of(d)}, {s.tensor<double>({}, "e")}))[0])[0])[0];
  CHECK(s.command_of(sine) == sin_of);
  s.set_io(sine, {s.symbol_of(b)}, {s.symbol_of(c)});
  auto const db = g.gradient({d}, {a, b});
  auto q = g.compile({d, db[0], db[1]});
  q.bind(b, {.1, .2, .3, .4});
  q.run();
  double sum = 0;
  for (int k = 1; k < 5; ++k) sum += std::sin(.1 * k) * std::sin(.1 * k);
  CHECK(double(q.value(d)) == Approx(sum));
  CHECK(q.value(db[0])[1] == 0);
  CHECK(q.value(db[1])[1] == Approx(std::sin(.4)));
}

TEST_CASE("a refused set_io leaves the operation unchanged", "[symbolic]") {
  changed g;
  auto const f = g.s.tensor<float>({4}, "f"), longer = g.s.tensor<double>({6}, "longer"),
             free = g.s.tensor<double>({4}, "free"), short_one = g.s.tensor<double>({3}, "short");
  auto const low = g.s.alias(longer, {.shape = {4}}), middle = g.s.alias(longer, {.offset = {1}, .shape = {4}});
  auto const third = g.s.exec(exp_of, {g.w}, {low}, "third");
  auto const dead = g.s.tensor<double>({4}, "dead");
  g.s.free(dead);
  auto const body = g.s.sub_graph();
  auto const inner = body.tensor<double>({4}, "inner"), goes_on = body.tensor<bool>({}, "goes on");
  body.carry(inner, inner);
  auto const loop = g.s.while_(body, goes_on);
  auto const refused = [&](std::string const& words, std::function<void()> const& what) {
    CHECK_THROWS_WITH(what(), Catch::Contains(words));
    CHECK(g.s.inputs_of(g.second) == std::vector<symbolic_tensor>{g.y, g.w});
    CHECK(g.s.outputs_of(g.second) == std::vector<symbolic_tensor>{g.z});
    CHECK(g.at(g.z, {g.x, g.w}) == Approx(std::sin(.2) * .6));
  };
  refused("as many inputs as the command takes", [&] { g.s.set_io(g.second, {g.y}, {g.z}); });
  refused("as many outputs as the command makes", [&] { g.s.set_io(g.second, {g.y, g.w}, {g.z, free}); });
  refused("this input must be given", [&] { g.s.set_io(g.second, {g.y, absent}, {g.z}); });
  refused("written by one operation at most", [&] { g.s.set_io(g.second, {g.y, g.w}, {g.y}); });
  refused("written by one operation at most", [&] { g.s.set_io(g.second, {g.y, g.w}, {middle}); });
  refused("must have the element type and the shape", [&] { g.s.set_io(g.second, {g.y, g.w}, {short_one}); });
  refused("element", [&] { g.s.set_io(g.second, {g.y, f}, {g.z}); });
  refused("was freed", [&] { g.s.set_io(g.second, {g.y, dead}, {g.z}); });
  refused("of this sub-graph", [&] { g.s.set_io(g.second, {g.y, inner}, {g.z}); });
  refused("a loop or branch must not be changed itself", [&] { g.s.set_io(loop, {g.x}, {g.z}); });
  refused("was freed", [&] {
    auto const gone = g.s.exec(sin_of, {g.x}, {g.s.tensor<double>({4})});
    g.s.free(gone);
    g.s.set_io(gone, {g.x}, {f});
  });
  (void)third;
  g.s.set_io(g.second, {g.z, g.w}, {g.z}); // reads what it writes itself
  CHECK_THROWS_AS(g.s.compile({.outputs = {g.z}}), ct::graph_error);
}

TEST_CASE("parts of a tensor whose writers the sources leave out are inputs") {
  ct::dynamic::graph g;
  symbolic_graph s = g.symbolic();
  auto const a = s.tensor<double>({2}, "a"), b = s.tensor<double>({4}, "b"), c = s.tensor<double>({4}, "c");
  auto const low = s.alias(b, {.shape = {2}}), high = s.alias(b, {.offset = {2}, .shape = {2}});
  auto const first = s.exec(exp_of, {a}, {low});
  (void)s.exec(sin_of, {a}, {high});
  auto const last = s.exec(mul, {b, b}, {c});
  std::vector<double> const all{1, 2, 3, 4}, zeros{0, 0}, rest{3, 4};
  auto whole = s.compile({.outputs = {c}, .sources = {last}});
  CHECK_THROWS_WITH(whole.run(), Catch::Contains("every input that is read must be bound to memory; it is b double [4]"));
  whole.bind(b, all);
  whole.run();
  CHECK((whole.value<double>(c)(0) == 1 && whole.value<double>(c)(3) == 16));
  auto part = s.compile({.outputs = {c}, .sources = {first, last}});
  part.bind(a, zeros);
  CHECK_THROWS_WITH(part.run(), Catch::Contains("every input that is read must be bound to memory"));
  part.bind(high, rest);
  part.run();
  CHECK((part.value<double>(c)(1) == 1 && part.value<double>(c)(2) == 9));
}

} // namespace
