// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: matmul: the columns of the left operand must equal the rows of the right
// EXPECT: columns_of_left<'n'>
// EXPECT: rows_of_right<'m'>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto product = [](auto x, auto w) { return ct::sum(ct::matmul(x, w)); };

int main() {
  ct::tensor<float, 8, "n"> x(3);
#ifdef REFUSED
  ct::tensor<float, "m", 4> w(3);
#else
  ct::tensor<float, "n", 4> w(3);
#endif
  auto [value, gradient] = ct::value_and_grad(product)(x, w);
  return value == 0 && gradient.size() == 24 ? 0 : 1;
}
