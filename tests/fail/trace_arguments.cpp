// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: the function must be called with as many arguments as it has parameters
// EXPECT: arguments_given<3>
// EXPECT: parameters_of_function<2>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto product = [](auto x, auto y) { return x * y; };

int main() {
#ifdef REFUSED
  auto [value, gradient] = ct::value_and_grad<0, 1>(product)(2.0, 3.0, 4.0);
#else
  auto [value, gradient] = ct::value_and_grad<0, 1>(product)(2.0, 3.0);
#endif
  auto [dx, dy] = gradient;
  return value == 6 && dx == 3 && dy == 2 ? 0 : 1;
}
