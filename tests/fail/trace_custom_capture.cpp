// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: the function must not use captures
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

int main() {
#ifdef REFUSED
  double const factor = 2;
#else
  static constexpr double factor = 2;
#endif
  auto const f = ct::custom_vjp([](auto x) { return x * x; }, [=](auto x, auto, auto dy) { return factor * x * dy; });
  return ct::grad(f)(3.0) == 6 ? 0 : 1;
}
