// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: operations build graphs and do not run on tensors; write them in a function
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

int main() {
  ct::tensor<double, 3> w{1, 2, 3}, dw{4, 5, 6};
#ifdef REFUSED
  w -= dw;
#else
  w = ct::compiled([](auto x, auto dx) { return x - dx; })(w, dw);
#endif
  return w(0) == -3 ? 0 : 1;
}
