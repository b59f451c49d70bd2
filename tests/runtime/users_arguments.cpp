// SPDX-License-Identifier: BSL-1.0
// Programs of users: what is passed, and what comes back.
#include <cotangent/cotangent.hpp>
#include <cotangent/numeric.hpp>

#include "catch.hpp"

#include <array>
#include <span>
#include <utility>
#include <vector>

namespace ct = cotangent;

namespace {

namespace p02 {
constexpr auto sse = [](auto x) { return ct::sum(x * x); };
constexpr auto lin = [](auto a, auto b, auto x) { return ct::sum(ct::square(a * x + b)); };

TEST_CASE("vectors, spans, arrays and memory are arguments, and have gradients of their kind") {
  std::vector<double> v{1, 2, 3};
  auto g = ct::grad(sse)(v);
  static_assert(std::is_same_v<decltype(g), std::vector<double>>);
  CHECK(g[2] == 6);
  auto s = ct::grad(sse)(std::span<double const>(v));
  CHECK(s(1) == 4);
  std::array<float, 3> a{1, 2, 3};
  auto ga = ct::grad(sse)(a);
  static_assert(std::is_same_v<decltype(ga), std::array<float, 3>>);
  std::array<std::array<double, 2>, 3> m{};
  auto gm = ct::grad(sse)(m);
  CHECK(gm[2][1] == 0);
  double raw[3] = {1, 2, 3};
  auto gr = ct::grad(sse)(ct::view<double, 3>(raw));
  CHECK(gr(0) == 2);
  auto gn = ct::grad<2>(lin)(2.0, 1.0, v);
  CHECK(gn[0] == 12);
  std::vector<float> const cv{1, 2};
  CHECK(ct::compiled(sse)(cv) == 5);
}
} // namespace p02

namespace nothing {
TEST_CASE("a checked call of a view of nothing throws, unless it has no elements") {
  ct::view<double const, 4> few;
  ct::view<double const, 300> many;
  ct::strided_span<double const, 4> strided;
  ct::view<double const, 0> none;
  auto const total = ct::compiled([](auto v) { return ct::sum(v * v); });
  CHECK_THROWS_WITH(total(few), Catch::Contains("a view must not be of nothing"));
  CHECK_THROWS_WITH(total(many), Catch::Contains("a view must not be of nothing"));
  CHECK_THROWS_WITH(total(strided), Catch::Contains("a view must not be of nothing"));
  CHECK_THROWS_WITH(ct::grad([](auto v) { return ct::sum(v * v); })(many), Catch::Contains("a view must not be of nothing"));
  CHECK(total(none) == 0);
  CHECK(total(ct::view<double, "n">()) == 0);
  CHECK(total(std::vector<double>()) == 0);

  auto const square = [](auto v) { return v * v; };
  CHECK_THROWS_WITH(ct::vjp(square)(many), Catch::Contains("a view must not be of nothing"));
  auto const [y, back] = ct::vjp(square)(ct::tensor<double, 4>{1, 2, 3, 4});
  CHECK_THROWS_WITH(back(few), Catch::Contains("a view must not be of nothing"));
  CHECK_THROWS_WITH(back(strided), Catch::Contains("a view must not be of nothing"));
}
TEST_CASE("a tensor, a pullback and a linear map that were moved from are refused") {
  auto const moved = Catch::Contains("a tensor not moved from");
  ct::tensor<double, 100> x, there;
  x.fill(1);
  there = std::move(x);
  auto const square = [](auto v) { return v * v; };
  CHECK_THROWS_WITH(ct::compiled(square)(x), moved);
  CHECK_THROWS_WITH(ct::grad([](auto pair) { return ct::sum(std::get<0>(pair) * std::get<1>(pair)); })(std::tuple(there, x)), moved);
  CHECK_THROWS_WITH(ct::check_gradient(square, x), moved);
  auto [y, back] = ct::vjp(square)(there);
  CHECK_THROWS_WITH(back(x), moved);
  auto const other = std::move(back);
  CHECK_THROWS_WITH(back(there), moved);
  CHECK(other(there)(7) == 2);
  ct::tensor<double, "n"> named(100);
  named.fill(1);
  auto [value, map] = ct::linearize(square)(named);
  auto const other_map = std::move(map);
  CHECK_THROWS_WITH(map(named), moved);
  CHECK(other_map(named)(7) == 2);
}

TEST_CASE("differences along an extent n have the extent n-1, so n = 0 is refused in words") {
  auto const differences = ct::compiled([](auto x) { return ct::diff(x); });
  CHECK_THROWS_WITH(differences(std::vector<double>()), Catch::Contains("must be at least 0 and fit 64 bits"));
  CHECK(differences(std::vector<double>{1}).size() == 0);
  CHECK(differences(ct::tensor<double, 0>()).size() == 0);
}
} // namespace nothing

namespace p03 {
constexpr auto dot = [](auto x, auto y) { return ct::sum(x * y); };

TEST_CASE("vectors of one named size are combined") {
  std::vector<double> a{1, 2, 3}, b{4, 5, 6};
  double d = ct::compiled(dot)(ct::view<double, "n">(a), ct::view<double, "n">(b));
  CHECK(d == 32);
  auto g = ct::grad(dot)(ct::view<double const, "n">(a), ct::view<double, "n">(b));
  CHECK(g(0) == 4);
}
} // namespace p03

namespace p08 {
constexpr auto f = [](auto const& x, auto const& y) { return ct::sum(x * y); };

TEST_CASE("constant tensors are arguments, and gradients can be stored") {
  ct::tensor<double, 2> const x{1, 2}, y{3, 4};
  auto g = ct::grad<0, 1>(f)(x, y);
  static_assert(std::is_same_v<decltype(g), std::tuple<ct::tensor<double, 2>, ct::tensor<double, 2>>>);
  auto gradient = ct::grad(f);
  std::vector<ct::tensor<double, 2>> keep;
  for (int i = 0; i < 3; ++i) keep.push_back(gradient(x, y));
  auto z = std::move(keep[0]);
  CHECK(z(0) == 3);
  ct::tensor<double, 2> w = x;
  for (int i = 0; i < 3; ++i) w = ct::compiled([](auto a, auto b) { return a - 0.1 * b; })(w, gradient(w, y));
  CHECK(w(0) < 1);
}
} // namespace p08

namespace p10 {
constexpr auto gram = [](auto x) { return ct::matmul(ct::transpose(x), x); };
constexpr auto mix = [](auto x, auto y) { return ct::mean(ct::square(x - y), ct::axes<0>); };
constexpr auto cat = [](auto x, auto y) { return ct::concatenate<0>(x, y); };
constexpr auto flat = [](auto x) { return ct::flatten(x) * 2.0; };

TEST_CASE("named extents are equal, doubled, multiplied, and reduced") {
  ct::tensor<double, "n", 3> x(4), y(4), z(5);
  auto g = ct::compiled(gram)(x);
  static_assert(std::is_same_v<decltype(g), ct::tensor<double, 3, 3>>);
  ct::tensor<double, "n", "n"> sq(3);
  auto s = ct::compiled(gram)(sq);
  CHECK(s.extent(0) == 3);
  CHECK(ct::compiled(mix)(x, y).size() == 3);
  CHECK_THROWS_AS(ct::compiled(mix)(x, z), ct::shape_error);
  auto c = ct::compiled(cat)(x, y);
  static_assert(std::is_same_v<decltype(c), ct::tensor<double, "2*n", 3>>);
  CHECK(c.extent(0) == 8);
  ct::tensor<double, "m", 3> m(2);
  auto d = ct::compiled(cat)(x, m);
  CHECK(d.extent(0) == 6);
  auto fl = ct::compiled(flat)(x);
  CHECK(fl.size() == 12);
  ct::tensor<double, "n"> none(0);
  CHECK(ct::compiled([](auto v) { return ct::sum(v); })(none) == 0);
  CHECK(ct::grad([](auto v) { return ct::sum(v * v); })(none).size() == 0);
}
} // namespace p10

namespace p11 {
constexpr auto mixed = [](auto x, auto y) { return ct::sum(ct::convert<double>(x) * y); };

TEST_CASE("float and double are combined after a conversion") {
  ct::tensor<float, 3> x{1, 2, 3};
  ct::tensor<double, 3> y{1, 2, 3};
  auto [gx, gy] = ct::grad<0, 1>(mixed)(x, y);
  static_assert(std::is_same_v<decltype(gx), ct::tensor<float, 3>>);
  CHECK((gx(2) == 3 && gy(0) == 1));
  auto z = ct::compiled([](auto a) { return a * 2 + 1.5; })(x);
  static_assert(std::is_same_v<decltype(z), ct::tensor<float, 3>>);
  auto p = ct::compiled([](auto a) { return ct::pow(a, 2) + ct::pow(2, a) + ct::max(a, 0) + ct::min(1.f, a); })(x);
  CHECK(p(0) == 1 + 2 + 1 + 1);
}
} // namespace p11

} // namespace
