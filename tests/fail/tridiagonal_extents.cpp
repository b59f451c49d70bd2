// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: tridiagonal_solve: the diagonals must have equal shapes
// EXPECT: extent_of_diagonal<2>
// EXPECT: extent_of_operand<3>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/tables.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto a, auto d, auto b) {
#ifdef REFUSED
  return ct::sum(ct::tridiagonal_solve(a(ct::range<0, 2>), d, a, b));
#else
  return ct::sum(ct::tridiagonal_solve(a, d, a, b));
#endif
};

int main() {
  ct::tensor<double, 3> a{0, 0, 0}, d{2, 2, 2}, b{2, 4, 6};
  return ct::compiled(f)(a, d, b) == 6 ? 0 : 1;
}
