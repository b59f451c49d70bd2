// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: average: the weights must broadcast to the shape of the operand, or be a vector along its axis
// EXPECT: axes_of_weights<2>
// EXPECT: axes_of_operand<1>
// ERRORS: 1
#include <cotangent/cotangent.hpp>
#include <cotangent/numeric.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto y) {
#ifdef REFUSED
  return ct::average(y, x);
#else
  return ct::average(x, y);
#endif
};

int main() {
  ct::tensor<double, 2, 3> x{{1, 2, 3}, {3, 4, 5}};
  ct::tensor<double, 3> y{1, 1, 1};
  return ct::compiled(f)(x, y) == 3 ? 0 : 1;
}
