// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>

#include <string>
#include <tuple>
#include <vector>

namespace ct = cotangent;

namespace {
inline constexpr auto smooth = [](auto x, auto y) { return ct::sum(ct::sin(x) * ct::log(y)) / ct::mean(y); };
inline constexpr auto no_scalar = [](auto x) { return ct::exp(x) * ct::sum(x); };

// Wrong on purpose: the derivative is doubled.
struct wrong_square : ct::extend::elementwise<1> {
  static constexpr char const* name = "wrong_square";
  template <class V> static constexpr V apply(V x) { return static_cast<V>(x * x); }
  static constexpr ct::term partial(ct::rule const& r, int) { return 4 * r.x(); }
};
inline constexpr auto wrong = [](auto x) { return ct::sum(ct::extend::apply<wrong_square>({}, x)); };

// Wrong in forward mode only.
struct torn_square : ct::extend::elementwise<1> {
  static constexpr char const* name = "torn_square";
  template <class V> static constexpr V apply(V x) { return static_cast<V>(x * x); }
  static constexpr void adjoint(ct::adjoint_rule& r) { r.give(0, 2 * r.x() * r.dy()); }
  static constexpr void tangent(ct::tangent_rule& r) { r.give(3 * r.x() * r.dx()); }
};
inline constexpr auto torn = [](auto x) { return ct::sum(ct::extend::apply<torn_square>({}, x)); };
} // namespace

TEST_CASE("a right gradient passes the check, in double and in float") {
  CHECK(ct::check_gradient(smooth, ct::tensor<double, 3>{1, 2, 3}, ct::tensor<double, 3>{4, 5, 6}));
  CHECK(ct::check_gradient(smooth, ct::tensor<float, 3>{1, 2, 3}, ct::tensor<float, 3>{4, 5, 6}));
}

TEST_CASE("a function without a scalar result is checked by a weighted sum") {
  CHECK(ct::check_gradient(no_scalar, std::vector<double>{0.1, 0.2, -0.3}));
}

TEST_CASE("integer arguments are skipped") {
  CHECK(ct::check_gradient([](auto z, auto l) { return ct::cross_entropy(z, l); },
                           ct::tensor<double, 2, 3>{{1, 2, 3}, {3, 2, 0}}, ct::tensor<int, 2>{0, 2}));
}

TEST_CASE("a wrong gradient fails, and the result says where") {
  auto const c = ct::check_gradient(wrong, ct::tensor<double, 2>{1, 3});
  CHECK(!c);
  CHECK(c.argument == 0);
  CHECK(c.element == 1);
  CHECK(c.gradient == 12);
  CHECK(c.expected == Approx(6));
  CHECK(std::string(c.words().text()).find("argument 0, element 1: the gradient is 12") == 0);
}

TEST_CASE("a wrong tangent fails") {
  auto const c = ct::check_gradient(torn, ct::tensor<double, 2>{1, 3});
  CHECK(!c);
  CHECK(c.argument == -1);
}

namespace {
struct reverse_square : ct::extend::elementwise<1> {
  static constexpr char const* name = "reverse_square";
  template <class V> static constexpr V apply(V x) { return static_cast<V>(x * x); }
  static constexpr void adjoint(ct::adjoint_rule& r) { r.give(0, 2 * r.x() * r.dy()); }
};
inline constexpr auto third_power = [](double x) { return x * x * x; };
template <int Factor> inline constexpr auto outside = ct::external(third_power, [](double x, double, double dy) { return Factor * x * x * dy; });
template <int Factor> inline constexpr auto not_linear = // the logarithm is 0, which forward mode cannot know
    ct::custom_vjp([](auto x) { return x * x; }, [](auto x, auto, auto dy) { return Factor * x * dy + ct::log(ct::exp(0.0 * x)); });
} // namespace

TEST_CASE("a function with reverse mode only is compared with differences") {
  CHECK(ct::check_gradient([](auto x) { return outside<3>(x) * ct::sin(x); }, 0.5));
  auto const c = ct::check_gradient([](auto x, auto y) { return x * outside<2>(y); }, 0.5, 2.);
  CHECK_FALSE(c);
  CHECK(c.argument == 1);
  CHECK(ct::check_gradient([](auto x) { return ct::sum(ct::extend::apply<reverse_square>({}, x)); }, ct::tensor<double, 2>{1, 3}));
  CHECK(ct::check_gradient([](auto x) { return not_linear<2>(x); }, 0.5));
  CHECK_FALSE(ct::check_gradient([](auto x) { return not_linear<3>(x); }, 0.5));
}

TEST_CASE("NaN fails") {
  CHECK(!ct::check_gradient([](auto x) { return ct::sum(ct::log(x)); }, ct::tensor<double, 2>{1, -1}));
}

TEST_CASE("steps and tolerances can be chosen") {
  auto const c = ct::check_gradient({.step = 1e-2, .tolerance = 1e-12}, smooth, ct::tensor<double, 1>{1},
                                    ct::tensor<double, 1>{2});
  CHECK(!c);
  CHECK(c.step == 1e-2);
}

TEST_CASE("Half precision has steps and tolerances of its own") {
  auto const cube = [](auto x) { return ct::sum(x * x * x); };
  CHECK(ct::check_gradient(cube, ct::tensor<ct::float16, 3>{1, 2, 3}));
  CHECK(ct::check_gradient(cube, ct::tensor<ct::bfloat16, 3>{1, 2, 3}));
  CHECK(ct::check_gradient({.step = 1e-6}, cube, ct::tensor<ct::float16, 3>{1, 2, 3})); // at least what changes an element
  auto const grows = [](auto x) { return ct::sum(ct::exp(x) * x); };
  CHECK(ct::check_gradient({.step = 0.25, .tolerance = 0.2}, grows, ct::tensor<ct::bfloat16, 2>{1, 1.5}));
}

namespace {
inline constexpr auto reversed_rows = ct::custom_vjp([](auto x) { return x + 0.; }, [](auto, auto, auto dy) { return ct::reverse<0>(dy); });
inline constexpr auto swapped = ct::custom_vjp([](auto x, auto y) { return std::tuple(x * x, y * y); }, [](auto x, auto y, auto, auto d) {
  auto [a, b] = d;
  return std::tuple(2 * x * b, 2 * y * a);
});
inline constexpr auto in_half = [](auto x) { return ct::convert<ct::float16>(x * x); };
} // namespace

TEST_CASE("a rule that exchanges cotangents of rows, of columns of one element or of results fails the check") {
  CHECK_FALSE(ct::check_gradient(reversed_rows, ct::tensor<double, 3, 2>{{1, 2}, {3, 4}, {5, 6}}));
  CHECK_FALSE(ct::check_gradient(reversed_rows, ct::tensor<double, 3, 1>{{1}, {3}, {5}}));
  CHECK_FALSE(ct::check_gradient(swapped, 1., 2.));
  CHECK(ct::check_gradient([](auto x, auto y) { return std::tuple(x * x, y * y, x * y); }, 1., 2.));
}

TEST_CASE("a function with a result in half precision can be checked") {
  CHECK(ct::check_gradient(in_half, ct::tensor<ct::float16, 3>{ct::float16(1.f), ct::float16(2.f), ct::float16(3.f)}));
}

TEST_CASE("a NaN stays the largest difference, whatever follows") {
  [[maybe_unused]] static constexpr auto bad = ct::custom_vjp([](auto x) { return x * x; }, [](auto x, auto, auto dy) { return dy * ct::select(x > 1.5, 3 * x, ct::sqrt(-x)); });
  auto const check = ct::check_gradient([](auto x) { return ct::sum(bad(x)); }, ct::tensor<double, 2>{1, 2});
  CHECK_FALSE(check);
  CHECK(check.element == 0);
}

namespace {
inline constexpr auto corner = [](auto a) { return ct::sum(a * a * a(0, 1)); };
template <template <class, ct::extent...> class Tensor> struct line {
  BOOST_HANA_DEFINE_STRUCT(line, (Tensor<double, "n">, w), (Tensor<double>, b));
};
} // namespace

TEST_CASE("check_gradient copies arguments with strides in row-major order") {
  double elements[]{1, 2, 3, 4, 5, 6};
  ct::strided_span<double const, 2, 3> const by_columns(elements, {2, 3}, {1, 2});
  CHECK(ct::check_gradient(corner, by_columns));
  CHECK(ct::check_gradient(corner, ct::strided_span<double, "n", "m">(elements + 5, {3, 2}, {-2, -1})));
  using column = ct::strided_span<double, "n">;
  CHECK(ct::check_gradient(smooth, column(elements, {3}, {2}), column(elements + 1, {3}, {2})));
  CHECK(elements[5] == 6);
  auto const c = ct::check_gradient(wrong, by_columns); // rows 1, 3, 5 and 2, 4, 6; the largest error is that of 6
  CHECK_FALSE(c);
  CHECK(c.element == 5);
  CHECK(ct::check_gradient(wrong, ct::strided_span<double, 2>(elements, {2}, {4})).gradient == 20);
}

TEST_CASE("check_gradient copies the leaves of trees, and takes C arrays of integers as they are") {
  auto const product = [](auto const& t) {
    auto const& [x, y] = t;
    return ct::sum(x * x) * ct::sum(y * y * y);
  };
  double elements[]{1, 2, 3, 4};
  CHECK(ct::check_gradient(product, std::tuple(std::vector<double>{1, 2}, std::vector<double>{3})));
  ct::view<double, "n"> const all(elements);
  CHECK(ct::check_gradient(product, std::tuple(ct::strided_span<double, 2>(elements, {2}, {2}), all)));
  auto const scaled = [](auto const& p) { return ct::sum(p.w * p.w * p.b); };
  CHECK(ct::check_gradient(scaled, line<ct::view>{all, ct::view<double>(elements[2])}));
  int const at[]{2, 0};
  CHECK(ct::check_gradient([](auto x, auto i) { return ct::sum(ct::square(ct::gather(x, i))); }, elements, at));
}

TEST_CASE("check_gradient of no elements passes") {
  CHECK(ct::check_gradient([](auto x) { return ct::sum(x * x); }, std::vector<double>()));
}

TEST_CASE("check_gradient of null memory reports an error") {
  ct::view<double, "n"> const nothing(static_cast<double*>(nullptr), std::int64_t{2});
  CHECK_THROWS_AS(ct::check_gradient([](auto x) { return ct::sum(x * x); }, nothing), ct::shape_error);
}
