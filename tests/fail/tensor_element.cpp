// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: the elements of a tensor must be float, double, std::int32_t, std::int64_t, bool, ct::float16 or ct::bfloat16
// EXPECT: allowed<(short|short int)>
// ERRORS: 1
#include <cotangent/core/tensor.hpp>

#ifdef REFUSED
cotangent::tensor<short, 3> x;
#else
cotangent::tensor<int, 3> x;
#endif
