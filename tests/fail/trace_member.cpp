// SPDX-License-Identifier: BSL-1.0
// EXPECT: no member named .sum. in|has no member named .sum.
// ERRORS: 2
// LINES: g++ 14, clang 45
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto total = [](auto x) {
#ifdef REFUSED
  return x.sum();
#else
  return ct::sum(x);
#endif
};

int main() { return ct::grad(total)(ct::tensor<double, 3>{0, 0, 0})(0) == 1 ? 0 : 1; }
