// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: % needs integers; ct::fmod\(x, y\) and ct::mod\(x, y\) take float and double
// EXPECT: element_of_the_operands<double>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto rest = [](auto x, auto y) { return x % y; };

int main() {
#ifdef REFUSED
  return ct::compiled(rest)(3.0, 2.0) == 1 ? 0 : 1;
#else
  return ct::compiled(rest)(3, 2) == 1 ? 0 : 1;
#endif
}
