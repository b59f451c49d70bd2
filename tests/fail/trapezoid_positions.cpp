// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: trapezoid: there must be a position for each sample along the last axis
// EXPECT: samples<3>
// EXPECT: positions<2>
// ERRORS: 1
#include <cotangent/cotangent.hpp>
#include <cotangent/numeric.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto y) {
#ifdef REFUSED
  return ct::trapezoid(x, y);
#else
  return ct::trapezoid(x(ct::range<0, 2>), y);
#endif
};

int main() {
  ct::tensor<double, 3> x{1, 2, 6};
  ct::tensor<double, 2> y{1, 3};
  return ct::compiled(f)(x, y) == 3 ? 0 : 1;
}
