// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: matmul: the columns of the left operand must equal the rows of the right
// EXPECT: columns_of_left<32>
// EXPECT: rows_of_right<31>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto layer = [](auto x, auto w) { return ct::tanh(ct::matmul(x, w)); };

int main() {
  ct::tensor<float, 8, 32> x;
#ifdef REFUSED
  ct::tensor<float, 31, 4> w;
#else
  ct::tensor<float, 32, 4> w;
#endif
  auto y = ct::compiled(layer)(x, w);
  return y(0, 0) == 0 ? 0 : 1;
}
