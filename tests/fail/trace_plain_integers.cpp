// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: this operation needs float or double; convert the operand with ct::convert<double>\(x\)
// EXPECT: element_of_operand<int>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

int main() {
#ifdef REFUSED
  auto const y = ct::logaddexp(1, 2);
#else
  auto const y = ct::logaddexp(1, 2.0);
#endif
  return y > 2 ? 0 : 1;
}
