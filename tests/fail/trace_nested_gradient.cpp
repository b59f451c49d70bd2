// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: grad: the function must return a scalar
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto energy = [](auto x) {
#ifdef REFUSED
  return x * x;
#else
  return ct::sum(x * x);
#endif
};
inline constexpr auto loss = [](auto x) {
  auto force = ct::grad(energy)(x);
  return ct::sum(force * force);
};

int main() {
  ct::tensor<double, 3> x{1, 2, 3};
  return ct::grad(loss)(x)(0) == 8 ? 0 : 1;
}
