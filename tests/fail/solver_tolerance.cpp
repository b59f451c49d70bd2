// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: solver: tolerance, max_iterations and scale must be at least 0
// ERRORS: 1
// LINES: g++ 30, clang 56
#include <cotangent/cotangent.hpp>

#include <limits>

namespace ct = cotangent;

#ifdef REFUSED
inline constexpr ct::solver options{.tolerance = std::numeric_limits<double>::quiet_NaN()};
#else
inline constexpr ct::solver options{.tolerance = 1e-8};
#endif
inline constexpr auto f = [](auto x) {
  return ct::fixed_point<options>([](auto y, auto a) { return 0.5 * ct::sin(y) + a; }, 0.0, x);
};

double solution(double x) { return ct::compiled(f)(x); }
