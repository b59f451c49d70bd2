// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: view: the sizes of the memory must equal the extents of the view
// EXPECT: shape_of_memory<.*size<4> ?>
// EXPECT: shape_of_view<.*size<3> ?>
// ERRORS: 1
#include <cotangent/core/view.hpp>

double last(double const (&x)[4]) {
#ifdef REFUSED
  return cotangent::view<double const, 3>(x)(2);
#else
  return cotangent::view<double const, 4>(x)(2);
#endif
}
