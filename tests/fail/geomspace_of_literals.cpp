// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: an expression without operands must be combined with an argument of the function before this operation
// ERRORS: 1
#include <cotangent/cotangent.hpp>

#include <cotangent/numeric.hpp>

namespace ct = cotangent;

inline constexpr auto weighted = [](auto x, auto s) {
#ifdef REFUSED
  return ct::sum(x * ct::geomspace<3>(1.0, 0.01)) + s;
#else
  return ct::sum(x * ct::geomspace<3>(0 * s + 1.0, 0.01)) + s;
#endif
};

int main() {
  ct::tensor<double, 3> x;
  return ct::compiled(weighted)(x, 0.) == 0 ? 0 : 1;
}
