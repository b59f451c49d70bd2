// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: cov, corrcoef: the operand must be a matrix whose rows are variables; cov also takes a vector
// EXPECT: axes_needed<2>
// EXPECT: axes_of_operand<1>
// ERRORS: 1
#include <cotangent/cotangent.hpp>
#include <cotangent/numeric.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return ct::sum(ct::corrcoef(x(0)));
#else
  return ct::sum(ct::corrcoef(x));
#endif
};

int main() {
  ct::tensor<double, 2, 3> x{{1, 2, 3}, {3, 1, 2}};
  return ct::compiled(f)(x) < 4 ? 0 : 1;
}
