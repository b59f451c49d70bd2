// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "allocations.hpp"
#include "catch.hpp"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

// What programs of dynamic graphs need: bytes, and allocations.

namespace {

namespace ct = cotangent;
using ct::dynamic::expr;

TEST_CASE("if inputs and results are bound, only intermediate values are allocated", "[dynamic][memory]") {
  ct::dynamic::graph g;
  auto const a = g.input<float>("a", {1, 2}), b = g.input<float>("b", {2, 1}),
             d = g.input<float>("d", {1, 1});
  auto const c = ct::matmul(a, b) + 1.1f, e = ct::matmul(c, d);
  std::vector<float> va{10, 1}, vb{1, 3}, vd{-.5f}, ve(1);
  auto p = g.compile({}, {{a, va}, {b, vb}, {d, vd}, {e, ve}});
  p.run();
  CHECK(ve[0] == Approx(-.5 * 14.1));
  CHECK(p.value_bytes() <= 128);
}

TEST_CASE("dead values are not computed and get no memory", "[dynamic][memory]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {1000});
  auto const unused = g.input<double>("unused", {1000});
  (void)ct::matmul(ct::reshape(unused, {10, 100}), ct::reshape(ct::exp(unused), {100, 10}));
  (void)ct::while_loop([](auto i, auto) { return i < 9; }, [&](auto, auto s) { return s + unused; }, x);
  auto p = g.compile({x + 1.0});
  p.bind(x, std::vector<double>(1000, 2.0));
  p.run();
  CHECK(p.value_bytes() == 0);
  CHECK(p.step_count() == 1);
}

TEST_CASE("a branch that needs less memory than another adds none", "[dynamic][memory]") {
  auto const bytes = [](int branches) {
    ct::dynamic::graph g;
    auto const x = g.input<double>("x", {64, 64});
    auto const index = g.input<std::int32_t>("index");
    auto const heavy = [](auto s) { return ct::matmul(ct::matmul(s, s), ct::matmul(s, ct::transpose(s))); };
    auto const y = branches == 1 ? ct::case_of(index, heavy)(x) : ct::case_of(index, heavy, [](auto s) {
      return ct::matmul(ct::matmul(s, s) + s, s);
    })(x);
    return g.compile({y}).workspace_bytes();
  };
  CHECK(bytes(2) <= bytes(1) + 1024);
}

TEST_CASE("a second run with no more iterations allocates nothing", "[dynamic][memory][control]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {40}), limit = g.input<double>("limit");
  auto const n = g.input<std::int64_t>("n");
  auto const y =
      ct::while_loop([&](auto, auto s) { return ct::sum(s) < limit; },
                     [&](auto, auto s) {
                       return ct::for_loop(n, [&](auto, auto t) { return ct::sin(t * x) * .1 + t; }, s) + 1.0;
                     },
                     x);
  auto const dx = g.gradient({ct::sum(y)}, {x}).front();
  auto p = g.compile({y, dx});
  std::vector<double> const data(40, .3);
  double end = 1000;
  std::int64_t count = 7;
  p.bind(x, data);
  p.bind(limit, end);
  p.bind(n, count);
  p.run();
  double const first = p.value(dx)(3);
  for (double const e : {1000., 400., 1000., 0., 999.})
    for (std::int64_t const k : {7, 0, 3, 7}) {
      end = e;
      count = k;
      long const before = allocations;
      p.run();
      CHECK(allocations == before);
    }
  end = 1000;
  count = 7;
  p.run();
  CHECK(p.value(dx)(3) == first);
}

} // namespace
