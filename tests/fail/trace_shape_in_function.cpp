// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: the shapes of both operands must be equal axis by axis from the last, or 1
// EXPECT: extent_of_left<3>
// EXPECT: extent_of_right<4>
// ERRORS: 1
// LINES: g++ 17, clang 27
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto inner = [](auto x, auto y) { return x * y; };
inline constexpr auto outer = [](auto x, auto y) { return ct::sum(inner(x, y)); };

int main() {
  ct::tensor<double, 3> x;
#ifdef REFUSED
  ct::tensor<double, 4> y;
#else
  ct::tensor<double, 3> y;
#endif
  return ct::grad(outer)(x, y)(0) == 0 ? 0 : 1;
}
