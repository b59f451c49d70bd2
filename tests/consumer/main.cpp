// SPDX-License-Identifier: BSL-1.0
// What a user's first program looks like, built in each of the ways in which the library can be had.
// [program]
#include <cotangent/cotangent.hpp>

#include <cstdio>

namespace ct = cotangent;

inline constexpr auto loss = [](auto slope, auto offset, auto x, auto y) {
  return ct::mean(ct::square(slope * x + offset - y));
};

int main() {
  ct::tensor<double, 4> x{0, 1, 2, 3}, y{1, 3, 5, 7};

  auto [value, gradient] = ct::value_and_grad<0, 1>(loss)(1.0, 0.0, x, y);
  auto [d_slope, d_offset] = gradient;

  std::printf("loss %g, slope %g, offset %g\n", value, d_slope, d_offset);
  return value == 7.5 && d_slope == -10 && d_offset == -5 ? 0 : 1;
}
// [/program]
