// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: tensor: the braces must nest as deep as the rank
// EXPECT: depth_of_braces<1>
// EXPECT: rank_of_tensor<2>
// ERRORS: 1
#include <cotangent/core/tensor.hpp>

#ifdef REFUSED
cotangent::tensor<double, 2, 2> x{1, 2, 3, 4};
#else
cotangent::tensor<double, 2, 2> x{{1, 2}, {3, 4}};
#endif
