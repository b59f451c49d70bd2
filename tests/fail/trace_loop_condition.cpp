// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: loop: the condition must be one bool
// EXPECT: value_of_condition<.*double
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return ct::while_loop([](auto, auto s) { return s - 1; }, [](auto, auto s) { return s * s; }, x);
#else
  return ct::while_loop([](auto, auto s) { return s > 1; }, [](auto, auto s) { return s * s; }, x);
#endif
};

int main() { return ct::compiled(f)(0.0) == 0 ? 0 : 1; }
