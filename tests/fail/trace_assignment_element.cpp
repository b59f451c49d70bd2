// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: both operands must have one element type; convert one with ct::convert<T>\(x\)
// EXPECT: element_of_left<double>
// EXPECT: element_of_right<float>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto swapped = [](auto x, auto y) {
  auto z = x;
#ifdef REFUSED
  z = y;
#else
  z = ct::convert<double>(y);
#endif
  return ct::sum(z);
};

int main() {
  ct::tensor<double, 3> x;
  ct::tensor<float, 3> y;
  return ct::compiled(swapped)(x, y) == 0 ? 0 : 1;
}
