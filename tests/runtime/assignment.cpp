// SPDX-License-Identifier: BSL-1.0
// x(i) = v: values and gradients in compiled programs. What can be said in constant evaluations is in tests/static.
#include <cotangent/cotangent.hpp>

#include "catch.hpp"

#include <cmath>

namespace ct = cotangent;

// y(i) = x(i) + a y(i - 1)
inline constexpr auto recurrence = [](auto x, auto a) {
  auto y = x;
  for (int i = 1; i < 16; ++i) y(i) += a * y(i - 1);
  return ct::sum(y * y);
};

TEST_CASE("a recurrence over elements has the value and the gradient of a plain loop") {
  ct::tensor<double, 16> x;
  for (int i = 0; i < 16; ++i) x(i) = std::sin(i);
  double const a = 0.5;
  double y[16], value = 0;
  for (int i = 0; i < 16; ++i) {
    y[i] = x(i) + (i > 0 ? a * y[i - 1] : 0);
    value += y[i] * y[i];
  }
  auto const [found, gradients] = ct::value_and_grad<0, 1>(recurrence)(x, a);
  auto const& [dx, da] = gradients;
  CHECK(found == Approx(value));
  double dy[17]{}, expected_da = 0;
  for (int i = 15; i >= 0; --i) {
    dy[i] = 2 * y[i] + a * dy[i + 1];
    CHECK(dx(i) == Approx(dy[i]));
    if (i > 0) expected_da += dy[i] * y[i - 1];
  }
  CHECK(da == Approx(expected_da));
  ct::gradient_check const check = ct::check_gradient(recurrence, x, a);
  INFO(check.words().text());
  CHECK(check);
}

// A read of an element that was written is the value that was written: the tensors between are eliminated.
using recurrence_program = ct::program<decltype(recurrence), ct::tensor<double, 16>, double>;
static_assert(recurrence_program::graph.node_count < 16 * 5 + 10);

inline constexpr auto blocks = [](auto x, auto v) {
  x(1) = v(ct::range<0, 3>);
  x(ct::all, 0) *= 2;
  x(ct::range<0, 3, 2>, ct::range<1>) += ct::tanh(x(1, 1));
  x(2)(0) = x(0, 2) * v(3);
  return ct::sum(ct::exp(0.1 * x));
};

TEST_CASE("elements, rows, columns and strided windows are assigned to, with gradients") {
  ct::tensor<double, 3, 3> const x{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  ct::tensor<double, 4> const v{0.5, -1, 2, 3};
  double const e = 3 + std::tanh(-1.0);
  double const after[]{2, 2 + std::tanh(-1.0), e, 1, -1, 2, e * 3, 8 + std::tanh(-1.0), 9 + std::tanh(-1.0)};
  double expected = 0;
  for (double const t : after) expected += std::exp(0.1 * t);
  CHECK(ct::compiled(blocks)(x, v) == Approx(expected));
  ct::gradient_check const check = ct::check_gradient(blocks, x, v);
  INFO(check.words().text());
  CHECK(check);
}

inline constexpr auto named = [](auto x) {
  auto y = x;
  y(1) = 2 * x(0);
  y(-1) = 7 * x(1);
  y(ct::range<2, 3>) *= x(0);
  y(ct::range<1, -1>) += 1;
  return ct::sum(y * y) + x(1) * y(2);
};

TEST_CASE("positions along a named extent count from both ends") {
  ct::tensor<double, "n"> x(5);
  double y[5];
  for (int i = 0; i < 5; ++i) y[i] = x(i) = 1 + 0.1 * i;
  y[1] = 2 * x(0);
  y[4] = 7 * x(1);
  y[2] *= x(0);
  for (int i = 1; i < 4; ++i) y[i] += 1;
  double expected = x(1) * y[2];
  for (double const t : y) expected += t * t;
  CHECK(ct::compiled(named)(x) == Approx(expected));
  ct::gradient_check const check = ct::check_gradient(named, x);
  INFO(check.words().text());
  CHECK(check);
  ct::tensor<double, "n"> shorter(2);
  CHECK_THROWS_AS(ct::compiled(named)(shorter), ct::shape_error);
}
