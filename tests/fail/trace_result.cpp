// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: the function must return an expression, or a tuple, array or Boost.Hana struct of expressions
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
  auto y = x * x;
#ifdef REFUSED
  (void)y;
#else
  return y;
#endif
};

int main() {
  auto y = ct::compiled(f)(3.0);
  return y == 9 ? 0 : 1;
}
