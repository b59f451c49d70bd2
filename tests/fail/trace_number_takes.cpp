// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: a number must not take the value of an expression, which has none while its graph is built
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto total = [](auto x) {
#ifdef REFUSED
  double s = 0;
#else
  ct::expr<double> s = 0;
#endif
  for (int i = 0; i < 3; ++i) s += x(i);
  return x(0) * s;
};

int main() {
  ct::tensor<double, 3> x{1, 2, 3};
  return ct::compiled(total)(x) == 6 ? 0 : 1;
}
