// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: an assignment such as x = y or x \+= y must keep the shape of x; give the result a new name
// EXPECT: shape_before<.*size<3>
// EXPECT: shape_after<.*size<2>.*size<3>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto y) {
#ifdef REFUSED
  x += y;
  return ct::sum(x);
#else
  y += x;
  return ct::sum(y);
#endif
};

int main() {
  ct::tensor<double, 3> x;
  ct::tensor<double, 2, 3> y;
  return ct::compiled(f)(x, y) == 0 ? 0 : 1;
}
