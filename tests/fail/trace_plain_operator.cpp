// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: operations build graphs and do not run on tensors; write them in a function and call ct::compiled\(function\)\(tensors...\)
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

int main() {
  ct::tensor<double, 3> a{1, 2, 3}, b{4, 5, 6};
#ifdef REFUSED
  auto c = a + b;
#else
  auto c = ct::compiled([](auto x, auto y) { return x + y; })(a, b);
#endif
  return c(0) == 5 ? 0 : 1;
}
