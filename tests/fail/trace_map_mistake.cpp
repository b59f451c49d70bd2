// SPDX-License-Identifier: BSL-1.0
// EXPECT: sine
// ERRORS: 2
// LINES: g++ 20, clang 24
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return ct::sum(ct::map([](auto s) { return ct::sine(s); }, x)); // no such function
#else
  return ct::sum(ct::map([](auto s) { return ct::sin(s); }, x));
#endif
};

int main() { return ct::compiled(f)(ct::tensor<double, 2>{0, 0}) == 0 ? 0 : 1; }
