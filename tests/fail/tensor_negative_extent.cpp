// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: an extent must not be negative
// EXPECT: extent_given<-1>
// ERRORS: 1
#include <cotangent/core/tensor.hpp>

#ifdef REFUSED
using refused = cotangent::tensor<double, -1>;
#else
using refused = cotangent::tensor<double, 1>;
#endif
refused x;
