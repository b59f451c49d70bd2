// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: an extent must be a number, a name of at most 15 characters
// EXPECT: extent_given<'n', ' ', 'm'>
// ERRORS: 1
#include <cotangent/core/tensor.hpp>

#ifdef REFUSED
cotangent::tensor<double, "n m"> x;
#else
cotangent::tensor<double, "n*m"> x;
#endif
