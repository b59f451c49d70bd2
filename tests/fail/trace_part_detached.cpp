// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: an expression without operands must be combined with an argument of the function before this operation
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto unit = [](auto x) {
  auto e = ct::zeros<3>();
#ifdef REFUSED
  e(1) = 1;
#else
  e(1) = x(1);
#endif
  return ct::sum(e * x);
};

int main() { return ct::compiled(unit)(ct::tensor<double, 3>{1, 2, 3}) == 4 ? 0 : 1; }
