// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: both operands must have one element type; convert one with ct::convert<T>\(x\)
// EXPECT: element_of_left<double>
// EXPECT: element_of_right<float>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto product = [](auto x, auto y) { return ct::sum(x * y); };

int main() {
  ct::tensor<double, 3> x;
#ifdef REFUSED
  ct::tensor<float, 3> y;
#else
  ct::tensor<double, 3> y;
#endif
  return ct::compiled(product)(x, y) == 0 ? 0 : 1;
}
