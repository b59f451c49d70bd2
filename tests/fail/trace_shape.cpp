// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: the shapes of both operands must be equal axis by axis from the last, or 1
// EXPECT: extent_of_left<3>
// EXPECT: extent_of_right<4>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto total = [](auto x, auto y) {
  auto z = x + y;
  return ct::sum(ct::exp(z) * z);
};

int main() {
  ct::tensor<double, 3> x;
#ifdef REFUSED
  ct::tensor<double, 4> y;
#else
  ct::tensor<double, 3> y;
#endif
  auto [value, gradient] = ct::value_and_grad(total)(x, y);
  return value == 0 && gradient.size() == 3 ? 0 : 1;
}
