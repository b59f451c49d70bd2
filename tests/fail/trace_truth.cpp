// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: an expression has no value while its graph is built, so `if`, `for`, `while` and `\?:` must not ask it; choose with ct::select\(condition, a, b\), repeat with ct::for_loop or ct::while_loop
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto positive_part = [](auto x) {
#ifdef REFUSED
  if (x > 0) return x;
  return 0 * x;
#else
  return ct::select(x > 0, x, 0);
#endif
};

int main() { return ct::grad(positive_part)(2.0) == 1 ? 0 : 1; }
