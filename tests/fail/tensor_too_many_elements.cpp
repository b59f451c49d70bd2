// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: a tensor must have fewer than 2\^60 elements
// EXPECT: size_of_shape<.*size<1073741824>, .*size<1073741824>
// ERRORS: 1
#include <cotangent/core/tensor.hpp>

#ifdef REFUSED
using large = cotangent::tensor<float, 1 << 30, 1 << 30>;
#else
using large = cotangent::tensor<float, 1 << 30, 1 << 29>;
#endif
static_assert(sizeof(large) != 0);
