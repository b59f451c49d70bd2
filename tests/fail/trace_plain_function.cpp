// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: operations build graphs and do not run on tensors
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

int main() {
  ct::tensor<double, 3> a{1, 2, 3};
#ifdef REFUSED
  double c = ct::sum(a);
#else
  double c = ct::compiled([](auto x) { return ct::sum(x); })(a);
#endif
  return c == 6 ? 0 : 1;
}
