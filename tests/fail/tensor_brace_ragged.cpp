// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: tensor: the values in the braces must be as many as the extent of their axis
// EXPECT: values_in_braces<1>
// EXPECT: extent_of_axis<2>
// ERRORS: 1
#include <cotangent/core/tensor.hpp>

#ifdef REFUSED
cotangent::tensor<double, "n", "m"> x{{1, 2}, {3}};
#else
cotangent::tensor<double, "n", "m"> x{{1, 2}, {3, 4}};
#endif
