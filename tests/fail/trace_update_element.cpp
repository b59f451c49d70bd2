// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: both operands must have one element type; convert one with ct::convert<T>\(x\)
// EXPECT: element_of_left<double>
// EXPECT: element_of_right<float>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto replaced = [](auto x, auto i, auto v) { return ct::sum(ct::at(x, i).set(v)); };

int main() {
  ct::tensor<double, 3> const x;
#ifdef REFUSED
  return ct::compiled(replaced)(x, 1, 2.f) == 2 ? 0 : 1;
#else
  return ct::compiled(replaced)(x, 1, 2.0) == 2 ? 0 : 1;
#endif
}
