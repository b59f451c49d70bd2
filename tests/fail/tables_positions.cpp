// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: tables: sorted positions, knots and coefficients of polynomials must be vectors
// EXPECT: rank_of_operand<2>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/tables.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto xs, auto ys) { return ct::interp(x, xs, ys); };

int main() {
#ifdef REFUSED
  ct::tensor<float, 3, 1> xs;
#else
  ct::tensor<float, 3> xs;
#endif
  auto y = ct::compiled(f)(1.0f, xs, ct::tensor<float, 3>{1, 2, 3});
  return y > 9 ? 1 : 0;
}
