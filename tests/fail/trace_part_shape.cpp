// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: x\(i, j, ...\) = y: the shape of y must broadcast to that of the part
// EXPECT: shape_of_part<.*size<3>
// EXPECT: shape_of_value<.*size<2>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto replaced = [](auto x, auto row) {
#ifdef REFUSED
  x(0) = row(ct::range<0, 2>);
#else
  x(0) = row(ct::range<0, 1>);
#endif
  return ct::sum(x);
};

int main() {
  ct::tensor<double, 2, 3> const x{{1, 2, 3}, {4, 5, 6}};
  return ct::compiled(replaced)(x, ct::tensor<double, 3>{7, 8, 9}) == 36 ? 0 : 1;
}
