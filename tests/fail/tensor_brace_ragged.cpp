// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: tensor: the values must be as many as the extent of their axis; an extent that is a number has no size to pass
// EXPECT: values_given<1>
// EXPECT: extent_of_axis<2>
// ERRORS: 1
#include <cotangent/core/tensor.hpp>

#ifdef REFUSED
cotangent::tensor<double, "n", "m"> x{{1, 2}, {3}};
#else
cotangent::tensor<double, "n", "m"> x{{1, 2}, {3, 4}};
#endif
