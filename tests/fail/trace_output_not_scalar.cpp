// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: grad: the function must return a scalar; ct::sum the output, or give its cotangent to ct::vjp
// EXPECT: shape_of_output<.*size<3>
// EXPECT: shape_of_scalar<>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return x * x;
#else
  return ct::sum(x * x);
#endif
};

int main() {
  ct::tensor<double, 3> x{1, 2, 3};
  auto [value, gradient] = ct::value_and_grad(f)(x);
  return value == 14 && gradient(1) == 4 ? 0 : 1;
}
