// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: extent: every name must be an extent of an argument, which binds it to a size; give an argument an axis
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

#ifdef REFUSED
inline constexpr auto f = [](auto x, auto y) { return ct::sum(ct::broadcast_to<"m">(x)) + ct::sum(y); };
#else
inline constexpr auto f = [](auto x, auto y) { return ct::sum(ct::broadcast_to<"n">(x)) + ct::sum(y); };
#endif

int main() {
  auto [value, gradient] = ct::value_and_grad(f)(2.0, ct::tensor<double, "n">(3));
  return value == 6 && gradient == 3 ? 0 : 1;
}
