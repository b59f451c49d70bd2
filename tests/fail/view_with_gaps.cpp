// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: memory: a type with data\(\) and size\(\) must have contiguous iterators, since its elements may lie in
// ERRORS: 1
#include <cotangent/core/view.hpp>

struct row { // every third element
  double* first;
  double* data() const { return first; }
  std::int64_t size() const { return 2; }
#ifndef REFUSED
  double* begin() const { return first; }
#endif
};

double first(row r) {
  cotangent::view<double, "n"> const x(r);
  return x(0);
}
