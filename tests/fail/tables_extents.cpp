// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: tables: the first axis of the values must have the extent that the positions or knots ask for
// EXPECT: extent_of_table<4>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/tables.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto xs, auto ys) { return ct::interp(x, xs, ys); };

int main() {
#ifdef REFUSED
  ct::tensor<float, 4> ys;
#else
  ct::tensor<float, 3> ys;
#endif
  auto y = ct::compiled(f)(1.0f, ct::tensor<float, 3>{1, 2, 3}, ys);
  return y > 9 ? 1 : 0;
}
