// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: tensor: the values must be as many as the extent of their axis; an extent that is a number has no size to pass
// EXPECT: values_given<1>
// EXPECT: extent_of_axis<2>
// ERRORS: 1
// LINES: g++ 22, clang 24
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto rotated = [](auto a, auto b) {
#ifdef REFUSED
  ct::expr<double, 2, 2> const r{{a, b}, {a}};
#else
  ct::expr<double, 2, 2> const r{{a, b}, {a, 1}};
#endif
  return ct::sum(r);
};

int main() { return ct::compiled(rotated)(1.0, 2.0) == 5 ? 0 : 1; }
