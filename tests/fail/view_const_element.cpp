// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: view: the elements of the memory must be those of the view
// EXPECT: elements_of_memory<(const double|double const)>
// EXPECT: elements_of_view<double>
// ERRORS: 1
#include <cotangent/core/view.hpp>

#ifdef REFUSED
using element = double;
#else
using element = double const;
#endif
double first(cotangent::tensor<double, 3> const& x) { return cotangent::view<element, 3>(x)(0); }
