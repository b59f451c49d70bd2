// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: view: a temporary that owns its elements must not be seen; give it a name first
// EXPECT: vector<double
// ERRORS: 1
#include <cotangent/core/view.hpp>

#include <span>
#include <vector>

double first(std::vector<double>& x) {
#ifdef REFUSED
  return cotangent::view<double, "n">(std::vector<double>(x))(0);
#else
  return cotangent::view<double, "n">(std::span<double>(x))(0);
#endif
}
