// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>
#include <cotangent/dynamic.hpp>
#include <cotangent/geometry.hpp>
#include <cotangent/tables.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

// Tables and geometry in graphs at run time, tables of extents that are names, and positions that are NaN.

namespace {

namespace ct = cotangent;
using numbers = std::vector<double>;

constexpr ct::table cubic{ct::interpolation::cubic}, monotone{ct::interpolation::monotone};
numbers const xs{0, 1, 2.5, 3, 5}, ys{1, 3, 2, 2.5, 7}, x{-1, 0, 0.25, 1, 1.7, 2.75, 3.5, 5, 6};

constexpr auto all_curves = [](auto at, auto positions, auto values) {
  return ct::interp(at, positions, values) + 10 * ct::interp<cubic>(at, positions, values) +
         100 * ct::interp<monotone>(at, positions, values) + ct::map_coordinates<cubic>(values, at) +
         ct::bspline<2>(at, values) + 10 * ct::map_coordinates(ct::outer(values, values), at, at);
};
constexpr auto with_slopes = [](auto at, auto positions, auto values) {
  return ct::value_and_grad<0, 1, 2>([](auto a, auto b, auto c) { return ct::sum(ct::square(all_curves(a, b, c))); })(at, positions, values);
};

template <class Tensor> void check_near(Tensor const& a, numbers const& b) {
  REQUIRE(a.size() == static_cast<std::int64_t>(b.size()));
  for (std::size_t k = 0; k < b.size(); ++k) CHECK(std::abs(a.data()[k] - b[k]) <= 1e-10 * (1 + std::abs(b[k])));
}
template <class T, class From> T filled(From const& from) {
  T t(static_cast<std::int64_t>(from.size()));
  for (std::size_t k = 0; k < from.size(); ++k) t.data()[k] = from[k];
  return t;
}

} // namespace

TEST_CASE("a spline with fewer rows than its degree needs is reported, if their number has a name") {
  constexpr auto of = [](auto at, auto c) { return ct::bspline(at, c); };
  for (std::int64_t n = 1; n < 7; ++n) {
    ct::tensor<double, "n"> c(n);
    for (std::int64_t k = 0; k < n; ++k) c(k) = 2;
    if (n < 4) CHECK_THROWS_AS(ct::compiled(of)(0.5, c), ct::error);
    else CHECK(ct::compiled(of)(0.5, c) == Approx(2));
  }
}

TEST_CASE("a line beyond a table does not cancel, and is infinite at infinity") {
  static constexpr auto beyond = [](auto at, auto y) {
    constexpr ct::table line{.ends = ct::outside::extrapolate}, curve{.kind = ct::interpolation::cubic, .ends = ct::outside::extrapolate};
    return ct::stack<0>(ct::interp<line>(at, ct::linspace<4>(0.0, 3.0), y), ct::interp<curve>(at, ct::linspace<4>(0.0, 3.0), y), ct::map_coordinates<line>(y, at));
  };
  ct::tensor<double, 4> const flat{0.1, 0.1, 0.1, 0.1}, rising{1, 2, 3, 4};
  double const inf = std::numeric_limits<double>::infinity();
  for (double const at : {-1e10, -1e4, 0.3, 2.9, 3.0, 1e6, 1e10})
    for (double const y : ct::compiled(beyond)(at, flat)) CHECK(y == 0.1);
  for (double const at : {-1e6, 1.0, 3.0, 1e6})
    for (double const y : ct::compiled(beyond)(at, rising)) CHECK(y == 1 + at);
  CHECK(ct::compiled(beyond)(inf, rising)(0) == inf);
  CHECK(ct::compiled(beyond)(-inf, rising)(0) == -inf);
  CHECK(ct::grad<0>([](auto at, auto y) { return beyond(at, y)(0); })(1e6, rising) == 1);
}

TEST_CASE("tables in graphs at run time, and with extents that are names, are those of fixed sizes") {
  ct::tensor<double, 9> at;
  ct::tensor<double, 5> positions, values;
  for (std::size_t k = 0; k < 9; ++k) at.data()[k] = x[k];
  for (std::size_t k = 0; k < 5; ++k) positions.data()[k] = xs[k], values.data()[k] = ys[k];
  auto const [fixed, by_fixed] = ct::compiled(with_slopes)(at, positions, values);

  using many = ct::tensor<double, "m">;
  using rows = ct::tensor<double, "n">;
  auto const [named, by_named] = ct::compiled(with_slopes)(filled<many>(x), filled<rows>(xs), filled<rows>(ys));
  CHECK(std::abs(named - fixed) <= 1e-12 * fixed);
  check_near(std::get<0>(by_named), numbers(std::get<0>(by_fixed).begin(), std::get<0>(by_fixed).end()));
  check_near(std::get<1>(by_named), numbers(std::get<1>(by_fixed).begin(), std::get<1>(by_fixed).end()));
  check_near(std::get<2>(by_named), numbers(std::get<2>(by_fixed).begin(), std::get<2>(by_fixed).end()));

  ct::dynamic::graph g;
  auto const a = g.input<double>("x", {9}), b = g.input<double>("xs", {5}), c = g.input<double>("ys", {5});
  auto const y = ct::sum(ct::square(all_curves(a, b, c)));
  auto const slopes = g.gradient({y}, {a, b, c});
  auto const da = slopes[0], db = slopes[1], dc = slopes[2];
  auto p = g.compile({y, da, db, dc});
  p.bind(a, x), p.bind(b, xs), p.bind(c, ys);
  p.run();
  CHECK(std::abs(p.value(y).data()[0] - fixed) <= 1e-12 * fixed);
  check_near(p.value(da), numbers(std::get<0>(by_fixed).begin(), std::get<0>(by_fixed).end()));
  check_near(p.value(db), numbers(std::get<1>(by_fixed).begin(), std::get<1>(by_fixed).end()));
  check_near(p.value(dc), numbers(std::get<2>(by_fixed).begin(), std::get<2>(by_fixed).end()));
}

// [density]
/// The density of air by the height in km, between measurements.
constexpr auto density = [](auto height, auto heights, auto densities) {
  return ct::interp<ct::table{.kind = ct::interpolation::monotone}>(height, heights, densities);
};

TEST_CASE("a table of densities, its slope, and the weights of its values") {
  ct::tensor<double, 5> const heights{0, 2, 5, 10, 20}, densities{1.225, 1.007, 0.736, 0.414, 0.089};
  auto const [value, slopes] = ct::compiled(ct::value_and_grad<0, 2>(density))(7.0, heights, densities);
  auto const& [by_height, by_densities] = slopes;
  CHECK((value < 0.736 && value > 0.414 && by_height < 0));
  CHECK(std::abs(ct::compiled([](auto w) { return ct::sum(w); })(by_densities) - 1) < 1e-15); // a weighted mean of the rows
}
// [/density]

TEST_CASE("tables of one and two rows, of an extent that is a name") {
  using rows = ct::tensor<double, "n">;
  auto const f = ct::compiled(all_curves);
  auto const without_spline = ct::compiled([](auto at, auto positions, auto values) {
    return ct::interp<cubic>(at, positions, values) + ct::interp<monotone>(at, positions, values) + ct::map_coordinates<cubic>(values, at);
  });
  CHECK(without_spline(5.0, filled<rows>(numbers{2}), filled<rows>(numbers{7})) == 21);
  CHECK(without_spline(0.5, filled<rows>(numbers{0, 1}), filled<rows>(numbers{1, 3})) == 6);
  CHECK(std::isfinite(f(0.5, filled<rows>(numbers{0, 1, 2}), filled<rows>(numbers{1, 3, 4}))));
}

inline constexpr ct::table extended{.ends = ct::outside::extrapolate};

TEST_CASE("linear tables with equal positions have steps, at their ends too") {
  ct::tensor<double, 5> const p{0, 0, 1, 2, 2}, v{10, 20, 30, 40, 50};
  ct::tensor<double, 8> const at{-1, 0, 0.5, 1, 1.5, 2, 2.5, std::numeric_limits<double>::infinity()};
  numbers const expected{10, 20, 25, 30, 35, 50, 50, 50};
  check_near(ct::compiled([](auto a, auto b, auto c) { return ct::interp(a, b, c); })(at, p, v), expected);
  auto const [dx, dv] = ct::grad<0, 2>([](auto a, auto b, auto c) { return ct::sum(ct::interp(a, b, c)); })(at, p, v);
  check_near(dx, {0, 10, 10, 10, 10, 0, 0, 0});
  check_near(dv, {1, 1.5, 2, 0.5, 3});
}

TEST_CASE("tables of one row are constants, extrapolated too") {
  ct::tensor<double, 4> const at{-1e30, 0, 1e30, std::numeric_limits<double>::infinity()};
  ct::tensor<double, 1> const p{0}, v{7};
  constexpr auto f = [](auto a, auto b, auto c) { return ct::interp<extended>(a, b, c) + 10 * ct::map_coordinates<extended>(c, a); };
  check_near(ct::compiled(f)(at, p, v), {77, 77, 77, 77});
  using rows = ct::tensor<double, "n">;
  check_near(ct::compiled(f)(at, filled<rows>(numbers{0}), filled<rows>(numbers{7})), {77, 77, 77, 77});
}

TEST_CASE("the value at a position that is NaN is NaN") {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  ct::tensor<double, 3> const positions{0, 1, 2}, values{1, 3, 4};
  CHECK(std::isnan(ct::compiled([](auto a, auto b, auto c) { return ct::interp(a, b, c); })(nan, positions, values)));
  CHECK(std::isnan(ct::compiled([](auto a, auto c) { return ct::map_coordinates(c, a); })(nan, values)));
  CHECK(std::isnan(ct::compiled([](auto a, auto c) { return ct::bspline<2>(a, c); })(nan, values)));
}

TEST_CASE("rotations and poses in graphs at run time have the derivatives at 0 of traced functions") {
  ct::dynamic::graph g;
  auto const r = g.input<double>("r", {6}), p = g.input<double>("p", {2, 3});
  auto const y = ct::se3_act(ct::se3_exp(r), p);
  auto const loss = ct::sum(ct::square(y)) + ct::sum(ct::square(ct::se3_log(ct::se3_exp(r))));
  auto const dr = g.gradient({loss}, {r}).front();
  auto program = g.compile({y, dr});
  program.bind(r, numbers{1, 2, 3, 0, 0, 0}), program.bind(p, numbers{1, 0, 0, 0, 4, 0});
  program.run();
  check_near(program.value(y), {2, 2, 3, 1, 6, 3});
  // toward the translation t: 2 s + 2 t, where s is the sum of y; toward the rotation: 2 (the sum of p x y) + t x s
  check_near(program.value(dr), {8, 20, 18, 12, -3, -2});
}
