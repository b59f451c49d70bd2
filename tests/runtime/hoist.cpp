// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>
#include <cotangent/graph/verify.hpp>
#include <cotangent/linalg.hpp>

#include "catch.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <vector>

// Simplification across the borders of loops and branches: how many nodes stay, and where; and what they compute.

namespace {

namespace ct = cotangent;
using ct::dynamic::any_expr;
using ct::dynamic::expr;

ct::graph simple(ct::dynamic::graph const& g, std::initializer_list<any_expr> outputs) {
  ct::extend::builder b(g.get());
  std::vector<ct::extend::symbol> in, out;
  for (std::int32_t t = 0; t < b.get().tensors.size(); ++t)
    if (b.tensor(t).producer == ct::extend::none && b.tensor(t).region == 0 && b.tensor(t).base == ct::extend::none)
      in.push_back(t);
  for (any_expr const& e : outputs) out.push_back(e.id());
  b.set_inputs(in.data(), static_cast<int>(in.size()));
  b.set_outputs(out.data(), static_cast<int>(out.size()));
  ct::graph made = ct::detail::simplify(b.get());
  ct::verification const v = ct::verify(made);
  INFO((v.text == nullptr ? "" : v.text));
  REQUIRE(bool(v));
  return made;
}

/// How often an operation stands in the graph itself, and inside of loops and branches.
struct count {
  int outside = 0, inside = 0;
  friend bool operator==(count const& a, count const& b) {
    return a.outside == b.outside && a.inside == b.inside;
  }
  friend std::ostream& operator<<(std::ostream& o, count const& c) {
    return o << c.outside << " + " << c.inside;
  }
};
template <class Op> count count_of(ct::graph const& g) {
  count c;
  for (ct::extend::node const& n : g.nodes)
    if (n.op == ct::info_of<Op>()) ++(n.region == 0 ? c.outside : c.inside);
  return c;
}

TEST_CASE("sums and products around a branch equal those inside of it", "[simplify][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x"), y = g.input<double>("y"), z = g.input<double>("z");
  auto const sum = x + y, product = sum * z;
  auto const index = ct::select(x < 0.0, expr<std::int32_t>(0),
                                ct::select(x < 2.0, expr<std::int32_t>(1), expr<std::int32_t>(-1)));
  auto const f = ct::case_of(
      index, [&](auto) { return (x + y) + product + (x + y) * z; },
      [&](auto) { return ((x + y) * z) * (y + x); })(product);
  auto p = g.compile({f, sum});
  for (auto const& [at, other, third, result] : {std::array{-2., 1.1, 2.2, -4.86},
                                                 {1.5, 1.1, 2.2, 14.872},
                                                 {2.5, 1.1, 2.2, 7.92},
                                                 {-1., 3., .5, 4.}}) {
    p.bind(x, at);
    p.bind(y, other);
    p.bind(z, third);
    p.run();
    CHECK(p.value(f) == Approx(result));
  }
  ct::graph const s = simple(g, {f});
  CHECK(count_of<ct::op::add>(s).outside == 1); // x + y, once
  CHECK(count_of<ct::op::multiply>(s).outside == 1);
}

TEST_CASE("loop-invariant values are computed before the loop", "[simplify][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {8, 8}), w = g.input<double>("w", {8, 8}), a = g.input<double>("a");
  auto const n = g.input<std::int64_t>("n");
  auto const f = ct::for_loop(
      n,
      [&](auto i, auto s) {
        auto const inner = ct::for_loop(
            3, [&](auto, auto t) { return ct::matmul(t, ct::matmul(w, w)) * ct::exp(a * 2.0) + ct::tanh(w); },
            s);
        return inner + ct::convert<double>(i);
      },
      x);
  ct::graph const s = simple(g, {f});
  CHECK(count_of<ct::op::matmul>(s) == count{1, 1});
  CHECK(count_of<ct::op::exp>(s) == count{1, 0});
  CHECK(count_of<ct::op::tanh>(s) == count{1, 0});
  CHECK(count_of<ct::op::convert>(s) == count{0, 1});

  std::vector<double> vx(64, .1), vw(64);
  for (std::size_t k = 0; k < vw.size(); ++k) vw[k] = .01 * static_cast<double>(k % 7) - .02;
  auto p = g.compile({f}), q = g.compile({f}, {}, {.exact = true});
  for (std::int64_t const times : {0, 1, 2, 5}) {
    for (auto* const program : {&p, &q}) {
      program->bind(x, vx);
      program->bind(w, vw);
      program->bind(a, .3);
      program->bind(n, times);
      program->run();
    }
    for (int k = 0; k < 64; ++k) CHECK(p.value(f)[k] == Approx(q.value(f)[k]).epsilon(1e-13));
    if (times == 0) CHECK(p.value(f)[5] == .1);
  }
}

TEST_CASE("indexed reads, integer divisions and cheap operations stay in their loop", "[simplify][control]") {
  ct::dynamic::graph g;
  auto const table = g.input<double>("table", {4}), x = g.input<double>("x", {4});
  auto const rows = g.input<std::int64_t>("rows", {4});
  auto const n = g.input<std::int64_t>("n");
  auto const f = ct::for_loop(
      n, [&](auto i, auto s) { return s + ct::gather(table, rows) + (x + table) * ct::convert<double>(i); },
      x);
  ct::graph const s = simple(g, {f});
  CHECK(count_of<ct::op::gather>(s) == count{0, 1});
  CHECK(count_of<ct::op::add>(s).outside == 0);
  auto p = g.compile({f});
  std::vector<double> const values{1, 2, 3, 4};
  std::vector<std::int64_t> wrong{9, 9, 9, 9};
  p.bind(table, values);
  p.bind(x, values);
  p.bind(rows, wrong);
  p.bind(n, std::int64_t{0});
  p.run(); // nothing is looked up
  CHECK(p.value(f)(3) == 4);
  p.bind(n, std::int64_t{1});
  CHECK_THROWS_AS(p.run(), ct::shape_error);
}

TEST_CASE("equal loops and equal branches are merged; all others are not", "[simplify][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {3}), w = g.input<double>("w", {3});
  auto const index = g.input<std::int32_t>("index");
  auto const loop = [&](double factor, std::int64_t n) {
    return ct::for_loop(n, [&](auto, auto s) { return ct::sin(s * w) * factor; }, x);
  };
  auto const choice = [&](double bound) {
    return ct::case_of(
        index,
        [&](auto s) {
          return ct::while_loop([&](auto, auto t) { return ct::sum(t) < bound; },
                                [&](auto, auto t) { return t + ct::exp(w); }, s);
        },
        [](auto s) { return -s; })(x);
  };
  CHECK(count_of<ct::op::loop>(simple(g, {loop(2, 5) + loop(2, 5)})) == count{1, 0});
  CHECK(count_of<ct::op::loop>(simple(g, {loop(2, 5) + loop(2, 6)})) == count{2, 0});
  CHECK(count_of<ct::op::loop>(simple(g, {loop(2, 5) + loop(3, 5)})) == count{2, 0});
  CHECK(count_of<ct::op::case_of>(simple(g, {choice(7) + choice(7) * 2.0})) == count{1, 0});
  CHECK(count_of<ct::op::case_of>(simple(g, {choice(7) + choice(8)})) == count{2, 0});
  auto const before = ct::exp(w); // values that branches share are computed before them
  CHECK(count_of<ct::op::exp>(simple(g, {choice(7) + before})) == count{1, 0});
  auto const twice = loop(2, 5) + loop(2, 5), one = loop(2, 5);
  auto p = g.compile({twice, one});
  p.bind(x, {1., 2., 3.});
  p.bind(w, {.1, .2, .3});
  p.run();
  for (int k = 0; k < 3; ++k) CHECK(p.value(twice)(k) == 2 * p.value(one)(k));
}

TEST_CASE("a branch with a constant index replaces its node, and a loop without iterations vanishes",
          "[simplify][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {3});
  auto const pick = [&](std::int32_t k) {
    auto const index = g.constant(k);
    return ct::case_of(index, [](auto s) { return ct::exp(s); }, [&](auto s) { return s * x + 1.0; })(x);
  };
  auto const never = ct::for_loop(
      0, [&](auto, auto s) { return ct::matmul(ct::reshape(s, {1, 3}), ct::reshape(s, {3, 1})) * s; },
      ct::reshape(x, {1, 3}));
  ct::graph const s = simple(g, {pick(0), pick(1), pick(-1), pick(7), never});
  CHECK(s.regions.size() == 1);
  CHECK(count_of<ct::op::exp>(s) == count{1, 0});
  auto const a = pick(0), b = pick(1), c = pick(-1);
  auto const da = g.gradient({ct::sum(a * b) + ct::sum(c) + ct::sum(never)}, {x}).front();
  auto p = g.compile({a, b, c, never, da});
  p.bind(x, {.1, .2, .3});
  p.run();
  for (int k = 0; k < 3; ++k) {
    double const v = .1 * (k + 1);
    CHECK(p.value(a)(k) == Approx(std::exp(v)));
    CHECK(p.value(b)(k) == Approx(v * v + 1));
    CHECK(p.value(c)(k) == Approx(v));
    CHECK(p.value(never)[k] == Approx(v));
    CHECK(p.value(da)(k) == Approx(std::exp(v) * (v * v + 1) + std::exp(v) * 2 * v + 2));
  }
}

TEST_CASE("gradients of loops keep their values when loop-invariant nodes are hoisted",
          "[simplify][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {4}), w = g.input<double>("w", {4});
  auto const n = g.input<std::int64_t>("n");
  auto const y =
      ct::sum(ct::for_loop(n, [&](auto, auto s) { return ct::sin(s * ct::exp(w)) + ct::tanh(w); }, x));
  auto const dw = g.gradient({y}, {w}).front();
  auto const again = g.gradient({ct::sum(dw)}, {w}).front();
  auto p = g.compile({y, dw, again}), q = g.compile({y, dw, again}, {}, {.exact = true});
  for (std::int64_t const times : {0, 1, 4}) {
    for (auto* const program : {&p, &q}) {
      program->bind(x, {.1, .2, .3, .4});
      program->bind(w, {-.5, .3, .1, .9});
      program->bind(n, times);
      program->run();
    }
    for (int k = 0; k < 4; ++k) {
      CHECK(p.value(dw)(k) == Approx(q.value(dw)(k)).margin(1e-14));
      CHECK(p.value(again)(k) == Approx(q.value(again)(k)).margin(1e-13));
    }
  }
}

TEST_CASE("a deep loop-invariant chain is hoisted without deep recursion", "[simplify][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {4}), w = g.input<double>("w", {4});
  auto const f = ct::for_loop(
      2,
      [&](auto, auto s) {
        expr<double> t = w;
        for (int k = 0; k < 20000; ++k) t = t * w + 1.0;
        return s + ct::exp(-t * t);
      },
      x);
  ct::graph const s = simple(g, {f});
  CHECK(count_of<ct::op::exp>(s) == count{1, 0});
}

} // namespace

TEST_CASE("A loop that may run zero times keeps operations that may report an error, and values computed from these", "[simplify][control]") {
  auto const run = [](auto body, std::int64_t times) {
    ct::dynamic::graph g;
    auto const m = g.input<double>("m", {2, 2});
    auto const i = g.input<std::int64_t>("i"), n = g.input<std::int64_t>("n");
    auto const y = ct::for_loop(n, [&](auto, auto s) { return 0.5 * s + body(m, i); }, expr<double>(1.0));
    auto const dm = g.gradient({y}, {m}).front();
    auto p = g.compile({y, dm});
    std::vector<double> const values{-1, 0, 0, 0};
    p.bind(m, values);
    p.bind(i, std::int64_t{7});
    p.bind(n, times);
    p.run();
    return p.value(y)();
  };
  auto const factor = [](auto m, auto) { return ct::sum(ct::cholesky(m)); };
  auto const system = [](auto m, auto) { return ct::sum(ct::solve(m, m)); };
  auto const read = [](auto m, auto i) { return ct::sum(ct::sin(m(i))); };
  auto const quotient = [](auto m, auto i) { return ct::sum(m) * ct::convert<double>(7 / (i - 7) + i * 2); };
  CHECK(run(factor, 0) == 1);
  CHECK(run(system, 0) == 1);
  CHECK(run(read, 0) == 1);
  CHECK(run(quotient, 0) == 1);
  CHECK_THROWS_AS(run(factor, 1), ct::numeric_error);
  CHECK_THROWS_AS(run(system, 1), ct::numeric_error);
  CHECK_THROWS(run(read, 1));
}

TEST_CASE("A loop that surely runs computes a loop-invariant system once", "[simplify][control]") {
  for (bool const surely : {false, true}) {
    ct::dynamic::graph g;
    auto const m = g.input<double>("m", {4, 4}), b = g.input<double>("b", {4});
    auto const n = g.input<std::int64_t>("n");
    auto const loop = [&](auto times) { return ct::for_loop(times, [&](auto, auto s) { return 0.5 * s + ct::solve(m, b); }, b); };
    ct::graph const s = simple(g, {surely ? loop(10) : loop(n)});
    CHECK(count_of<ct::op::lu_solve>(s) == (surely ? count{1, 0} : count{0, 1}));
  }
}
