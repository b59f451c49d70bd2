// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: an expression without operands must be combined with an argument of the function before this operation
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return x + ct::for_loop(3, [](auto, auto s) { return s * 2.0; }, 1.0);
#else
  return x + ct::for_loop(3, [](auto, auto s) { return s * 2.0; }, 0 * x + 1.0);
#endif
};

int main() { return ct::compiled(f)(1.5) == 9.5 ? 0 : 1; }
