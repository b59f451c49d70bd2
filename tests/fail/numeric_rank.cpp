// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: diff, trapezoid, kron: the operands must have an axis, and equal numbers of axes
// EXPECT: axes_needed<1>
// EXPECT: axes_of_operand<0>
// ERRORS: 1
#include <cotangent/cotangent.hpp>
#include <cotangent/numeric.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return ct::trapezoid(ct::sum(x));
#else
  return ct::trapezoid(x);
#endif
};

int main() {
  ct::tensor<double, 3> x{1, 2, 3};
  return ct::compiled(f)(x) == 4 ? 0 : 1;
}
