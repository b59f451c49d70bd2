// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>
#include <cotangent/dynamic.hpp>
#include <cotangent/linalg.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

// A side that ct::select does not choose leaks no NaN into a derivative, however far its pole is from the select.

namespace ct = cotangent;

namespace {

using vector3 = ct::tensor<double, 3>;
constexpr vector3 at{0.0, 1.0, 4.0};

void near(double x, double wanted) {
  if (!ct::math::is_fast) CHECK_THAT(x, Catch::WithinAbs(wanted, 1e-14)); // false for NaN
}

/// The gradient in reverse mode, forward mode, and of a run-time graph.
template <class F> void gradient_is(F f, vector3 const& wanted) {
  vector3 const reverse = ct::grad(f)(at), forward = ct::jacfwd(f)(at);
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {3});
  auto const dx = g.gradient({f(x)}, {x}).front();
  auto p = g.compile({dx});
  std::vector<double> const data{at(0), at(1), at(2)};
  p.bind(x, data);
  p.run();
  for (int k = 0; k < 3; ++k) {
    INFO("element " << k);
    near(reverse(k), wanted(k));
    near(forward(k), wanted(k));
    near(p.value(dx)(k), wanted(k));
  }
}

// A branch in a branch, of rows that take different ones.
inline constexpr auto in_a_branch = [](auto k, auto i, auto c) {
  auto const m = ct::select(c < k, c, k);
  return ct::cond(i < 1,
                  [&](auto) {
                    return ct::cond(m > 0.0, [&](auto s) { return ct::sqrt(s); }, [&](auto) { return c; })(m);
                  },
                  [&](auto) { return c; })(k);
};
inline constexpr auto total_of_branches = [](auto x, auto i, auto c) { return ct::sum(ct::square(ct::vmap<0, 0, ct::unmapped>(in_a_branch)(x, i, c))); };
inline constexpr auto slopes_of_branches = [](auto x, auto i, auto c) {
  auto const [dx, dc] = ct::grad<0, 2>(total_of_branches)(x, i, c);
  return ct::sum(dx) + dc;
};

} // namespace

TEST_CASE("a function with a pole where select does not choose it") {
  gradient_is([](auto x) { return ct::sum(ct::select(x > 0, 2.0 * ct::sqrt(x), 0.0)); }, {0, 1, 0.5});
  gradient_is([](auto x) { return ct::sum(ct::select(x <= 0, 0.0, ct::pow(x, -0.5))); }, {0, -0.5, -0.0625});
}

TEST_CASE("operations between select and the pole, and a value used twice") {
  gradient_is(
      [](auto x) {
        auto const root = ct::sqrt(x);
        return ct::sum(ct::select(x > 0, ct::square(root) * root + root, -x));
      },
      {-1, 2, 3.25});
}

TEST_CASE("select in select keeps all masks") {
  gradient_is(
      [](auto x) {
        auto const inner = ct::select(x < 4, 3.0 / x, 1.0);
        return ct::sum(ct::select(x > 0, inner, x));
      },
      {1, -3, 0});
  gradient_is(
      [](auto x) {
        auto y = ct::sqrt(x);
        for (int k = 0; k < 8; ++k) y = ct::select(x > 0 - k, 1.0 * y + k, 7.0); // the innermost is the one that counts
        return ct::sum(y);
      },
      {0, 0.5, 0.25});
}

TEST_CASE("select chooses a reduction") {
  gradient_is([](auto x) { return ct::select(ct::min(x) > 0, ct::sum(ct::log(x)), 3.0); }, {0, 0, 0});
  gradient_is([](auto x) { return ct::select(ct::min(x) <= 0, ct::sum(x), ct::sum(ct::log(x))); }, {1, 1, 1});
  gradient_is(
      [](auto x) {
        auto const s = ct::sum(ct::square(x - ct::stop_gradient(x)));
        return ct::select(s > 0, ct::sqrt(s), 0.0);
      },
      {0, 0, 0});
}

TEST_CASE("a side that is chosen keeps its infinity") {
  if (!ct::math::is_fast) CHECK(std::isinf(ct::grad([](auto x) { return ct::sum(ct::select(x >= 0, ct::sqrt(x), 0.0)); })(at)(0)));
}

TEST_CASE("second derivatives under select") {
  auto const h = ct::hessian([](auto x) { return ct::sum(ct::select(x > 0, x * ct::log(x), 0.0)); })(at);
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k) near(h(i, k), i != k || i == 0 ? 0 : 1 / at(i));
}

namespace {

template <class F> void second_derivatives_are(F f, vector3 const& wanted) { // of a sum of functions of one element each
  auto const check = [&](auto const& h) {
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k) near(h(i, k), i == k ? wanted(i) : 0);
  };
  check(ct::hessian(f)(at));
  check(ct::jacrev(ct::jacfwd(f))(at));
  check(ct::jacrev(ct::grad(f))(at));
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {3});
  auto const twice = g.gradient({ct::sum(g.gradient({f(x)}, {x}).front())}, {x}).front();
  auto const rows = ct::jacrev(ct::jacfwd(f))(x);
  auto p = g.compile({twice, rows});
  std::vector<double> const data{at(0), at(1), at(2)};
  p.bind(x, data);
  p.run();
  check(p.value(rows));
  for (int k = 0; k < 3; ++k) near(p.value(twice)(k), wanted(k));
}

} // namespace

TEST_CASE("Reverse mode over a gradient masks the side that select does not choose") {
  second_derivatives_are([](auto x) { return ct::sum(ct::select(x > 0, x * ct::log(x), 0.0)); }, {0, 1, 0.25});
  second_derivatives_are([](auto x) { return ct::sum(ct::select(x <= 0, x * x, ct::sin(x) * ct::log(x))); },
                         {2, 2 * std::cos(1.0) - std::sin(1.0), std::cos(4.0) / 2 - std::sin(4.0) * (std::log(4.0) + 1.0 / 16)});
  second_derivatives_are([](auto x) { return ct::sum(ct::square(ct::select(x > 0, ct::sqrt(x), x))); }, {2, 0, 0});
  second_derivatives_are([](auto x) { return ct::sum(ct::select(x > 3, x * x, ct::sqrt(4.0 - x))); }, {-1.0 / 32, -0.25 * std::pow(3.0, -1.5), 2});
}

TEST_CASE("A mask that the function computes itself, and two masks of one value, are masks") {
  gradient_is([](auto x) { return ct::sum(ct::select(x > 0, 1.0, 0.0) + ct::select(x > 0, ct::log(x), 0.0)); }, {0, 1, 0.25});
  gradient_is(
      [](auto x) {
        auto const l = ct::log(x);
        return ct::sum(ct::select(x > 0, l * l, 0.0) + ct::select(x > 3, l, x));
      },
      {1, 1, 0.5 * std::log(4.0) + 0.25});
}

TEST_CASE("select in loops and in rows of vmap") {
  auto const looped = [](auto x) {
    return ct::sum(ct::for_loop(2, [](auto, auto y) { return ct::select(y > 0, ct::sqrt(y), y); }, x));
  };
  auto const rows = [](auto x) { return ct::sum(ct::vmap([](auto a) { return ct::select(a > 0, ct::log(a), a); })(x)); };
  vector3 const d = ct::grad(looped)(at), e = ct::grad(rows)(at);
  for (int k = 0; k < 3; ++k) {
    near(d(k), k == 0 ? 1 : 0.25 * std::pow(at(k), -0.75));
    near(e(k), k == 0 ? 1 : 1 / at(k));
  }
}

TEST_CASE("cotangents of both sides of one select meet in one select") {
  auto const magnitude = [](auto x) { return ct::sum(ct::select(x > 0, x, -x)); };
  gradient_is(magnitude, {-1, 1, 1});
  using program = ct::program<decltype(ct::grad(magnitude)), vector3>;
  int sums = 0;
  for (int k = 0; k < program::graph.node_count; ++k) sums += program::graph.nodes[k].op == ct::info_of<ct::op::add>() ? 1 : 0;
  CHECK(sums == 0);
}

TEST_CASE("A row of vmap that does not take a branch leaks no NaN to values that all rows share") {
  auto const leaks_nothing = [](auto f) {
    ct::dynamic::graph g;
    auto const z = g.input<double>("z", {2}), w = g.input<double>("w", {2});
    auto const n = g.input<std::int64_t>("n", {2});
    auto const total = [&](auto rows, auto counts, auto shared, auto vector) {
      auto const row = [&](auto x, auto count) {
        return ct::cond(x > 0.0, [&](auto y) { return f(y, count, shared, vector); }, [](auto y) { return y; })(x);
      };
      return ct::sum(ct::square(ct::vmap(row)(rows, counts)));
    };
    auto const gradient = ct::grad<2, 3>(total)(z, n, w(0), w);
    auto const alone = ct::grad<2, 3>([&](auto x, auto count, auto shared, auto vector) {
      return ct::square(f(x, count, shared, vector));
    })(z(1), n(1), w(0), w);
    auto const curvature = ct::hessian<3>(total)(z, n, w(0), w), of_one = ct::hessian<3>([&](auto x, auto count, auto shared, auto vector) {
      return ct::square(f(x, count, shared, vector));
    })(z(1), n(1), w(0), w);
    auto p = g.compile({std::get<0>(gradient), std::get<1>(gradient), curvature, std::get<0>(alone), std::get<1>(alone), of_one});
    std::vector<double> const rows{-0.5, 0.2}, factors{0.4, 0.9};
    std::vector<std::int64_t> const counts{3, 2};
    p.bind(z, rows);
    p.bind(w, factors);
    p.bind(n, counts);
    p.run();
    near(p.value(std::get<0>(gradient))(), p.value(std::get<0>(alone))());
    for (int k = 0; k < 2; ++k) {
      near(p.value(std::get<1>(gradient))(k), p.value(std::get<1>(alone))(k));
      for (int j = 0; j < 2; ++j) near(p.value(curvature)(k, j) / 64, p.value(of_one)(k, j) / 64);
    }
  };
  leaks_nothing([](auto x, auto, auto w, auto) { return ct::pow(x, w); });
  leaks_nothing([](auto x, auto n, auto w, auto) { return ct::for_loop(n, [&](auto, auto s) { return ct::pow(x, w) * s; }, x); });
  leaks_nothing([](auto x, auto n, auto w, auto) {
    auto const q = ct::pow(x, w); // its cotangent leaves the loop
    return ct::for_loop(n, [&](auto, auto s) { return q * s; }, x);
  });
  leaks_nothing([](auto x, auto, auto w, auto) { return ct::for_loop(3, [&](auto, auto s) { return ct::pow(x, w) * s; }, x); });
  leaks_nothing([](auto x, auto, auto, auto v) { return ct::sum(ct::matmul(ct::outer(v, v), ct::log(x * v))); });
  leaks_nothing([](auto x, auto, auto, auto v) { return ct::sum(ct::solve(ct::outer(v, v) + ct::eye<2>(), ct::log(x * v))); });
  leaks_nothing([](auto x, auto, auto, auto v) { return ct::sum(ct::reverse(ct::log(x * v)) * v); });
}

TEST_CASE("Second derivatives in reverse mode keep the masks of branches in branches") {
  auto const [dx, dc] = ct::grad<0, 2>(slopes_of_branches)(ct::tensor<double, 2>{-0.7, 0.9}, ct::tensor<std::int64_t, 2>{0, 3}, -0.4);
  near(dx(0), 0);
  near(dx(1), 0);
  near(dc, 4);
}
