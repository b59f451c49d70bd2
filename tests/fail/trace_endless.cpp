// SPDX-License-Identifier: BSL-1.0
// EXPECT: constant expression|constexpr
// EXPECT: cotangent: compiled: the compiler must be able to evaluate the function
// EXPECT: limit
// ERRORS: 2
// LINES: g++ 42, clang 90
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto recurrence = [](auto x) {
#ifdef REFUSED
  constexpr int count = 100'000;
#else
  constexpr int count = 30;
#endif
  auto y = x;
  for (int k = 0; k < count; ++k) y = ct::sin(y) * x + y;
  return y;
};

int main() { return ct::compiled(recurrence)(0.0) == 0 ? 0 : 1; }
