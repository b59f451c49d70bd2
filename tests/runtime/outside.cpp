// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>
#include <cotangent/dynamic.hpp>
#include <cotangent/dynamic/graph/graph_access.hpp>
#include <cotangent/eager.hpp>

#include <cmath>
#include <source_location>
#include <vector>

// An operation from outside of the library: one struct and its function, used by every front end. Other tests compare
// gradients; this file compares front ends, and checks that interpreters get the kernels of the operation.

namespace {

namespace ct = cotangent;

/// x / (1 + |x|).
struct squash_operation : ct::extend::elementwise<1> {
  static constexpr char const* name = "squash";
  static constexpr float cost = 6;
  template <class V> static constexpr V apply(V const& x) {
    return static_cast<V>(x / (ct::math::broadcast<V>(1) + ct::math::abs(x)));
  }
  static constexpr ct::term partial(ct::rule const& r, int) {
    ct::term const shrunk = 1 - ct::extend::apply<ct::op::abs>(r.y());
    return shrunk * shrunk;
  }
};
template <class X>
constexpr auto squash(X const& x, std::source_location where = std::source_location::current()) {
  return ct::extend::apply<squash_operation>(where, x);
}

inline constexpr auto loss = [](auto x) { return ct::sum(ct::square(squash(x) * x)); };

std::vector<double> points() {
  std::vector<double> v(67);
  for (std::size_t k = 0; k < v.size(); ++k) v[k] = 0.1 * static_cast<double>(k) - 3.2;
  return v;
}
/// y = x^4 / (1 + |x|)^2, so y' = 4 x^3 / (1 + |x|)^2 - 2 x^4 sign(x) / (1 + |x|)^3.
double slope(double x) {
  double const a = 1 + std::abs(x);
  return 4 * x * x * x / (a * a) - 2 * x * x * x * std::abs(x) / (a * a * a);
}
template <class V> void check_slopes(V const& found) {
  std::vector<double> const x = points();
  REQUIRE(static_cast<std::size_t>(found.size()) == x.size());
  for (std::size_t k = 0; k < x.size(); ++k) CHECK(found.data()[k] == Approx(slope(x[k])).epsilon(1e-13));
}

} // namespace

static_assert(ct::grad([](auto x) { return squash(x); })(1.0) == 0.25);

TEST_CASE("an operation from outside runs in traced functions") {
  std::vector<double> const x = points();
  check_slopes(ct::grad(loss)(ct::view<double const, "n">(x)));
}

TEST_CASE("an operation from outside runs in graphs at run time, with its kernels") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {67});
  auto const dx = g.gradient({loss(x)}, {x}).front();
  auto const& kernels = ct::dynamic::detail::graph_access::state(g).kernels;
  auto const* const found = kernels.find(ct::info_of<squash_operation>());
  REQUIRE(found != nullptr);
  CHECK(found->elementwise[static_cast<int>(ct::element::float64)] != nullptr);
  CHECK(kernels.find(ct::info_of<ct::op::square>()) == nullptr); // every interpreter has it
  CHECK(kernels.further().named.count > 0);                      // the derivative may emit any operation
  auto p = g.compile({dx});
  p.bind(x, points());
  p.run();
  check_slopes(p.value(dx));
}

TEST_CASE("an operation from outside runs by the symbolic API") {
  using ct::dynamic::command;
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const a = s.tensor<double>({67}, "a"), b = s.tensor<double>({67}, "b");
  s.exec(command::of<squash_operation>(), {a}, {b}, "squash");
  auto p = s.compile({.outputs = {b}});
  p.bind(a, points());
  p.run();
  std::vector<double> const x = points();
  auto const y = p.value<double>(b);
  for (std::size_t k = 0; k < x.size(); ++k) CHECK(y.data()[k] == x[k] / (1 + std::abs(x[k])));
}

TEST_CASE("an operation from outside runs in eager mode") {
  ct::dynamic::eager e;
  auto const x = e.parameter(points());
  e.backward(loss(x));
  check_slopes(x.grad().value());
}
