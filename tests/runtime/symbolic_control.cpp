// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "../symbolic_parts.hpp"
#include "catch.hpp"

#include <cmath>
#include <vector>

// Loops and branches of graphs made by symbols: sub-graphs that see the symbols around them.

namespace {

namespace ct = cotangent;
using ct::dynamic::absent;
using ct::dynamic::command;
using ct::dynamic::symbolic_graph;
using ct::dynamic::symbolic_tensor;

command const add = command::of<ct::op::add>(), mul = command::of<ct::op::multiply>(),
              log_of = command::of<ct::op::log>(), div = command::of<ct::op::divide>(),
              exp_of = command::of<ct::op::exp>();

struct parts {
  ct::dynamic::graph g;
  symbolic_graph s = g.symbolic();
  symbolic_tensor number(char const* name) const { return s.tensor<double>({}, name); }
};

TEST_CASE("results of a body are carried, and the initial values stay", "[symbolic][control]") {
  parts g;
  auto const x = g.number("x"), y = g.number("y"), z0 = g.number("z0"), z1 = g.number("z1"),
             z2 = g.number("z2"), z3 = g.number("z3");
  g.s.exec(mul, {z1, y}, {z2});
  g.s.exec(add, {z2, z0}, {z3});
  auto const body = g.s.sub_graph("body"), empty = g.s.sub_graph("empty");
  body.exec(mul, {z0, x}, {z1});
  body.carry(z1, z0);
  g.s.while_(body, while_below(body, 5), false, "loop");
  g.s.while_(empty, empty.tensor<bool>({}, "never asked"));
  CHECK(g.s.size() == 4);
  auto p = g.s.compile({.outputs = {z1, z2, z3}});
  p.bind(x, .92);
  p.bind(y, 3.2);
  for (double const z : {1., 1.2}) {
    p.bind(z0, double(z));
    p.run();
    CHECK(double(p.value<double>(z2)) == Approx(z * std::pow(.92, 5) * 3.2));
    CHECK(double(p.value<double>(z3)) == Approx(z * std::pow(.92, 5) * 3.2 + z));
  }
  CHECK(double(p.value<double>(z3)) == Approx(3.7308730));
  // with a condition at the end of the body, count < 4 runs it five times
  body.set_condition(while_below(body, 4), true);
  auto q = g.s.compile({.outputs = {z2}});
  q.bind(x, .92);
  q.bind(y, 3.2);
  q.bind(z0, 1.);
  q.run();
  CHECK(double(q.value<double>(z2)) == Approx(2.1090609));
}

TEST_CASE("values may swap in each iteration", "[symbolic][control]") {
  parts g;
  auto const x = g.number("x"), y = g.number("y"), z = g.number("z"), last_x = g.number("last x"),
             last_z = g.number("last z");
  auto const body = g.s.sub_graph();
  auto const next = body.tensor<double>({}, "next");
  body.exec(mul, {y, x}, {next}); // x <- z <- y x
  auto const inner_x = body.resolve(x), inner_z = body.resolve(z);
  CHECK(body.resolve(x) == inner_x);
  CHECK(g.s.resolve(inner_x) == x);
  body.carry(next, z);
  body.carry(inner_z, inner_x);
  body.exec(command("copy", [](ct::term t) { return t; }), {inner_z}, {last_x});
  body.hookup(next, last_z);
  g.s.while_(body, while_below(body, 5));
  auto p = g.s.compile({.outputs = {last_x, last_z}});
  p.bind(x, .32);
  p.bind(y, 2.8);
  p.bind(z, .5);
  p.run();
  double a = .32, b = .5, n = 0, seen = 0;
  for (int k = 0; k < 5; ++k) {
    n = 2.8 * a;
    seen = b;
    a = b;
    b = n;
  }
  CHECK(double(p.value<double>(last_z)) == Approx(n));
  CHECK(double(p.value<double>(last_x)) == Approx(seen));
}

TEST_CASE("inputs of an operation in a body can be set again, and memory can be bound inside a body",
          "[symbolic][control]") {
  parts g;
  auto const y = g.number("y"), z = g.number("z"), w = g.number("w");
  auto const body = g.s.sub_graph();
  auto const b = body.tensor<double>({}, "b"), next = body.tensor<double>({}, "next");
  auto const product = body.exec(mul, {y, y}, {next}, "product");
  body.carry(next, z);
  body.hookup(next, w);
  body.set_io(product, {z, y}, {next});
  g.s.while_(body, while_below(body, 5));
  auto p = g.s.compile({.outputs = {w}});
  p.bind(y, 5.5);
  p.bind(z, .47);
  p.run();
  CHECK(double(p.value<double>(w)) == Approx(2365.4366).margin(1e-2));

  auto const sum = body.tensor<double>({}, "sum");
  body.exec(add, {next, b}, {sum});
  // z <- z y + b, with b of the body
  auto const other = g.s.sub_graph();
  auto const a1 = other.tensor<double>({}, "a"), b1 = other.tensor<double>({}, "b"),
             t = other.tensor<double>({}, "t"), x0 = g.number("x"), x1 = g.number("x1"),
             u = other.tensor<double>({}, "u");
  other.exec(mul, {a1, x0}, {t});
  other.exec(add, {t, b1}, {u});
  other.carry(u, x0);
  other.hookup(u, x1);
  g.s.while_(other, while_below(other, 5));
  double const slope = .3, offset = 1.1;
  auto q = g.s.compile({.outputs = {x1}, .binds = {{a1, slope}, {b1, offset}}});
  q.bind(x0, .88);
  q.run();
  CHECK(double(q.value<double>(x1)) == Approx(1.5697484));
}

/// xy = x y, z = log(xy), x <- z; u = z v.
struct wb2 : parts {
  symbolic_tensor x = number("x"), y = number("y"), v = number("v"), z = number("z"), u = number("u");
  explicit wb2(std::int64_t iterations) {
    auto const body = s.sub_graph("body");
    auto const xy = body.tensor<double>({}, "xy");
    body.exec(mul, {x, y}, {xy});
    body.exec(log_of, {xy}, {z});
    body.carry(z, x);
    s.while_(body, while_below(body, iterations));
    s.exec(mul, {z, v}, {u});
  }
};

TEST_CASE("gradients of a loop with carried and other values are right", "[symbolic][control]") {
  wb2 g(5);
  auto const table = g.s.backward({g.u}, {g.x, g.y, g.v});
  auto const of_y = g.s.backward({g.u}, {g.y}); // a table of its own
  auto p = g.s.compile({.outputs = {g.u, table.gradient_of(g.x), table.gradient_of(g.y),
                                    table.gradient_of(g.v), of_y.gradient_of(g.y)}});
  for (int run = 0; run < 3; ++run) {
    p.bind(g.x, 1.);
    p.bind(g.y, 3.2);
    p.bind(g.v, .22);
    p.run();
    CHECK(double(p.value<double>(g.u)) == Approx(.3487781));
    CHECK(double(p.value<double>(table.gradient_of(g.x))) == Approx(.065682308));
    CHECK(double(p.value<double>(table.gradient_of(g.y))) == Approx(.18960060));
    CHECK(double(p.value<double>(table.gradient_of(g.v))) == Approx(1.5853552));
    CHECK(double(p.value<double>(of_y.gradient_of(g.y))) == Approx(.18960060));
  }
  CHECK_FALSE(of_y.gradient_of(g.x).present());

  wb2 one(1);
  auto const dy = one.s.backward({one.u}, {one.y}).gradient_of(one.y);
  auto q = one.s.compile({.outputs = {dy}});
  q.bind(one.x, 1.);
  q.bind(one.y, 3.2);
  q.bind(one.v, .22);
  q.run();
  CHECK(double(q.value<double>(dy)) == Approx(.06875));
}

TEST_CASE("with a tape limit a loop of symbols has the same gradients and learned parameters",
          "[symbolic][control]") {
  auto const with = [](std::int64_t limit, bool learns) {
    wb2 g(5000);
    ct::dynamic::gradient_options const options{.tape = {.limit = limit}};
    std::vector<double> y{3.2};
    std::vector<double> found;
    if (learns) {
      auto const step = g.g.minimize(g.u, ct::sgd{.learning_rate = .01}, {g.y}, options);
      auto p = g.s.compile({.outputs = {g.u}, .binds = {{g.y, y}}, .updates = step.updates});
      p.bind(g.x, 1.);
      p.bind(g.v, .22);
      p.run();
      return std::pair(std::vector<double>{y}, p.tape_bytes());
    }
    auto const table = g.s.backward({g.u}, {g.x, g.y, g.v}, {}, options);
    auto p = g.s.compile({.outputs = table.all()});
    p.bind(g.x, 1.);
    p.bind(g.y, 3.2);
    p.bind(g.v, .22);
    p.run();
    for (auto const& d : table.all()) found.push_back(double(p.value<double>(d)));
    return std::pair(found, p.tape_bytes());
  };
  for (bool const learns : {false, true}) {
    auto const whole = with(0, learns), limited = with(8192, learns);
    CHECK(whole.first == limited.first);
    CHECK(whole.second > 5000 * 8);
    CHECK(limited.second <= 8192);
  }
  CHECK(with(0, true).first[0] < 3.2);
}

TEST_CASE("the reverse of a loop is a loop that owns its sub-graph; it is absent if not needed",
          "[symbolic][control]") {
  wb2 g(5);
  auto const loops = [&] {
    std::vector<std::int32_t> found;
    g.s.visit([&](ct::dynamic::symbolic_node const& n) {
      if (n.graphs.size() == 1) found.push_back(n.graphs.front());
    });
    return found;
  };
  (void)g.s.backward({g.u}, {g.v});
  REQUIRE(loops().size() == 1);
  auto const forward = g.s.graph(loops()[0]);
  CHECK(forward.peer() == ct::extend::none);
  auto const xy = forward.find_tensor("xy"), x = forward.resolve(g.x);
  CHECK_FALSE(forward.is_taped(x));
  (void)g.s.backward({g.u}, {g.y});
  REQUIRE(loops().size() == 2);
  auto const backward = g.s.graph(loops()[0] == forward.number() ? loops()[1] : loops()[0]);
  CHECK(forward.peer() == backward.number());
  CHECK(backward.peer() == forward.number());
  CHECK(forward.is_taped(x));
  CHECK(g.s.peer_of(g.s.peer_of(x)) == x);
  CHECK_THROWS_WITH(forward.exec(mul, {x, x}, {xy}), Catch::Contains("must not be changed"));
  CHECK_THROWS_AS(forward.tensor<double>({}), ct::graph_error);
}

/// 0 below 0; x to 1; s x + p to 2; 1.5 above.
struct b1 : parts {
  symbolic_tensor x = number("x"), y = number("y"), s1 = number("s"), p1 = number("p"),
                  index = s.tensor<std::int64_t>({}, "index");
  b1() {
    s.exec(command("index",
                   [](ct::term v) {
                     auto const to = [&](double n) {
                       return ct::extend::convert(v >= n, ct::element::int64);
                     };
                     // -1 is no branch: 0, -1, 1, 2
                     return ct::extend::select(v < 0, to(1e300), (to(1) + to(1) + to(2)) - 1);
                   }),
           {x}, {index});
    auto const choice = s.case_of(index, "choice");
    auto const zero = s.branch(choice, "zero"), line = s.branch(choice, "line"),
               flat = s.branch(choice, "flat");
    zero.exec(command::set(0), {}, {y});
    auto const t = line.tensor<double>({}, "t");
    line.exec(mul, {x, s1}, {t});
    line.exec(add, {t, p1}, {y});
    flat.exec(command::set(1.5), {}, {y});
    s.bypass(choice, x, y);
  }
};

TEST_CASE("branches with a bypass have their gradients", "[symbolic][control]") {
  b1 g;
  auto const table = g.s.backward({g.y}, {g.x, g.s1});
  auto const dx = table.gradient_of(g.x), ds = table.gradient_of(g.s1);
  auto p = g.s.compile({.outputs = {g.y, dx, ds}});
  p.bind(g.s1, .5);
  p.bind(g.p1, .5);
  struct one {
    double x, y, dx, ds;
  };
  for (one const c :
       {one{-1, 0, 0, 0}, {.76, .76, 1, 0}, {1.226, 1.113, .5, 1.226}, {2.1, 1.5, 0, 0}, {.5, .5, 1, 0}}) {
    p.bind(g.x, double(c.x));
    p.run();
    CAPTURE(c.x);
    CHECK(double(p.value<double>(g.y)) == Approx(c.y));
    CHECK(double(p.value<double>(dx)) == Approx(c.dx));
    CHECK(double(p.value<double>(ds)) == Approx(c.ds));
  }
}

} // namespace
