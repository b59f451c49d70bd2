// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: loop: a carried value must keep its element type and shape
// EXPECT: value_before<.*double
// EXPECT: value_after<.*float
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return ct::for_loop(3, [](auto, auto s) { return ct::convert<float>(s); }, x);
#else
  return ct::for_loop(3, [](auto, auto s) { return s * s; }, x);
#endif
};

int main() { return ct::compiled(f)(0.0) == 0 ? 0 : 1; }
