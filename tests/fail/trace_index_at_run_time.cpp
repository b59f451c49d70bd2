// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: x\(i, j, \.\.\.\): an index must be an integer, ct::all or ct::range<start, stop, step>
// ERRORS: 1
// LINES: clang 27
#include <cotangent/cotangent.hpp>
#include <cotangent/dynamic.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return ct::sum(x(ct::dynamic::between(1, 3)));
#else
  return ct::sum(x(ct::range<1, 3>));
#endif
};

int main() {
  ct::tensor<double, 5> x{1, 2, 3, 4, 5};
  return ct::compiled(f)(x) == 5 ? 0 : 1;
}
