// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: custom_vjp: the rule must return one cotangent for each argument, of its elements and extents; several as a std::tuple
// ERRORS: 1
#include <cotangent/cotangent.hpp>

#include <tuple>

namespace ct = cotangent;

inline constexpr auto f = ct::custom_vjp([](auto x, auto y) { return x * y; },
#ifdef REFUSED
                                         [](auto, auto y, auto, auto dz) { return dz * y; });
#else
                                         [](auto x, auto y, auto, auto dz) { return std::tuple(dz * y, dz * x); });
#endif

int main() { return ct::grad(f)(3.0, 2.0) == 2 ? 0 : 1; }
