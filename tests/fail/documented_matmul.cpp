// SPDX-License-Identifier: BSL-1.0
// The refusal that README.md shows.
// EXPECT: cotangent: matmul: the columns of the left operand must equal the rows of the right
// EXPECT: equal<cotangent::refusals::columns_of_left<32>, cotangent::refusals::rows_of_right<31> ?>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

// [layer]
inline constexpr auto layer = [](auto x, auto w, auto b) { return ct::tanh(ct::matmul(x, w) + b); };
// [/layer]

int main() {
#ifdef REFUSED
  // [refused]
  ct::tensor<float, 8, 32> x;
  ct::tensor<float, 31, 4> w;
  ct::tensor<float, 4> b;
  auto y = ct::compiled(layer)(x, w, b);
  // [/refused]
#else
  ct::tensor<float, 8, 32> x;
  ct::tensor<float, 32, 4> w;
  ct::tensor<float, 4> b;
  auto y = ct::compiled(layer)(x, w, b);
#endif
  return y(0, 0) == 0 ? 0 : 1;
}
