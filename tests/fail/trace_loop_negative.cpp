// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: loop: max_iterations and tape_limit must be at least 0, which is no limit
// ERRORS: 1
// LINES: g++ 30, clang 56
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

#ifdef REFUSED
inline constexpr ct::loop options{.max_iterations = -1};
#else
inline constexpr ct::loop options{.max_iterations = 10};
#endif
inline constexpr auto f = [](auto x) {
  return ct::while_loop<options>([](auto, auto y) { return y < 100.0; }, [=](auto, auto y) { return y * 2.0; }, x);
};

double last(double x) { return ct::compiled(f)(x); }
