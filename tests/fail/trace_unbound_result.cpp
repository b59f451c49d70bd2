// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: extent: every name must be an extent of an argument, which binds it to a size; give an argument an axis
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

#ifdef REFUSED
inline constexpr auto f = [](auto) { return ct::full<"2*m">(3.0); };
#else
inline constexpr auto f = [](auto) { return ct::full<"n">(3.0); };
#endif

int main() {
  auto const r = ct::compiled(f)(ct::tensor<double, "n">(3));
  return r.size() == 3 && r(2) == 3 ? 0 : 1;
}
