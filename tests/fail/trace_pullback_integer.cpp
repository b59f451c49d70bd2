// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: grad: a differentiated argument must hold float or double; name the positions
// EXPECT: element_of_argument<int>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto scaled = [](auto x, auto n) { return x * ct::convert<double>(n); };

int main() {
#ifdef REFUSED
  auto [y, back] = ct::vjp<1>(scaled)(2.0, 3);
#else
  auto [y, back] = ct::vjp<0>(scaled)(2.0, 3);
#endif
  auto dx = back(1.0);
  return dx == 3 && y == 6 ? 0 : 1;
}
