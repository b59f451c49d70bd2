// SPDX-License-Identifier: BSL-1.0
// Fits a straight line to noisy points by gradient descent. Read this example first.
#include <cotangent/cotangent.hpp>

#include <cmath>
#include <cstdio>

namespace ct = cotangent;

// [loss]
inline constexpr auto loss = [](auto slope, auto offset, auto x, auto y) {
  return ct::mean(ct::square(slope * x + offset - y));
};
// [/loss]

int main() {
  ct::tensor<double, "n"> x(100), y(100);
  for (int i = 0; i < 100; ++i) {
    x(i) = 0.01 * i;
    y(i) = 3 * x(i) - 1 + 0.05 * std::sin(40.0 * i);
  }

  // [fit]
  double slope = 0, offset = 0, error = 0;
  for (int step = 0; step < 2000; ++step) {
    auto [value, gradient] = ct::value_and_grad<0, 1>(loss)(slope, offset, x, y);
    auto [d_slope, d_offset] = gradient;
    slope -= 0.5 * d_slope;
    offset -= 0.5 * d_offset;
    error = value;
  }
  // [/fit]

  std::printf("y = %.3f x %+.3f, mean squared error %.5f\n", slope, offset, error);
  return std::abs(slope - 3) < 0.05 && std::abs(offset + 1) < 0.05 ? 0 : 1;
}
