// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: for_loop: the count must be an integer, or an int64 or int32 expression without axes
// ERRORS: 1
// LINES: clang 28
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return ct::for_loop(x, [](auto, auto s) { return s * s; }, x);
#else
  return ct::for_loop(ct::convert<std::int64_t>(x), [](auto, auto s) { return s * s; }, x);
#endif
};

int main() { return ct::compiled(f)(0.0) == 0 ? 0 : 1; }
