// SPDX-License-Identifier: BSL-1.0
// EXPECT: constant expression|constexpr
// EXPECT: cotangent: compiled: the compiler must be able to evaluate the function
// EXPECT: atof
// ERRORS: 2
// LINES: g++ 42, clang 70
#include <cotangent/cotangent.hpp>

#include <cstdlib>

namespace ct = cotangent;

inline constexpr auto scaled = [](auto x) {
#ifdef REFUSED
  double const factor = std::atof("3");
#else
  double const factor = 3;
#endif
  return ct::sin(x) * factor;
};

int main() { return ct::compiled(scaled)(0.0) == 0 ? 0 : 1; }
