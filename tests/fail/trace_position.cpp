// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: grad: a position must be less than the number of arguments
// EXPECT: position_of_argument<2>
// EXPECT: arguments_given<2>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto product = [](auto x, auto y) { return x * y; };

int main() {
#ifdef REFUSED
  auto g = ct::grad<2>(product)(2.0, 3.0);
#else
  auto g = ct::grad<1>(product)(2.0, 3.0);
#endif
  return g == 2 ? 0 : 1;
}
