// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: view: a temporary that owns its elements must not be seen; give it a name first
// ERRORS: 1
#include <cotangent/core/view.hpp>

double first(cotangent::view<double const, "n"> x) { return x(0); }
double answer() {
  cotangent::tensor<double, "n"> const x{1, 2, 3};
#ifdef REFUSED
  return first(cotangent::tensor<double, "n">{1, 2, 3});
#else
  return first(x);
#endif
}
