// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: this operation needs float or double; convert the operand with ct::convert<double>\(x\)
// EXPECT: element_of_operand<int>
// EXPECT: floating<.*wanted>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto total = [](auto x) { return ct::sum(ct::exp(x)); };

int main() {
#ifdef REFUSED
  ct::tensor<int, 3> x;
#else
  ct::tensor<double, 3> x;
#endif
  return ct::compiled(total)(x) == 3 ? 0 : 1;
}
