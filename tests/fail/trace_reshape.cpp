// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: reshape: the result must have as many elements as the operand
// EXPECT: elements_of_operand<12>
// EXPECT: elements_of_result<10>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return ct::reshape<2, 5>(x);
#else
  return ct::reshape<2, 6>(x);
#endif
};

int main() {
  ct::tensor<double, 3, 4> x;
  auto y = ct::compiled(f)(x);
  return y(0, 0) == 0 ? 0 : 1;
}
