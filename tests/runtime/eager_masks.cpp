// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>
#include <cotangent/eager.hpp>
#include <cotangent/nn.hpp>
#include <cotangent/numeric.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

// Poles on the side that `select` did not choose reach no gradient of eager mode either, as in graphs.

namespace {

namespace ct = cotangent;
using ct::dynamic::eager;
using values = std::vector<double>;

constexpr double inf = std::numeric_limits<double>::infinity();

struct gradients {
  values first, second; // of the function, and of a weighted sum of its gradient
};

bool same(values const& a, values const& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t k = 0; k < a.size(); ++k)
    if (!(a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k])) || std::fabs(a[k] - b[k]) <= 1e-13 * std::fabs(b[k]))) return false;
  return true;
}
template <class Memory> values copied(Memory const& x) { return {x.begin(), x.end()}; }

template <class F> gradients of_graph(F f, values const& at) {
  auto const n = static_cast<std::int64_t>(at.size());
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {n});
  auto const w = g.input<double>("w", {n});
  auto const dx = g.gradient({f(x)}, {x}).front();
  auto const ddx = g.gradient({ct::sum(w * ct::dynamic::expr<double>(dx))}, {x}).front();
  auto p = g.compile({dx, ddx});
  values const weights{0.5, -1, 2, 0.25, 3};
  values const used(weights.begin(), weights.begin() + n);
  p.bind(x, at);
  p.bind(w, used);
  p.run();
  return {copied(p.value(dx)), copied(p.value(ddx))};
}
template <class F> gradients of_eager(F f, values const& at) {
  auto const n = static_cast<std::int64_t>(at.size());
  eager e;
  auto const x = e.parameter(at, {n});
  values const weights{0.5, -1, 2, 0.25, 3};
  auto const w = e.constant(values(weights.begin(), weights.begin() + n), {n});
  ct::dynamic::variable<double> const dx = e.grad({f(x)}, {x}, {}, {.record = true}).front();
  ct::dynamic::variable<double> const ddx = e.grad({ct::sum(w * dx)}, {x}).front();
  return {copied(dx.value()), copied(ddx.value())};
}
template <class F> void compare(F f, values const& at, values const& expected) {
  gradients const graph = of_graph(f, at), found = of_eager(f, at);
  CHECK(same(graph.first, expected));
  CHECK(same(found.first, expected));
  CAPTURE(found.second, graph.second);
  CHECK(same(found.second, graph.second));
}

} // namespace

TEST_CASE("Eager gradients mask the side that select did not choose", "[eager_masks]") {
  values const at{0, 2, 0.5, 0, 1};
  double const l2 = std::log(2.0);
  SECTION("one operation") {
    compare([](auto x) { return ct::sum(ct::select(x > 0, ct::log(x), 0)); }, at, {0, 0.5, 2, 0, 1});
    compare([](auto x) { return ct::sum(ct::select(x == 0, 0, ct::log(x))); }, at, {0, 0.5, 2, 0, 1});
  }
  SECTION("operations of two operands, both of which depend") {
    compare([](auto x) { return -ct::sum(ct::select(x > 0, x * ct::log(x), 0)); }, at, {0, -l2 - 1, l2 - 1, 0, -1});
  }
  SECTION("chains") {
    compare([](auto x) { return ct::sum(ct::select(x > 0, ct::exp(ct::log(ct::sqrt(x))), 0)); }, at,
            {0, std::sqrt(0.125), std::sqrt(0.5), 0, 0.5});
  }
  SECTION("selects in each other, and both sides") {
    compare([](auto x) { return ct::sum(ct::select(x > 0, ct::select(x < 2, ct::sqrt(2 - x), ct::sqrt(x - 2)), -x)); }, values{0, 1, 3, -1, 6},
            {-1, -0.5, 0.5, -1, 0.25});
    compare([](auto x) { return ct::sum(ct::select(x > 0, ct::log(x), ct::sqrt(-x))); }, values{1, 2, -1, -4}, {1, 0.5, -0.5, -0.25});
  }
  SECTION("one value under one mask twice") {
    compare([](auto x) {
      auto const l = ct::log(x);
      auto const keep = x > 0;
      return ct::sum(ct::select(keep, l, 0)) + ct::sum(ct::select(keep, l * l, 0));
    }, at, {0, 0.5 + l2, 2 - 4 * l2, 0, 1});
  }
  SECTION("a number that is combined with masked elements") {
    compare([](auto x) { return ct::sum(ct::select(x > 0, x(1) * ct::log(x), 0)); }, at, {0, 1, 4, 0, 2});
  }
  SECTION("sums under a mask") {
    compare([](auto x) { return ct::select(ct::sum(x) > 0, ct::log(ct::sum(ct::sqrt(x))), 0); }, values{0, 0}, {0, 0});
  }
  SECTION("a mask above an operation that moves elements") {
    compare([](auto x) { return ct::sum(ct::select(ct::reverse(x) > 0, ct::reverse(ct::square(x)), 0)); }, at, {0, 4, 1, 0, 2});
  }
  SECTION("a value that both passes of a second derivative mask") {
    compare([](auto x) { return ct::sum(ct::sin(ct::select(x > 0, x * x, ct::sqrt(-x)))); }, values{0.5, -4}, {std::cos(0.25), -0.25 * std::cos(2.0)});
  }
  SECTION("two masks of one value") {
    compare([](auto x) {
      auto const l = ct::log(x);
      return ct::sum(ct::select(x > 0, l, 0)) + ct::sum(ct::select(x > 1, l * l, 0));
    }, at, {0, 0.5 + l2, 2, 0, 1});
  }
  SECTION("rows that are set twice") {
    compare([](auto x) { return ct::sum(ct::scatter_set(x, ct::convert<std::int64_t>(0 * x), ct::sqrt(x))); }, values{-1, 4, 9}, {0, 1, 1 + 1.0 / 6});
  }
  SECTION("functions composed of selects") {
    compare([](auto x) { return ct::sum(ct::huber(x, 0.0)); }, values{inf, -inf, 0.5, -3}, {1, -1, 0.5, -1});
  }
}
