// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: an index must be less than the extent of its axis
// EXPECT: index<4>
// EXPECT: extent_of_the_axis<4>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto path = [](auto x) {
  auto sum = x(0) * x(0);
#ifdef REFUSED
  for (int i = 1; i <= 4; ++i) sum = sum + x(i) * x(i - 1);
#else
  for (int i = 1; i < 4; ++i) sum = sum + x(i) * x(i - 1);
#endif
  return sum;
};

int main() {
  ct::tensor<double, 4> x{1, 2, 3, 4};
  auto [value, gradient] = ct::value_and_grad(path)(x);
  return value == 21 && gradient(3) == 3 ? 0 : 1;
}
