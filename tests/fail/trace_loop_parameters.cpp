// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: the function must be called with as many arguments as it has parameters
// EXPECT: arguments_given<2>
// EXPECT: parameters_of_function<1>
// ERRORS: 1
// LINES: clang 28
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return ct::for_loop(3, [](auto s) { return s * s; }, x);
#else
  return ct::for_loop(3, [](auto, auto s) { return s * s; }, x);
#endif
};

int main() { return ct::compiled(f)(0.0) == 0 ? 0 : 1; }
