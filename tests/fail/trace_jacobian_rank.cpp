// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: jacobian: the axes of an output and of an argument must be at most 8 together
// EXPECT: at_most<.*axes_of_jacobian<9>, .*axes_of_result<8>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) { return ct::sum(x, ct::axes<0>); };

int main() {
#ifdef REFUSED
  ct::tensor<double, 1, 1, 1, 1, 2> x;
#else
  ct::tensor<double, 1, 1, 1, 2> x;
#endif
  x.fill(1);
  auto const j = ct::jacobian(f)(x);
  return j.size() == 4 ? 0 : 1;
}
