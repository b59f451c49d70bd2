// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: custom_vjp: the rule must return one cotangent for each argument, of its elements and extents; several as a std::tuple
// ERRORS: 1
#include <cotangent/cotangent.hpp>

#include <tuple>

namespace ct = cotangent;

inline constexpr auto f = ct::custom_vjp([](auto x, auto s) { return ct::sum(x) * s; },
#ifdef REFUSED
                                         [](auto, auto s, auto, auto dy) { return std::tuple(s * dy, s * dy); });
#else
                                         [](auto x, auto s, auto, auto dy) { return std::tuple(x * 0 + s * dy, s * dy); });
#endif

int main() {
  ct::tensor<double, 2> const x{1, 2};
  return ct::grad(f)(x, 3.0)(1) == 3 ? 0 : 1;
}
