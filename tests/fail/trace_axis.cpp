// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: an axis must be less than the rank of the operand
// EXPECT: axis<2>
// EXPECT: rank_of_operand<2>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto rows = [](auto x) {
#ifdef REFUSED
  return ct::sum(x, ct::axes<2>);
#else
  return ct::sum(x, ct::axes<1>);
#endif
};

int main() {
  ct::tensor<double, 2, 2> x{{1, 2}, {3, 4}};
  auto y = ct::compiled(rows)(x);
  return y(0) == 3 ? 0 : 1;
}
