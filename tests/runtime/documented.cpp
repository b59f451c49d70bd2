// SPDX-License-Identifier: BSL-1.0
// The code that the documentation quotes, and what it promises of it. tools/snippets.py holds both together.
#include "catch.hpp"

#include <cotangent/cotangent.hpp>
#include <cotangent/inspect.hpp>

#include <boost/hana/define_struct.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <source_location>
#include <string>
#include <tuple>
#include <vector>

namespace ct = cotangent;

namespace documented {

// [loss]
inline constexpr auto loss = [](auto slope, auto offset, auto x, auto y) {
  return ct::mean(ct::square(slope * x + offset - y));
};
// [/loss]

// [constant]
inline constexpr auto cube = [](auto x) { return x * x * x; };
static_assert(ct::grad(cube)(2.0) == 12.0);
static_assert(ct::grad(ct::grad(cube))(2.0) == 12.0);
// [/constant]

// [line]
template <template <class, ct::extent...> class Tensor>
struct line {
  BOOST_HANA_DEFINE_STRUCT(line, (Tensor<double>, slope), (Tensor<double>, offset));
};

inline constexpr auto loss_of_line = [](auto p, auto x, auto y) {
  return ct::mean(ct::square(p.slope * x + p.offset - y));
};
// [/line]

// [static]
inline constexpr auto norm = [](auto x) { return ct::sqrt(ct::sum(ct::square(x))); };

using P = ct::program<decltype(ct::value_and_grad(norm)), ct::tensor<float, 64>>;
static_assert(P::workspace_bytes <= 1024);
// [/static]

// [operation]
/// exp(-x x).
struct gaussian_operation : ct::extend::elementwise<1> {
  static constexpr char const* name = "gaussian";
  static constexpr float cost = 14;
  template <class V> static constexpr V apply(V const& x) { return ct::math::exp(static_cast<V>(-(x * x))); }
  static constexpr ct::term partial(ct::rule const& r, int) { return -2 * r.x() * r.y(); }
};
// [/operation]

// [function]
template <class X>
constexpr auto gaussian(X const& x, std::source_location where = std::source_location::current()) {
  return ct::extend::apply<gaussian_operation>(where, x);
}
// [/function]

// [composite]
struct squared_distance_fn {
  static constexpr char const* name = "squared_distance";
  constexpr ct::term operator()(ct::term a, ct::term b) const {
    ct::term const d = a - b;
    return ct::extend::sum(d * d, ct::extend::all_axes(d));
  }
};

template <class A, class B>
constexpr auto squared_distance(A const& a, B const& b,
                                std::source_location where = std::source_location::current()) {
  return ct::extend::lift(where, squared_distance_fn{}, a, b);
}
// [/composite]

} // namespace documented
using namespace documented;

TEST_CASE("documented: a program runs in memory of the caller's") {
  // [run]
  P::workspace memory;
  ct::tensor<float, 64> x, gradient;
  x.fill(1);
  float value = 0;
  ct::status const s = P::run(memory, std::tie(x), std::tie(value, gradient));
  // [/run]
  CHECK(s == ct::status::ok);
  CHECK(value == Approx(8));
  CHECK(gradient(63) == Approx(0.125f));
  // [describe]
  std::string const text = ct::describe<P>();
  // [/describe]
  CHECK(text.find("1 input, 2 outputs") != std::string::npos);
}

TEST_CASE("documented: tensors and views") {
  // [tensors]
  ct::tensor<double, 2, 3> a{{1, 2, 3}, {4, 5, 6}}; // braces are elements, nested as the extents are
  ct::tensor<float, 64, 32> w;                      // zeros
  ct::tensor<double, "n", 3> x(100);                // parentheses are sizes: one for each name
  ct::tensor<double> s = 1.5;                       // rank 0: converts from and to its element
  a(1, 2) = 7;
  double const last = a(1, 2);
  // [/tensors]
  CHECK(last == 7);
  CHECK(w(3, 4) == 0);
  CHECK(x.extent(0) == 100);
  CHECK(s == 1.5);

  // [views]
  std::vector<double> memory(12, 1.0);
  ct::view<double const, "n", 3> rows(memory);            // n is 4
  ct::view<double, "n", "m"> matrix(memory.data(), 2, 6); // one size for each name
  // [/views]
  // [strides]
  ct::strided_span<double const, "n", 2> columns(memory.data(), {6, 2}, {1, 6}); // 6 x 2, by columns
  ct::strided_span<double const, 12> backwards(memory.data() + 11, {12}, {-1});
  // [/strides]
  CHECK(columns(5, 1) + backwards(11) == 2);
  CHECK(rows.extent(0) == 4);
  CHECK(matrix.extent(1) == 6);
}

#if COTANGENT_EXCEPTIONS // else there is no checked call

TEST_CASE("documented: the value, the gradient, and both") {
  // [data]
  ct::tensor<double, 4> x{0, 1, 2, 3}, y{1, 3, 5, 7};
  // [/data]

  // [value]
  double value = ct::compiled(loss)(1.0, 0.0, x, y);
  // [/value]
  CHECK(value == 7.5);

  // [grad]
  double d_slope = ct::grad(loss)(1.0, 0.0, x, y);
  auto [slope_and_offset_0, slope_and_offset_1] = ct::grad<0, 1>(loss)(1.0, 0.0, x, y);
  // [/grad]
  CHECK(d_slope == -10);
  CHECK(slope_and_offset_0 == -10);
  CHECK(slope_and_offset_1 == -5);
}

TEST_CASE("documented: a line is fitted") {
  // [fit]
  ct::tensor<double, 4> x{0, 1, 2, 3}, y{1, 3, 5, 7};
  double slope = 0, offset = 0;
  for (int step = 0; step < 500; ++step) {
    auto [value, gradient] = ct::value_and_grad<0, 1>(loss)(slope, offset, x, y);
    auto [d_slope, d_offset] = gradient;
    slope -= 0.1 * d_slope;
    offset -= 0.1 * d_offset;
  }
  // [/fit]
  CHECK(slope == Approx(2));
  CHECK(offset == Approx(1));
}

TEST_CASE("documented: a size that is known at the call only") {
  // [named]
  ct::tensor<double, "n"> x(100), y(100);
  for (int i = 0; i < 100; ++i) {
    x(i) = 0.01 * i;
    y(i) = 3 * x(i) - 1;
  }
  double value = ct::compiled(loss)(3.0, -1.0, x, y);
  // [/named]
  CHECK(value == Approx(0).margin(1e-20));
}

TEST_CASE("documented: a gradient is checked") {
  ct::tensor<double, 4> x{0, 1, 2, 3}, y{1, 3, 5, 7};
  // [check]
  ct::gradient_check const check = ct::check_gradient(loss, 1.0, 0.0, x, y);
  // [/check]
  INFO(check.words().text());
  CHECK(check);
}

TEST_CASE("documented: parameters and their gradient are a struct") {
  ct::tensor<double, 4> x{0, 1, 2, 3}, y{1, 3, 5, 7};
  // [struct]
  line<ct::tensor> p{1.0, 0.0};
  line<ct::tensor> gradient = ct::grad(loss_of_line)(p, x, y);
  p.slope = p.slope - 0.1 * gradient.slope;
  p.offset = p.offset - 0.1 * gradient.offset;
  // [/struct]
  CHECK(p.slope == Approx(2));
  CHECK(p.offset == Approx(0.5));
}

TEST_CASE("documented: elements, rows and windows of an expression") {
  // [indexing]
  auto const f = [](auto x) {
    auto row = x(0);                   // the first row
    auto column = x(ct::all, -1);      // the last column
    auto part = x(1, ct::range<0, 2>); // of row 1 the positions 0 and 1
    return ct::sum(row) + ct::sum(column) + ct::sum(part);
  };
  // [/indexing]
  ct::tensor<double, 2, 3> x{{1, 2, 3}, {4, 5, 6}};
  CHECK(ct::compiled(f)(x) == 6 + 9 + 9);
}

TEST_CASE("documented: assignments to parts of an expression") {
  // [assignment]
  auto const running_sum = [](auto x) {
    for (int i = 1; i < 4; ++i) x(i) += x(i - 1);
    return x;
  };
  auto const rotated = [](auto angle, auto point) {
    auto r = ct::zeros<3, 3>();
    r(0, 0) = r(1, 1) = ct::cos(angle);
    r(1, 0) = ct::sin(angle);
    r(0, 1) = -r(1, 0);
    r(2, 2) = 1;
    r(ct::range<0, 2>, ct::range<0, 2>) *= 2;
    return ct::matmul(r, point);
  };
  // [/assignment]
  CHECK(ct::compiled(running_sum)(ct::tensor<double, 4>{1, 2, 3, 4}) == ct::tensor<double, 4>{1, 3, 6, 10});
  CHECK(ct::compiled(rotated)(0.0, ct::tensor<double, 3, 1>{{1}, {2}, {3}}) ==
        ct::tensor<double, 3, 1>{{2}, {4}, {3}});
}

TEST_CASE("documented: directional derivatives and products with the Jacobian") {
  // [products]
  auto const f = [](auto x) { return x * x; };
  ct::tensor<double, 3> x{1, 2, 3}, dx{1, 0, 1}, dy{1, 1, 2};
  auto [y, pushed] = ct::jvp(f)(x, dx); // pushed = J dx
  auto [z, pulled] = ct::vjp(f)(x, dy); // pulled = J' dy
  // [/products]
  CHECK(y == z);
  CHECK(pushed == ct::tensor<double, 3>{2, 0, 6});
  CHECK(pulled == ct::tensor<double, 3>{2, 4, 12});
}

TEST_CASE("documented: a user-defined operation") {
  auto const f = [](auto x) { return ct::sum(gaussian(x)); };
  ct::tensor<double, 3> x{-1, 0.5, 2};
  // [checked]
  ct::gradient_check const check = ct::check_gradient(f, x);
  // [/checked]
  INFO(check.words().text());
  CHECK(check);
  auto const slope = ct::grad([](auto z) { return gaussian(z); })(0.5);
  CHECK(slope == Approx(-std::exp(-0.25)));
  CHECK(ct::grad([](auto a, auto b) { return squared_distance(a, b); })(x, ct::tensor<double, 3>{0, 0, 0})(
            2) == 4);
}

#endif
