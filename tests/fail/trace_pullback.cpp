// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: vjp: a pullback must be given one cotangent, of the same elements and extents as the value
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto squares = [](auto x) { return x * x; };

int main() {
  ct::tensor<double, 3> x{1, 2, 3};
  auto const [y, back] = ct::vjp(squares)(x);
#ifdef REFUSED
  auto dx = back(ct::tensor<double, 2>{1, 2});
#else
  auto dx = back(ct::tensor<double, 3>{1, 2, 3});
#endif
  return dx(1) == 8 ? 0 : 1;
}
