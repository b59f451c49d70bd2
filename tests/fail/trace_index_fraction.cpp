// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: x\(i, j, ...\): an index must be an integer, ct::all or ct::range<start, stop, step>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto replaced = [](auto x) {
#ifdef REFUSED
  return ct::at(x, 1.5).set(2);
#else
  return ct::at(x, 1).set(2);
#endif
};

int main() {
  ct::tensor<double, 3> const x{1, 2, 3};
  return ct::compiled(replaced)(x)(1) == 2 ? 0 : 1;
}
