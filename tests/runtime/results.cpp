// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "../words.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

// Every result has memory of its own, which each run writes, also where two results are one value. Lists of expressions.

namespace {

namespace ct = cotangent;
using ct::dynamic::any_expr;
using ct::dynamic::expr;
using ct::dynamic::graph;
using vec = std::vector<double>;

vec const exp_of_sums{std::exp(2.0), std::exp(4.0)};

/// sum(exp(x + y)), whose gradients with respect to x and y are one value.
struct sums {
  graph g;
  expr<double> x = g.input<double>("x", {2}), y = g.input<double>("y", {2});
  std::vector<expr<double>> d = g.gradient({ct::sum(ct::exp(x + y))}, {x, y});
  vec dx = vec(2), dy = vec(2);

  void run(ct::dynamic::program& p) {
    p.bind(x, {1., 2.});
    p.bind(y, {1., 2.});
    for (int again = 0; again < 2; ++again) {
      dx = dy = {0, 0};
      p.run();
      for (int k = 0; k < 2; ++k) {
        auto const at = static_cast<std::size_t>(k);
        CHECK(dx[at] == Approx(exp_of_sums[at]));
        CHECK(dy[at] == Approx(exp_of_sums[at]));
      }
    }
  }
};

TEST_CASE("Two gradients that are one value are both written") {
  sums s;
  auto p = s.g.compile(s.d);
  p.bind(s.d[0], s.dx);
  p.bind(s.d[1], s.dy);
  s.run(p);
}

TEST_CASE("Two gradients that are one value, bound when compiled, are both written") {
  sums s;
  auto p = s.g.compile({}, {{s.d[0], s.dx}, {s.d[1], s.dy}});
  s.run(p);
}

TEST_CASE("A gradient that equals its cotangent has memory of its own") {
  graph g;
  auto const x = g.input<double>("x", {2}), s = g.input<double>("s", {2});
  auto const d = g.gradient({2.0 + x}, {x}, {s}).front();
  vec dx(2);
  for (bool const at_once : {false, true}) {
    auto p = at_once ? g.compile({}, {{d, dx}}) : g.compile({d});
    if (!at_once) p.bind(d, dx);
    p.bind(x, {1., 2.});
    p.bind(s, {3., 4.});
    p.run();
    CHECK(dx == vec{3, 4});
    CHECK(p.value(s)[1] == 4);
    dx = {0, 0};
  }
}

TEST_CASE("A gradient that is a part of its cotangent has memory of its own") {
  graph g;
  auto const x = g.input<double>("x", {4}), s = g.input<double>("s", {4});
  auto const part = g.view(x, {.offset = {1}, .shape = {2}});
  auto const d = g.gradient({x}, {part}, {s}).front();
  vec dx(2);
  auto p = g.compile({}, {{d, dx}});
  p.bind(x, {1., 2., 3., 4.});
  p.bind(s, {5., 6., 7., 8.});
  p.run();
  CHECK(dx == vec{6, 7});
}

TEST_CASE("A gradient that is another output has memory of its own") {
  graph g;
  auto const x = g.input<double>("x"), z = g.input<double>("z");
  auto const y = ct::exp(z), d = g.gradient({x * y}, {x}).front();
  double a = 0, b = 0;
  auto p = g.compile({y, d}, {{y, a}, {d, b}});
  p.bind(x, 3.0);
  p.bind(z, 1.0);
  p.run();
  CHECK(a == Approx(std::exp(1.0)));
  CHECK(b == a);
}

TEST_CASE("A result that is listed twice has two locations, bound in order") {
  graph g;
  auto const x = g.input<double>("x", {2});
  auto const y = ct::exp(x);
  vec a(2), b(2), c(2), d(2);
  auto p = g.compile({y, y});
  p.bind(x, {1., 2.});
  p.bind(y, a);
  p.bind(y, b);
  p.run();
  CHECK(a == b);
  CHECK(a[1] == Approx(std::exp(2.0)));
  a = b = {0, 0};
  p.bind(y, c);
  p.bind(y, d);
  p.run();
  CHECK(a == vec{0, 0});
  CHECK(b == vec{0, 0});
  CHECK(c == d);
  CHECK(c[0] == Approx(std::exp(1.0)));
  CHECK(p.value(y).data() == c.data());
}

TEST_CASE("An expression that is bound twice when it is compiled is two results") {
  graph g;
  auto const x = g.input<double>("x", {2});
  auto const y = ct::exp(x);
  vec a(2), b(2);
  auto p = g.compile({}, {{y, a}, {y, b}});
  p.bind(x, {1., 2.});
  p.run();
  CHECK(a == b);
  CHECK(a[0] == Approx(std::exp(1.0)));
}

TEST_CASE("The program owns the unbound one of a result that is listed twice") {
  graph g;
  auto const x = g.input<double>("x", {2});
  auto const y = ct::exp(x);
  vec a(2);
  auto p = g.compile({y, y}, {{y, a}}, {.own_memory = true});
  auto const in = p.memory(x);
  in[0] = in[1] = 1;
  p.run();
  CHECK(a[1] == Approx(std::exp(1.0)));
  CHECK(p.memory(y)[1] == a[1]);
  CHECK(p.memory(y).data() != a.data());
}

TEST_CASE("Results that are inputs are copies, which each run writes") {
  graph g;
  auto const x = g.input<double>("x", {2});
  auto const y = x + 0.0, z = 1.0 * x;
  auto p = g.compile({y, z, x, x});
  vec in{1, 2}, a(2), b(2);
  p.bind(x, in);
  p.bind(y, a);
  p.bind(z, b);
  for (double const first : {1., 5.}) {
    in[0] = first;
    p.run();
    CHECK(a == in);
    CHECK(b == in);
    CHECK(p.value(x)[0] == first);
    CHECK(p.value(x).data() != in.data());
  }
}

TEST_CASE("Two inputs may be updated by one value, or by each other") {
  graph g;
  auto const a = g.input<double>("a", {2}), b = g.input<double>("b", {2});
  auto const y = a + b;
  vec u{1, 2}, v{3, 4};
  auto same = g.compile({y}, {}, {.updates = {{a, y}, {b, y}}});
  same.bind(a, u);
  same.bind(b, v);
  same.run();
  CHECK(u == vec{4, 6});
  CHECK(v == vec{4, 6});
  CHECK(same.value(y)[1] == 6);
  u = {1, 2};
  v = {3, 4};
  auto swapped = g.compile({a}, {}, {.updates = {{a, b}, {b, a}}});
  swapped.bind(a, u);
  swapped.bind(b, v);
  swapped.run();
  CHECK(u == vec{3, 4});
  CHECK(v == vec{1, 2});
  CHECK(swapped.value(a)[0] == 1);
}

TEST_CASE("In symbolic graphs, gradients of equal value, or equal to their cotangent, have memory of "
          "their own") {
  graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({2}, "x"), y = s.tensor<double>({2}, "y"),
             sum = s.tensor<double>({2}, "sum"), seed = s.tensor<double>({2}, "seed");
  s.exec(ct::dynamic::command::of<ct::op::add>(), {x, y}, {sum});
  auto const table = s.backward({sum}, {x, y}, {seed});
  vec dx(2), dy(2), dx_again(2);
  auto p = s.compile({.outputs = {table.gradient_of(x), table.gradient_of(y), table.gradient_of(x)}});
  p.bind(seed, {3., 4.});
  p.bind(table.gradient_of(x), dx);
  p.bind(table.gradient_of(y), dy);
  p.bind(table.gradient_of(x), dx_again);
  p.run();
  CHECK(dx == vec{3, 4});
  CHECK(dy == vec{3, 4});
  CHECK(dx_again == vec{3, 4});
}

TEST_CASE("Split programs write every output, and return every gradient") {
  graph g;
  auto const x = g.input<double>("x", {2}), y = g.input<double>("y", {2});
  auto const z = ct::exp(x + y);
  auto s = g.vjp({z, z, x}, {x, y, x});
  vec a(2), b(2);
  s.bind(x, {1., 2.});
  s.bind(y, {1., 2.});
  s.bind(z, a);
  s.bind(z, b);
  auto back = s.run();
  CHECK(a == b);
  CHECK(a[1] == Approx(exp_of_sums[1]));
  CHECK(s.value(x)[1] == 2);
  back.bind(z, {1., 1.});
  back.bind(x, {1., 1.});
  back.run();
  CHECK(back.value(x)[0] == Approx(exp_of_sums[0] + 1));
  CHECK(back.value(y)[0] == Approx(exp_of_sums[0]));
}

TEST_CASE("A vjp program whose output is an input gives its cotangent as the gradient") {
  graph g;
  auto const x = g.input<double>("x", {2});
  auto s = g.vjp({x}, {x});
  s.bind(x, {1., 2.});
  auto back = s.run();
  back.bind(x, {3., 4.});
  back.run();
  CHECK(s.value(x)[0] == 1);
  CHECK(back.value(x)[0] == 3);
}

TEST_CASE("Static programs write results that are one value, or an argument") {
  static constexpr auto f = [](auto x) { return std::tuple(x, x, ct::exp(x), ct::exp(x)); };
  using P = ct::program<decltype(f), ct::tensor<double, 100>>;
  P::workspace memory;
  ct::tensor<double, 100> x, a, b, c, d;
  x.fill(1);
  for (auto* const y : {&a, &b, &c, &d}) y->fill(0);
  REQUIRE(P::run(memory, std::tie(x), std::tie(a, b, c, d)) == ct::status::ok);
  CHECK(a == x);
  CHECK(b == x);
  CHECK(c(99) == Approx(std::exp(1.0)));
  CHECK(d == c);
  auto const [e, h, i, j] = ct::compiled(f)(x);
  CHECK(e == x);
  CHECK(h == x);
  CHECK(j == i);
}

TEST_CASE("Lists of expressions may be vectors, arrays or spans of any expressions") {
  graph g;
  std::vector<expr<double>> const p{g.parameter<double>("a"), g.parameter<double>("b")};
  auto const loss = p[0] * p[1];
  auto d = g.gradient({loss}, p);
  static_assert(std::is_same_v<decltype(d), std::vector<expr<double>>>);
  auto run = g.compile(g.gradient(std::vector<any_expr>{loss}, std::array{p[0], p[1]}, std::vector{p[0]}));
  run.bind(p[0], 2.0);
  run.bind(p[1], 3.0);
  run.run();
  auto const step = g.apply_gradients(ct::sgd{}, p, d);
  CHECK(step.gradients.size() == 2);
  CHECK(g.minimize(loss, ct::sgd{}, p).updates.size() == 2);
  CHECK(g.vjp(d, p).saved().size() <= 2);
}

TEST_CASE("Integers of a graph are compared for equality with each other, with literals and with ct::iota") {
  graph g;
  auto const i = g.input<std::int64_t>("i", {4}), j = g.input<std::int64_t>("j", {4});
  std::vector const all{i == 3, 3 == i, i == j, i == ct::iota<4>(), ct::iota<4>() == i, i != ct::iota<4>(),
                        i != j, 3 != i};
  auto p = g.compile(all);
  p.bind(i, std::vector<std::int64_t>{0, 3, 2, 7});
  p.bind(j, std::vector<std::int64_t>{0, 0, 2, 2});
  p.run();
  std::vector<std::array<bool, 4>> const wanted{{false, true, false, false}, {false, true, false, false},
                                                {true, false, true, false},  {true, false, true, false},
                                                {true, false, true, false},  {false, true, false, true},
                                                {false, true, false, true},  {true, false, true, true}};
  for (std::size_t k = 0; k < all.size(); ++k)
    for (int at = 0; at < 4; ++at) CHECK(p.value(all[k])(at) == wanted[k][static_cast<std::size_t>(at)]);
  auto const x = g.input<double>("x", {4});
  CHECK(has(words_of<ct::graph_error>([&] { (void)(x == i); }), "both operands must have one element type"));
  CHECK(has(words_of<ct::graph_error>([&] { (void)(i != x); }), "both operands must have one element type"));
}

} // namespace
