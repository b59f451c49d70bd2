// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: loop: the body must give as many values as are carried
// EXPECT: values_before<2>
// EXPECT: values_after<3>
// ERRORS: 1
// LINES: clang 28
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  auto [a, b] = ct::for_loop(3, [](auto, auto p, auto q) { return std::tuple(q, p, p); }, x, x);
  return a + b;
#else
  auto [a, b] = ct::for_loop(3, [](auto, auto p, auto q) { return std::tuple(q, p); }, x, x);
  return a + b;
#endif
};

int main() { return ct::compiled(f)(0.0) == 0 ? 0 : 1; }
