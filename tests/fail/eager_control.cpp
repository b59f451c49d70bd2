// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: eager: loops and branches of variables must be those of C\+\+, which knows their values
// ERRORS: 4
// LINES: g++ 30, clang 56
#include <cotangent/eager.hpp>

namespace ct = cotangent;

void iterate(ct::dynamic::eager& e) {
  auto x = e.parameter(2.0);
#ifdef REFUSED
  auto const y = ct::for_loop(3, [](auto, auto s) { return s * 2.0; }, x);
  auto const z = ct::while_loop<ct::loop{.max_iterations = 3}>([](auto i, auto) { return i < 3; }, [](auto, auto s) { return s * 2.0; }, x);
  auto const u = ct::cond(x > 0.0, [](auto s) { return s; }, [](auto s) { return -s; })(x);
  auto const v = ct::scan([](auto s, auto row) { return std::pair(s + row, s); }, 0.0, x).first;
#else
  auto y = x * 1.0;
  for (int k = 0; k < 3; ++k) y = y * 2.0;
  auto const z = y, u = x > 0.0 ? x : -x, v = x;
#endif
  static_cast<void>(y), static_cast<void>(z), static_cast<void>(u), static_cast<void>(v);
}
