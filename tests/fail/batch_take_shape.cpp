// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: batch_take: the indices must have the shape of the operand without its last axis
// EXPECT: extent_of_operand<2>
// EXPECT: extent_of_indices<3>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/nn.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto i) { return ct::batch_take(x, i); };

int main() {
  ct::tensor<double, 2, 3> x{{1, 2, 3}, {4, 5, 6}};
#ifdef REFUSED
  ct::tensor<int, 3> i{0, 1, 2};
#else
  ct::tensor<int, 2> i{0, 1};
#endif
  return ct::compiled(f)(x, i)(1) == 5 ? 0 : 1;
}
