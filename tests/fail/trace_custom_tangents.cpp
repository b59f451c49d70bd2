// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: custom_jvp: the rule must return the tangent of the result, of its elements and extents
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = ct::custom_jvp([](auto x) { return ct::sum(x * x); },
#ifdef REFUSED
                                         [](auto x, auto dx) { return 2 * x * dx; });
#else
                                         [](auto x, auto dx) { return ct::sum(2 * x * dx); });
#endif

int main() {
  ct::tensor<double, 2> const x{1, 2};
  return ct::grad(f)(x)(1) == 4 ? 0 : 1;
}
