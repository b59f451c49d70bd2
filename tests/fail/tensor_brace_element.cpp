// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: tensor: integers and bools cannot be made from floating values
// EXPECT: values_in_braces_of<double>
// EXPECT: elements_of<int>
// ERRORS: 1
#include <cotangent/core/tensor.hpp>

#ifdef REFUSED
cotangent::tensor<int, 2> x{1, 2.5};
#else
cotangent::tensor<int, 2> x{1, 2};
#endif
