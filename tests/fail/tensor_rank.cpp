// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: the rank of a tensor must be at most 8
// EXPECT: rank_given<9>
// EXPECT: largest_rank<8>
// ERRORS: 1
#include <cotangent/core/tensor.hpp>

#ifdef REFUSED
cotangent::tensor<float, 1, 1, 1, 1, 1, 1, 1, 1, 1> x;
#else
cotangent::tensor<float, 1, 1, 1, 1, 1, 1, 1, 1> x;
#endif
