// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: concatenate, stack: the operands must be arguments of their own, and the axis a template argument; write ct::concatenate<0>\(x, y\)
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto twice = [](auto x) {
#ifdef REFUSED
  return ct::concatenate({x, x}, 0);
#else
  return ct::concatenate<0>(x, x);
#endif
};

int main() { return ct::compiled(twice)(ct::tensor<double, 2>{1, 2})(3) == 2 ? 0 : 1; }
