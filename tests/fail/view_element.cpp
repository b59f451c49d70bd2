// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: view: the elements of the memory must be those of the view
// EXPECT: elements_of_memory<float>
// EXPECT: elements_of_view<double>
// ERRORS: 1
#include <cotangent/core/view.hpp>

#include <vector>

#ifdef REFUSED
using element = float;
#else
using element = double;
#endif
double first(std::vector<element>& x) { return cotangent::view<double, "n">(x)(0); }
