// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: an expression has no value while its graph is built, so it must not be printed; return it
// ERRORS: 1
#include <cotangent/cotangent.hpp>

#include <iostream>

namespace ct = cotangent;

inline constexpr auto watched = [](auto x) {
#ifdef REFUSED
  std::cout << x << std::endl;
#endif
  return ct::sum(x);
};

int main() {
  ct::tensor<double, 3> x;
  return ct::compiled(watched)(x) == 0 ? 0 : 1;
}
