// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: tensor: the braces must nest as deep as the rank
// EXPECT: depth_of_braces<1>
// ERRORS: 1
#include <cotangent/core/tensor.hpp>

// A size stands in parentheses.
#ifdef REFUSED
cotangent::tensor<double, "n", 3> x{100};
#else
cotangent::tensor<double, "n", 3> x(100);
#endif
