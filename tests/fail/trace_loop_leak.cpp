// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: a value must not leave the loop or branch that it was computed in, except as its result
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  ct::expr<double> left = 0;
  auto const y = ct::for_loop(3, [&](auto, auto s) {
    left = s;
    return s * s;
  }, x);
  return y * left;
#else
  ct::expr<double> left = 0;
  auto const y = ct::for_loop(3, [&](auto, auto s) { return s * s; }, x);
  return y * left;
#endif
};

int main() { return ct::compiled(f)(0.0) == 0 ? 0 : 1; }
