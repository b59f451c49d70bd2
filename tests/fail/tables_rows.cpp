// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: tables: a table must have a row, and a spline more rows than its degree
// EXPECT: rows_given<3>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/tables.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto c) { return ct::bspline<3>(x, c); };

int main() {
#ifdef REFUSED
  ct::tensor<float, 3> c;
#else
  ct::tensor<float, 4> c;
#endif
  auto y = ct::compiled(f)(1.0f, c);
  return y > 9 ? 1 : 0;
}
