// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: tensor: the values in the braces must be as many as the extent of their axis
// EXPECT: values_in_braces<3>
// EXPECT: extent_of_axis<2>
// ERRORS: 1
#include <cotangent/core/tensor.hpp>

#ifdef REFUSED
cotangent::tensor<double, 2, 2> x{{1, 2}, {3, 4}, {5, 6}};
#else
cotangent::tensor<double, 2, 2> x{{1, 2}, {3, 4}};
#endif
