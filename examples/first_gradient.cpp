// SPDX-License-Identifier: BSL-1.0
// A function, its value and its gradient.
// [program]
#include <cotangent/cotangent.hpp>

#include <cmath>
#include <iostream>

namespace ct = cotangent;

inline constexpr auto distance = [](auto x, auto y) { return ct::sqrt(ct::sum(ct::square(x - y))); };

int main() {
  ct::tensor<double, 3> x{1, 2, 3}, y{1, 5, 7};
  auto [value, gradient] = ct::value_and_grad(distance)(x, y);
  std::cout << value << ' ' << gradient << '\n'; // 5 [0, -0.6, -0.8]
  return std::fabs(value - 5) < 1e-12 && std::fabs(gradient(1) + 0.6) < 1e-12 ? 0 : 1;
}
// [/program]
