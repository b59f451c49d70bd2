// SPDX-License-Identifier: BSL-1.0
// Gradients computed by the compiler: the same functions, in constant evaluations.
#include <cotangent/cotangent.hpp>

#include <cstdio>

namespace ct = cotangent;

// [cube]
inline constexpr auto cube = [](auto x) { return x * x * x; };
static_assert(ct::grad(cube)(2.0) == 12.0);
static_assert(ct::grad(ct::grad(cube))(2.0) == 12.0);
// [/cube]

// Newton's method for the minimum of x^2 - log(x), which is at sqrt(1/2).
// [newton]
inline constexpr auto bowl = [](auto x) { return x * x - ct::log(x); };

constexpr double minimum_of_bowl() {
  double x = 1;
  for (int i = 0; i < 6; ++i) x -= ct::grad(bowl)(x) / ct::grad(ct::grad(bowl))(x);
  return x;
}
static_assert(minimum_of_bowl() > 0.70710678118 && minimum_of_bowl() < 0.70710678119);
// [/newton]

// A network with one hidden layer, and its gradient with respect to all weights.
inline constexpr auto network = [](auto w, auto v, auto x) {
  return ct::dot(v, ct::tanh(ct::flatten(ct::matmul(w, ct::reshape<2, 1>(x)))));
};
inline constexpr ct::tensor<double, 3, 2> hidden{{1, 2}, {0, 0}, {-1, -2}};
inline constexpr ct::tensor<double, 3> outer{1, 5, 1};
inline constexpr auto gradient = ct::grad<0, 1>(network)(hidden, outer, ct::tensor<double, 2>{0.5, 0.25});
static_assert(std::get<0>(gradient)(1, 0) == 5 * 0.5, "tanh has slope 1 at 0");
static_assert(std::get<0>(gradient)(0, 1) == std::get<0>(gradient)(2, 1), "it is even");

int main() {
  // The same code at run time.
  double volatile two = 2;
  double const x = two;
  double const slope = ct::grad(cube)(x);
  std::printf("the slope of the cube at 2 is %g\n", slope);
  return slope == 12 ? 0 : 1;
}
