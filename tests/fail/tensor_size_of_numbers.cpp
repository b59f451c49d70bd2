// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: tensor: the values in the braces must be as many as the extent of their axis
// EXPECT: values_in_braces<1>
// EXPECT: extent_of_axis<3>
// ERRORS: 1
#include <cotangent/core/tensor.hpp>

#ifdef REFUSED
cotangent::tensor<double, 3> x(100);
#else
cotangent::tensor<double, "n"> x(100);
#endif
