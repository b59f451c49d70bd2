// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: a linear system needs as many rows on the right as the matrix has
// EXPECT: rows_of_right_side<2>
// ERRORS: 1
// LINES: clang 27
#include <cotangent/cotangent.hpp>
#include <cotangent/linalg.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto a, auto b) { return ct::solve(a, b); };

int main() {
  ct::tensor<float, 3, 3> a;
#ifdef REFUSED
  ct::tensor<float, 2> b;
#else
  ct::tensor<float, 3> b;
#endif
  auto y = ct::compiled(f)(a, b);
  return y(0) == 0 ? 0 : 1;
}
