// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: distort: the last axis must have 2, 4 or 5 coefficients: k1 k2, p1 p2, k3
// EXPECT: coefficients_given<3>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/geometry.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto d) { return ct::distort(x, d); };

int main() {
#ifdef REFUSED
  ct::tensor<float, 3> d;
#else
  ct::tensor<float, 4> d;
#endif
  auto y = ct::compiled(f)(ct::tensor<float, 2>{1, 2}, d);
  return y(0) == 2 ? 1 : 0;
}
