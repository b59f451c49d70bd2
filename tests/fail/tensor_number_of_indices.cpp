// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: tensor: there must be as many indices as the rank
// EXPECT: indices_given<1>
// EXPECT: rank_of_tensor<2>
// ERRORS: 1
#include <cotangent/core/tensor.hpp>

double corner(cotangent::tensor<double, 2, "n"> const& x) {
#ifdef REFUSED
  return x(1);
#else
  return x(1, 0);
#endif
}
