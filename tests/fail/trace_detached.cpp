// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: an expression without operands must be combined with an argument of the function before this operation
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto wave = [](auto x) {
#ifdef REFUSED
  return ct::sum(x * ct::sin(ct::iota<double, 3>()));
#else
  return ct::sum(x * ct::sin(0 * x + ct::iota<double, 3>()));
#endif
};

int main() {
  ct::tensor<double, 3> x;
  return ct::compiled(wave)(x) == 0 ? 0 : 1;
}
