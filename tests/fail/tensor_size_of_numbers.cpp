// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: tensor: the values must be as many as the extent of their axis; an extent that is a number has no size to pass
// EXPECT: values_given<1>
// EXPECT: extent_of_axis<3>
// ERRORS: 1
#include <cotangent/core/tensor.hpp>

#ifdef REFUSED
cotangent::tensor<double, 3> x(100);
#else
cotangent::tensor<double, "n"> x(100);
#endif
