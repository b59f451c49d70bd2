// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: view: the size of the memory does not say the sizes of the names; give one for each after it
// EXPECT: shape_of_view<.*name<'n'>, .*name<'m'>
// ERRORS: 1
#include <cotangent/core/view.hpp>

#include <vector>

double first(std::vector<double>& x) {
#ifdef REFUSED
  return cotangent::view<double, "n", "m">(x)(0, 0);
#else
  return cotangent::view<double, "n", "m">(x, 5, 7)(0, 0);
#endif
}
