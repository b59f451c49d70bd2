// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: the function must not use captures, since it is traced at compile time
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

int main() {
  double scale = 3;
#ifdef REFUSED
  auto scaled = [=](auto x) { return x * scale; };
  auto [value, gradient] = ct::value_and_grad(scaled)(2.0);
#else
  auto scaled = [&](auto x, auto s) { return x * s; };
  auto [value, gradient] = ct::value_and_grad(scaled)(2.0, scale);
#endif
  return value == 6 && gradient == 3 ? 0 : 1;
}
