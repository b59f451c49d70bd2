// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: tables: a table must have an axis for each coordinate
// EXPECT: axes_of_table<1>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/tables.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto t, auto x) { return ct::map_coordinates(t, x, x); };

int main() {
#ifdef REFUSED
  ct::tensor<float, 4> t;
#else
  ct::tensor<float, 4, 4> t;
#endif
  auto y = ct::compiled(f)(t, 1.0f);
  return y > 9 ? 1 : 0;
}
