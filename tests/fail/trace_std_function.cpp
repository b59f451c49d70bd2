// SPDX-License-Identifier: BSL-1.0
// EXPECT: no matching function for call to .exp
// ERRORS: 2
// LINES: g++ 55, clang 80
#include <cotangent/cotangent.hpp>

#include <cmath>

namespace ct = cotangent;

inline constexpr auto total = [](auto x) {
#ifdef REFUSED
  return ct::sum(std::exp(x));
#else
  return ct::sum(ct::exp(x));
#endif
};

int main() { return ct::grad(total)(ct::tensor<double, 3>{0, 0, 0})(0) == 1 ? 0 : 1; }
