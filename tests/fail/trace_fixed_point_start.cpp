// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: fixed_point: the first value must be a float or double, or an expression of them
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

#ifdef REFUSED
inline constexpr auto f = [](auto a) { return ct::fixed_point([](auto x, auto c) { return x / 2 + c; }, 1, a); };
#else
inline constexpr auto f = [](auto a) { return ct::fixed_point([](auto x, auto c) { return x / 2 + c; }, 1.0, a); };
#endif

int main() { return ct::compiled(f)(0.5) > 0.9 ? 0 : 1; }
