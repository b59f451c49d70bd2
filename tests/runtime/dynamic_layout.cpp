// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>
#include <cotangent/eager.hpp>
#include <cotangent/linalg.hpp>

#include "catch.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// Functions with axes, sizes and counts that are numbers, against those with template arguments.

namespace {

namespace ct = cotangent;
using ct::dynamic::expr;
using ct::dynamic::variable;
using numbers = std::vector<double>;

/// Both forms of each function, of x [2, 3, 4], v [4] and integers i [2]; parts of pairs are listed singly.
inline constexpr auto both_forms = [](auto const& check, auto x, auto v, auto i) {
  check(ct::expand(x, 1), ct::expand<1>(x));
  check(ct::expand(x, -1), ct::expand<-1>(x));
  check(ct::squeeze(ct::expand(x, 2), 2), ct::squeeze<2>(ct::expand<2>(x)));
  check(ct::squeeze(ct::expand(ct::expand(v, 0), 0), {0, -2}), ct::squeeze<0, 1>(ct::expand<0>(ct::expand<0>(v))));
  check(ct::swap_axes(x, 0, -1), ct::swap_axes<0, -1>(x));
  check(ct::roll(x, 5, 1), ct::roll<5, 1>(x));
  check(ct::roll(x, -1), ct::roll<-1>(x));
  check(ct::reverse(x, 1), ct::reverse<1>(x));
  check(ct::repeat(x, 3, 1), ct::repeat<3, 1>(x));
  check(ct::repeat(x, 0), ct::repeat<0>(x));
  check(ct::tile(v, {2, 3}), ct::tile<2, 3>(v));
  check(ct::tile(x, std::vector<int>{2, 1}), ct::tile<2, 1>(x));
  check(ct::tril(x, -1), ct::tril<-1>(x));
  check(ct::triu(x, 1), ct::triu<1>(x));
  check(ct::pad(x, {1, 0, 0, 2, 0, 0}), ct::pad<1, 0, 0, 2, 0, 0>(x));
  check(ct::pad(v, std::vector<std::int64_t>{2, 1}, 7), ct::pad<2, 1>(v, 7));
  check(ct::pad(v, {2, 1}, ct::sum(v)), ct::pad<2, 1>(v, ct::sum(v)));
  check(ct::pad_edge(v, {2, 1}), ct::pad_edge<2, 1>(v));
  check(ct::pad_reflect(v, {3, 1}), ct::pad_reflect<3, 1>(v));
  check(ct::permute(x, {2, 0, -2}), ct::permute<2, 0, 1>(x));
  check(ct::all(x > 0, 1), ct::all(x > 0, ct::axes<1>));
  check(ct::all(x > 0, {0, 2}, ct::keep), ct::all(x > 0, ct::axes<0, 2>, ct::keep));
  check(ct::quantile(x, 0.25, {0, 1}), ct::quantile(x, 0.25, ct::axes<0, 1>));
  check(ct::quantile(x, ct::mean(ct::square(v)), -1, ct::keep), ct::quantile(x, ct::mean(ct::square(v)), ct::axes<2>, ct::keep));
  check(ct::axis_size(x, -2), ct::axis_size<1>(x));
  check(ct::top_k(x, 2).first, ct::top_k<2>(x).first);
  check(ct::top_k(x, 3).second, ct::top_k<3>(x).second);
  check(ct::scatter_add(x, i, 5), ct::scatter_add<5>(x, i));
  check(ct::segment_sum(x, i, 3), ct::segment_sum<3>(x, i));
  check(ct::segment_max(x, i, 3), ct::segment_max<3>(x, i));
  check(ct::segment_min(x, i, 3), ct::segment_min<3>(x, i));
  check(ct::one_hot<double>(i, 6), ct::one_hot<6, double>(i));
  check(ct::linspace(ct::sum(v), 3, 5), ct::linspace<5>(ct::sum(v), 3));
  check(ct::linspace(1, ct::sum(v), 1), ct::linspace<1>(1, ct::sum(v)));
  check(ct::concatenate({x, x + 1, x * 2}, 1), ct::concatenate<1>(x, x + 1, x * 2));
  check(ct::concatenate({x}), ct::concatenate<0>(x));
  check(ct::stack(std::vector{x, x + 1}), ct::stack<0>(x, x + 1));
  check(ct::stack({v, v + 1, v * 2}, -1), ct::stack<-1>(v, v + 1, v * 2));
  check(ct::concatenate<2>(std::array{x, x + 1}), ct::concatenate<2>(x, x + 1));
  check(ct::stack<1>(std::array{x, x + 1, x, x, x}), ct::stack<1>(x, x + 1, x, x, x));
};

template <class E, class F> bool refuses(F const& f, std::string const& words) {
  try {
    f();
  } catch (E const& e) {
    UNSCOPED_INFO(e.what());
    return std::string(e.what()).find(words) != std::string::npos;
  }
  return false;
}

TEST_CASE("numbers as axes, sizes and counts make the nodes that template arguments make", "[dynamic_layout]") {
  ct::dynamic::graph g;
  auto x = g.input<double>("x", {2, 3, 4});
  auto v = g.input<double>("v", {4});
  auto i = g.input<std::int64_t>("i", {2});
  int n = 0;
  both_forms(
      [&](auto const& given, auto const& expected) {
        INFO("check " << ++n);
        CHECK(given.id() == expected.id());
        CHECK(given.shape() == expected.shape());
      },
      x, v, i);
}

TEST_CASE("the largest and smallest numbers are handled or refused", "[dynamic_layout]") {
  constexpr std::int64_t most = INT64_MAX, least = INT64_MIN;
  ct::dynamic::graph g;
  auto x = g.input<double>("x", {2, 3});
  CHECK(refuses<ct::error>([&] { ct::pad(x, {most, most, 0, 0}); }, "fewer than 2^60"));
  CHECK(refuses<ct::error>([&] { ct::pad(x, {0, 0, most, most - 2}); }, "fewer than 2^60"));
  CHECK(refuses<ct::error>([&] { ct::repeat(x, least, 1); }, "at least 0"));
  CHECK(refuses<ct::error>([&] { ct::tile(x, {least, std::int64_t{1}}); }, "at least 0"));
  auto const all = ct::tril(x, most), none = ct::triu(x, most), nothing = ct::tril(x, least), everything = ct::triu(x, least);
  auto p = g.compile({all, none, nothing, everything});
  p.bind(x, numbers{1, 2, 3, 4, 5, 6});
  p.run();
  for (int k = 0; k < 6; ++k) {
    CHECK(p.value(all)(k / 3, k % 3) == k + 1);
    CHECK(p.value(everything)(k / 3, k % 3) == k + 1);
    CHECK(p.value(none)(k / 3, k % 3) == 0);
    CHECK(p.value(nothing)(k / 3, k % 3) == 0);
  }
}

TEST_CASE("they run in eager mode, each with its own numbers", "[dynamic_layout]") {
  ct::dynamic::eager e;
  numbers elements;
  for (int k = 0; k < 24; ++k) elements.push_back((k * 7 % 24) / 8.0 - 1);
  auto x = e.parameter(elements, {2, 3, 4}, "x");
  auto v = e.parameter(numbers{0.5, -0.25, 0.75, 0.125}, {4}, "v");
  auto i = e.constant(std::vector<std::int64_t>{2, 0}, {2});
  for (int round = 0; round < 2; ++round) // the second one finds every prepared operation
    both_forms(
        [&](auto const& given, auto const& expected) {
          CHECK(given.shape() == expected.shape());
          auto const a = given.value(), b = expected.value();
          CHECK(std::vector(a.begin(), a.end()) == std::vector(b.begin(), b.end()));
        },
        x, v, i);
  CHECK(ct::roll(v, 1)(0).item() == 0.125);
  CHECK(ct::roll(v, 2)(0).item() == 0.75);
}

// Horner's rule; its coefficients are the rows of a tensor.
inline constexpr auto polynomial = [](auto coefficients, auto x) {
  auto y = 0 * x;
  for (auto c : coefficients) y = y * x + c;
  return y;
};

TEST_CASE("roll of a named extent moves every element of every size", "[dynamic_layout]") {
  auto const back = ct::compiled([](auto x) { return ct::roll<-1, 0>(x); });
  auto const ahead = ct::compiled([](auto x) { return ct::roll<50, 0>(x); });
  for (int n = 0; n < 220; ++n) {
    INFO("elements " << n);
    std::vector<double> x(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = i;
    auto const y = back(ct::view<double const, "n">(x)), z = ahead(ct::view<double const, "n">(x));
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += y.data()[i] != (i + 1) % n || z.data()[i] != ((i - 50) % n + n) % n;
    CHECK(wrong == 0);
  }
}

TEST_CASE("the maximum along an axis has it in braces; a number is an operand", "[dynamic_layout]") {
  ct::dynamic::eager e;
  auto x = e.parameter(numbers{1, 5, 2, 4, 0, 3}, {2, 3});
  CHECK(ct::max(x, {1}).shape() == ct::shape_of<2>);
  CHECK(ct::max(x, {1})(0).item() == 5);
  CHECK(ct::min(x, {0})(1).item() == 0);
  CHECK(ct::max(x, 1).shape() == x.shape());
  CHECK(ct::max(x, 1)(1, 1).item() == 1);
}

TEST_CASE("a loop over the rows of a tensor is the same function in all front ends", "[dynamic_layout]") {
  numbers const c{1, -2, 0.5};
  double const y = 1.5 * 1.5 - 2 * 1.5 + 0.5, dy = 2 * 1.5 - 2;
  CHECK(ct::grad<1>(polynomial)(ct::tensor<double, 3>{1, -2, 0.5}, 1.5) == dy);

  ct::dynamic::graph g;
  auto coefficients = g.input<double>("coefficients", {3}), x = g.input<double>("x", {});
  auto value = polynomial(coefficients, x);
  auto slope = ct::grad<1>(polynomial)(coefficients, x);
  auto by_c = g.gradient({value}, {coefficients}).front();
  auto p = g.compile({value, slope, by_c});
  double const at = 1.5;
  p.bind(coefficients, c), p.bind(x, at), p.run();
  CHECK(p.value(value)() == y);
  CHECK(p.value(slope)() == dy);
  auto const powers = p.value(by_c);
  CHECK(numbers(powers.begin(), powers.end()) == numbers{1.5 * 1.5, 1.5, 1});

  ct::dynamic::eager e;
  auto c_e = e.parameter(c);
  auto x_e = e.parameter(1.5);
  auto y_e = polynomial(c_e, x_e);
  CHECK(y_e.item() == y);
  CHECK(e.grad({y_e}, {x_e}).front().item() == dy);

  int rows = 0;
  auto matrix = e.parameter(numbers{1, 2, 3, 4, 5, 6}, {2, 3});
  for (auto row : matrix) {
    CHECK(row.shape() == ct::shape_of<3>);
    CHECK(row[-1].item() == 3 * ++rows);
  }
  CHECK(rows == 2);
  for (auto row : e.parameter(numbers{}, {0, 3})) FAIL(row.rank());
  CHECK_THROWS_AS(x_e.begin() == x_e.end(), ct::shape_error);
  CHECK_THROWS_AS(matrix[2], ct::shape_error);
  CHECK(matrix(ct::range<1, 2>, ct::range<2>).item() == 6); // of shape [1, 1]
  CHECK_THROWS_AS(matrix[0].item(), ct::shape_error);
  CHECK_THROWS_AS(matrix(ct::range<0, 0>, 0).item(), ct::shape_error);

  // One expression is one operand, not a list of its rows.
  static_assert(!std::is_convertible_v<expr<double>, ct::dynamic::expressions>);
  static_assert(!std::is_convertible_v<variable<double>, ct::dynamic::variables>);
}

TEST_CASE("lists of many operands are one node, with its gradient", "[dynamic_layout]") {
  ct::dynamic::graph g;
  std::vector<expr<double>> rows;
  auto x = g.input<double>("x", {100, 3});
  for (int k = 0; k < 100; ++k) rows.push_back(x(99 - k) * (k + 1));
  auto y = ct::stack(rows, 1);
  CHECK(y.shape() == ct::shape_of<3, 100>);
  auto dx = g.gradient({ct::sum(ct::square(y))}, {x}).front();
  auto p = g.compile({y, dx});
  numbers data(300);
  for (std::size_t k = 0; k < 300; ++k) data[k] = static_cast<double>(k % 17) - 8;
  p.bind(x, data);
  p.run();
  bool right = true;
  for (std::size_t k = 0; k < 100; ++k)
    for (std::size_t c = 0; c < 3; ++c) {
      double const from = data[(99 - k) * 3 + c], by = static_cast<double>(k + 1);
      right = right && p.value(y).begin()[c * 100 + k] == from * by && p.value(dx).begin()[(99 - k) * 3 + c] == 2 * from * by * by;
    }
  CHECK(right);
}

TEST_CASE("lists of half precision are float", "[dynamic_layout]") {
  ct::dynamic::graph g;
  auto x = ct::convert<ct::bfloat16>(g.input<float>("x", {2}));
  auto y = ct::stack({x, x}, 0);
  static_assert(std::is_same_v<decltype(y)::value_type, float>);
  CHECK(y.id() == ct::stack<0>(x, x).id());
}

TEST_CASE("an array of expressions is stacked in a compiled function", "[dynamic_layout]") {
  auto const f = [](auto x) {
    std::array<decltype(x(0)), 3> rows{x(2), x(0), x(1)};
    return ct::stack<0>(rows) * ct::concatenate<0>(std::array{x(ct::range<2>), x(ct::range<0, 1>), x(ct::range<1, 2>)});
  };
  CHECK(ct::compiled(f)(std::array{2., 3., 5.}) == ct::tensor<double, 3>{25, 4, 9});
}

TEST_CASE("numbers that do not fit are refused", "[dynamic_layout]") {
  ct::dynamic::graph g;
  auto x = g.input<double>("x", {2, 3});
  auto i = g.input<std::int64_t>("i", {2});
  std::int64_t const far = (std::int64_t{1} << 32) + 1; // as 32 bits: 1
  auto const s = ct::sum(x), row = ct::sum(x, 0);
  std::int32_t const nodes = g.get().nodes.size();
  CHECK(refuses<ct::shape_error>([&] { (void)ct::roll(x, 1, 2); }, "an axis must be less than the rank"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::roll(x, 1, far); }, "an axis must be less than the rank"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::reverse(x, far); }, "an axis must be less than the rank"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::sum(x, far); }, "an axis must be less than the rank"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::expand(x, 3); }, "an axis must be less than the rank"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::expand(x, -4); }, "an axis must be less than the rank"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::squeeze(x, {0, 0}); }, "must be different"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::squeeze(x, 0); }, "squeeze: the axis must have size 1"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::swap_axes(x, 0, 2); }, "an axis must be less than the rank"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::repeat(x, -2); }, "the number of copies must be at least 0 (-2)"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::tile(x, {1, -1}); }, "the number of copies must be at least 0 (-1)"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::tile(x, {1, 1, 1, 1, 1, 1, 1, 1, 1}); }, "rank of a result must be at most 8"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::pad(x, {1, 1}); }, "pad: two numbers of at least 0"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::pad(x, {1, 1, 0, -1}); }, "pad: the numbers before and after an axis must be at least 0 (-1)"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::pad_edge(x, {0, 0, -3, 1}); }, "must be at least 0 (-3); in pad_edge"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::pad_reflect(x, {0, 2, 0, 0}); }, "pad_reflect"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::top_k(x, 4); }, "a range must lie within its axis"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::top_k(x, -1); }, "a size must be at least 0"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::scatter_add(x, i, -5); }, "a size must be at least 0"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::segment_max(x, i, -1); }, "a size must be at least 0"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::one_hot(i, -1); }, "a size must be at least 0"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::linspace(s, 1, -1); }, "a size must be at least 0"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::permute(x, {0, 1, 0}); }, "permute"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::stack({x, row}, 0); }, "concatenate"));
  CHECK(refuses<ct::shape_error>([&] { (void)ct::concatenate({x, x}, 2); }, "an axis must be less than the rank"));
  CHECK(refuses<ct::graph_error>([&] { (void)ct::stack(std::vector<expr<double>>{}, 0); }, "there must be at least one operand"));
  CHECK(refuses<ct::graph_error>([&] { (void)ct::concatenate({expr<double>(), x}, 0); }, "must have a value"));
  CHECK(refuses<ct::graph_error>([&] { (void)ct::stack({expr<double>(1.0), expr<double>(2.0)}, 0); }, "g.constant"));
  CHECK(g.get().nodes.size() == nodes);
  ct::dynamic::graph other;
  auto y = other.input<double>("y", {2, 3});
  CHECK(refuses<ct::graph_error>([&] { (void)ct::stack({x, y}, 0); }, "expressions of one graph"));
  CHECK(ct::stack({expr<double>(2.0), ct::sum(x)}, 0).shape() == ct::shape_of<2>);

  ct::dynamic::eager e, f;
  auto a = e.parameter(numbers{1, 2}, {2}), b = f.parameter(numbers{1, 2}, {2});
  CHECK(refuses<ct::graph_error>([&] { (void)ct::stack({a, b}, 0); }, "cotangent"));
  CHECK(refuses<ct::graph_error>([&] { (void)ct::stack({a, variable<double>()}, 0); }, "cotangent"));
  CHECK(refuses<ct::graph_error>([&] { (void)ct::stack(std::vector<variable<double>>{}, 0); }, "there must be at least one operand"));
}

TEST_CASE("Empty braces are no axes or no sizes", "[dynamic_layout]") {
  auto const all = [](auto const& x, auto const& one) {
    auto const same = [&](auto const& y) { return y.shape() == x.shape(); };
    CHECK(same(ct::squeeze(x, {})));
    CHECK(same(ct::sum(x, {})));
    CHECK(same(ct::mean(x, {})));
    CHECK(same(ct::max(x, {})));
    CHECK(same(ct::var(x, {})));
    CHECK(same(ct::norm(x, {})));
    CHECK(same(ct::norm<1>(x, {})));
    CHECK(same(ct::quantile(x, .5, {})));
    CHECK(same(ct::sum(x, {}, ct::keep)));
    CHECK(same(ct::mean(x, {}, ct::keep)));
    CHECK(same(ct::prod(x, {}, ct::keep)));
    CHECK(same(ct::max(x, {}, ct::keep)));
    CHECK(same(ct::logsumexp(x, {}, ct::keep)));
    CHECK(same(ct::var(x, {}, ct::keep)));
    CHECK(same(ct::std(x, {}, ct::keep)));
    CHECK(same(ct::median(x, {}, ct::keep)));
    CHECK(same(ct::norm(x, {}, ct::keep)));
    CHECK(same(ct::norm<1>(x, {}, ct::keep)));
    CHECK(same(ct::quantile(x, .5, {}, ct::keep)));
    CHECK(same(ct::any(x > 1., {}, ct::keep)));
    CHECK(same(ct::count(x > 1., {}, ct::keep)));
    CHECK(same(ct::all(x > 1., {})));
    CHECK(same(ct::all(x > 1., {}, ct::keep)));
    CHECK(ct::reshape(one, {}).rank() == 0);
    CHECK(ct::permute(ct::sum(x), {}).rank() == 0);
    CHECK(ct::broadcast_to(ct::sum(x), {}).rank() == 0);
  };
  ct::dynamic::graph g;
  all(g.input<double>("x", {4, 1, 3}), g.input<double>("one", {1, 1}));
  ct::dynamic::eager e;
  all(ct::reshape(e.constant(std::vector{1., 2., 3.}), {3, 1}), ct::reshape(e.constant(std::vector{1.}), {1, 1}));
}

} // namespace
