// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: tensor: the values must be as many as the extent of their axis; an extent that is a number has no size to pass
// EXPECT: values_given<3>
// EXPECT: extent_of_axis<2>
// ERRORS: 1
#include <cotangent/core/tensor.hpp>

#ifdef REFUSED
cotangent::tensor<double, 2, 2> x{{1, 2}, {3, 4}, {5, 6}};
#else
cotangent::tensor<double, 2, 2> x{{1, 2}, {3, 4}};
#endif
