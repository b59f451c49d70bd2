// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: view: there must be one size for each name in the extents
// EXPECT: sizes_given<1>
// EXPECT: names_in_extents<2>
// ERRORS: 1
#include <cotangent/core/view.hpp>

double first(double* x) {
#ifdef REFUSED
  return cotangent::view<double, "n", "m">(x, 35)(0, 0);
#else
  return cotangent::view<double, "n", "m">(x, 5, 7)(0, 0);
#endif
}
