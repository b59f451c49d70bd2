// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: polyval: the number of coefficients must be a number, not a name
// EXPECT: extent_of_coefficients<'n'>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/tables.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto c, auto x) { return ct::polyval(c, x); };

int main() {
#ifdef REFUSED
  ct::tensor<float, "n"> c(3);
#else
  ct::tensor<float, 3> c;
#endif
  auto y = ct::compiled(f)(c, 1.0f);
  return y > 9 ? 1 : 0;
}
