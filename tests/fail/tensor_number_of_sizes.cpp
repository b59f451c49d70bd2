// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: tensor: there must be one size for each name in the extents
// EXPECT: sizes_given<3>
// EXPECT: names_in_extents<2>
// ERRORS: 1
#include <cotangent/core/tensor.hpp>

#ifdef REFUSED
cotangent::tensor<double, "n", 3, "m", "n*m"> x(5, 3, 7);
#else
cotangent::tensor<double, "n", 3, "m", "n*m"> x(5, 7);
#endif
