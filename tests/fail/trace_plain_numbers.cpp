// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: a function of numbers alone must be elementwise, and its numbers float, double, bool or signed integers
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

int main() {
#ifdef REFUSED
  auto const y = ct::clamp(3000000000u, 0u, 4000000000u);
#else
  auto const y = ct::clamp(3000000000, 0, 4000000000);
#endif
  return y == 3000000000 ? 0 : 1;
}
