// SPDX-License-Identifier: BSL-1.0
// What a refused expression is assigned to is not refused again.
// EXPECT: cotangent: matmul: the columns of the left operand must equal the rows of the right
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto loss = [](auto x, auto w) {
  auto h = x;
  for (int i = 0; i < 3; ++i) h = ct::tanh(ct::matmul(h, w));
  auto slope = ct::grad([](auto z) { return ct::sum(ct::square(z)); })(h);
  return ct::sum(h) + ct::max(slope);
};

int main() {
  ct::tensor<double, 2, 3> x;
#ifdef REFUSED
  ct::tensor<double, 2, 3> w;
#else
  ct::tensor<double, 3, 3> w;
#endif
  return ct::grad(loss)(x, w)(0, 0) == 0 ? 0 : 1;
}
