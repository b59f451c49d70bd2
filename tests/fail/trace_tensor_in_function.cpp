// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: a tensor must not be combined with an expression; pass it to the function as one more argument
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr ct::tensor<double, 3> weights{1, 2, 3};

int main() {
  ct::tensor<double, 3> a{1, 2, 3};
#ifdef REFUSED
  double c = ct::compiled([](auto x) { return ct::sum(x * weights); })(a);
#else
  double c = ct::compiled([](auto x, auto w) { return ct::sum(x * w); })(a, weights);
#endif
  return c == 14 ? 0 : 1;
}
