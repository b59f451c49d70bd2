// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "../words.hpp"

#include <climits>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

// Loops and branches: bodies that are refused, bodies that throw, and any count or selector.

namespace {

namespace ct = cotangent;
namespace dynamic = cotangent::dynamic;
using I = std::int64_t;
constexpr I MAX = INT64_MAX, MIN = INT64_MIN;

TEST_CASE("Bodies keep elements and shapes, and their values do not leave them") {
  CHECK(refused("loop: a carried value must keep its element type and shape", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    (void)ct::for_loop(3, [](auto, auto s) { return ct::concatenate<0>(s, s); }, a);
  }));
  CHECK(refused("an expression must not be used outside of the loop or branch that made it", [] {
    dynamic::graph g;
    auto a = g.input<double>("a");
    dynamic::expr<double> out;
    auto y = ct::for_loop(
        3,
        [&](auto, auto s) {
          out = s * s;
          return s + 1.0;
        },
        a);
    auto z = out + y;
    (void)z;
  }));
  CHECK(refused("an expression must not be used outside of the loop or branch that made it", [] {
    dynamic::graph g;
    auto a = g.input<double>("a");
    dynamic::expr<double> out;
    auto y = ct::for_loop(
        3,
        [&](auto, auto s) {
          out = s * s;
          return s + 1.0;
        },
        a);
    (void)g.compile({out, y});
  }));
  CHECK(refused("a graph must not be compiled or trained while the body", [] {
    dynamic::graph g;
    auto a = g.input<double>("a");
    (void)ct::for_loop(
        3,
        [&](auto, auto s) {
          (void)g.compile({a});
          return s;
        },
        a);
  }));
  CHECK(refused("loop: the condition must be one bool", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {3});
    (void)ct::while_loop([](auto, auto s) { return s < 1.0; }, [](auto, auto s) { return s; }, a);
  }));
  CHECK(refused("case_of: all branches must give the same element types and shapes", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {2});
    auto c = g.input<I>("c");
    (void)ct::case_of(c, [](auto s) { return s; }, [](auto s) { return ct::sum(s); })(a);
  }));
  // The shapes have as many elements.
  CHECK(refused("must have the element type and shape of its result (double [4] and double [2, 2]); in case_of", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    auto c = g.input<I>("c");
    (void)ct::case_of(c, [](auto s) { return ct::reshape(s, {2, 2}); })(a);
  }));
  CHECK(refused("must give the same element types and shapes (double [4] and double [2, 2]); in cond", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    auto c = g.input<bool>("c");
    (void)ct::cond(c, [](auto s) { return ct::reshape(s, {2, 2}); }, [](auto s) { return s; })(a);
  }));
  CHECK(refused("must keep its element type and shape (double [4] and double [2, 2]); in for_loop", [] {
    dynamic::graph g;
    auto a = g.input<double>("a", {4});
    (void)ct::for_loop(3, [](auto, auto s) { return ct::reshape(s, {2, 2}); }, a);
  }));
}

/// y, and its gradient with respect to x = 3, which is bound; a count or a selector is bound too.
template <class C, class N> void run_both(dynamic::graph& g, dynamic::expr<double> const& x,
                                          dynamic::expr<double> const& y, C const& c, N n, double value,
                                          double slope) {
  auto const d = g.gradient({y}, {x}).front();
  auto p = g.compile({y, d});
  p.bind(x, 3.0);
  if constexpr (!std::is_null_pointer_v<C>) p.bind(c, n);
  p.run();
  CHECK(double(p.value(y)) == value);
  CHECK(double(p.value(d)) == slope);
}

TEST_CASE("Counts below 1 run no iteration") {
  for (I const n : {I(0), I(-1), MIN}) {
    dynamic::graph g;
    auto const x = g.input<double>("x");
    run_both(g, x, ct::for_loop(n, [](auto, auto s) { return s * 2.0; }, x), nullptr, 0, 3, 1);
    auto const c = g.input<I>("c");
    run_both(g, x, ct::for_loop(c, [](auto, auto s) { return ct::sin(s) * s; }, x), c, n, 3, 1);
  }
}

TEST_CASE("NaN is not a count, and does not satisfy a condition") {
  dynamic::graph g;
  auto const x = g.input<double>("x"), c = g.input<double>("c");
  auto const y = ct::for_loop(ct::convert<I>(c), [](auto, auto s) { return ct::sin(s) * s; }, x);
  run_both(g, x, y, c, std::nan(""), 3, 1);
  auto const z =
      ct::while_loop([](auto, auto s) { return s < 100.0; }, [](auto, auto s) { return s * s; }, c);
  auto const d = g.gradient({z}, {c}).front();
  auto p = g.compile({z, d});
  p.bind(c, std::nan(""));
  p.run();
  CHECK(std::isnan(double(p.value(z))));
  CHECK(double(p.value(d)) == 1);
}

TEST_CASE("A selector out of range selects the bypass") {
  for (I const n : {I(-1), I(2), MIN, MAX}) {
    dynamic::graph g;
    auto const x = g.input<double>("x");
    auto const c = g.input<I>("c");
    run_both(g, x,
             ct::case_of(c, [](auto s) { return s * 2.0; }, [](auto s) { return s * s; })(x), c, n, 3, 1);
  }
}

TEST_CASE("Loops nest 12 and 60 deep") {
  for (auto const& [depth, count] : {std::pair(12, 2), std::pair(60, 1)}) {
    dynamic::graph g;
    auto const x = g.input<double>("x");
    std::function<dynamic::expr<double>(int, dynamic::expr<double>)> nest =
        [&](int n, dynamic::expr<double> s) -> dynamic::expr<double> {
      if (n == 0) return ct::sin(s) * .5;
      return ct::for_loop(count, [&](auto, auto q) { return nest(n - 1, q); }, s);
    };
    auto const y = nest(depth, x);
    double value = 3, slope = 1;
    for (int k = 0; k < (count == 1 ? 1 : 4096); ++k) {
      slope *= .5 * std::cos(value);
      value = .5 * std::sin(value);
    }
    auto const d = g.gradient({y}, {x}).front();
    auto p = g.compile({y, d});
    p.bind(x, 3.0);
    p.run();
    CHECK(double(p.value(y)) == Approx(value));
    CHECK(double(p.value(d)) == Approx(slope));
  }
}

// ---- bodies that throw

/// How much there is in a graph.
std::vector<int> extents_of(dynamic::graph const& g) {
  auto const& all = g.get();
  return {all.nodes.size(),  all.tensors.size(), all.regions.size(),
          all.blocks.size(), all.ids.size(),     static_cast<int>(g.parameters().size())};
}

TEST_CASE("A body that throws leaves the graph unchanged") {
  dynamic::graph g;
  auto const x = g.input<double>("x"), w = g.input<double>("w");
  auto const t = g.tensor<double>("t", {1});
  auto const before = extents_of(g);
  auto const bad = [&](auto const&... s) {
    auto const y = (ct::exp(s * w) + ...) * 2.0;
    (void)g.parameter<double>("p");
    (void)g.constant(std::vector<double>{1, 2});
    if (before.size() != 0) throw 7;
    return y;
  };
  auto const of_step = [&](auto, auto s) { return bad(s); };
  CHECK_THROWS_AS(ct::for_loop(3, of_step, x), int);
  CHECK(extents_of(g) == before);
  CHECK_THROWS_AS(ct::while_loop([](auto i, auto) { return i < 5; }, of_step, x * 3.0), int);
  CHECK_THROWS_AS(ct::while_loop([&](auto, auto s) { return bad(s) < 1.0; }, of_step, x), int);
  CHECK_THROWS_AS(ct::cond(x < 1.0, [](auto s) { return s * 2.0; }, bad)(x), int);
  CHECK_THROWS_AS(ct::case_of(ct::convert<I>(x), bad)(x), int);
  auto const now = extents_of(g); // of the operands that were computed outside of bodies
  CHECK_THROWS_AS(ct::checkpoint(bad)(x), int);
  CHECK_THROWS_AS(ct::checkpoint([&](auto const& all) { return bad(all[0], all[1]); })(std::vector{x, w}),
                  int);
  CHECK_THROWS_AS(ct::checkpoint_sequence([&](auto s, int k) { return k < 2 ? ct::exp(s) : bad(s); })(
                      x, std::vector{0, 1, 2}),
                  int);
  CHECK(extents_of(g) == now);
  CHECK(g.parameters().empty());
  g.write(g.view(t, {.offset = {0}, .shape = {1}}), x);
  auto const y = ct::for_loop(2, [&](auto, auto s) { return s * w; }, ct::sum(t));
  auto p = g.compile({y});
  p.bind(x, 3.0);
  p.bind(w, .5);
  p.run();
  CHECK(double(p.value(y)) == .75);
}

TEST_CASE("A nested body that throws withdraws its captures") {
  dynamic::graph g;
  auto const x = g.input<double>("x"), w = g.input<double>("w"), v = g.input<double>("v");
  auto const y = ct::for_loop(
      3,
      [&](auto, auto s) {
        auto const q = ct::exp(s);
        try {
          (void)ct::for_loop(2, [&](auto, auto u) -> decltype(u) { throw u * q * w * v; }, s);
        } catch (dynamic::expr<double> const&) {}
        CHECK(refused("both operands must be equal axis by axis", [&] {
          (void)(q * g.constant(std::vector{1., 2.}) + g.constant(std::vector{1., 2., 3.}));
        }));
        return q * w;
      },
      x);
  auto const d = g.gradient({y}, {x}).front();
  auto p = g.compile({y, d});
  p.bind(x, .5);
  p.bind(w, .25);
  p.run(); // v is read by nothing
  double s = .5, slope = 1;
  for (int k = 0; k < 3; ++k) {
    s = std::exp(s) * .25;
    slope *= s;
  }
  CHECK(double(p.value(y)) == Approx(s));
  CHECK(double(p.value(d)) == Approx(slope));
}

} // namespace
