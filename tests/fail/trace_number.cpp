// SPDX-License-Identifier: BSL-1.0
// EXPECT: (cannot convert|no viable conversion from) .*expr<double>.{1,2} to .double.
// ERRORS: 3
// LINES: g++ 55, clang 45
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto scaled = [](auto x) {
#ifdef REFUSED
  double first = x(0);
#else
  auto first = x(0);
#endif
  return ct::sum(x * first);
};

int main() { return ct::grad(scaled)(ct::tensor<double, 3>{1, 2, 3})(0) == 7 ? 0 : 1; }
