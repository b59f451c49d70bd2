// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: grad: a differentiated argument must hold float or double; name the positions
// EXPECT: element_of_argument<int>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto scaled = [](auto x, auto n) { return x * ct::convert<double>(n); };

int main() {
#ifdef REFUSED
  auto [dx, dn] = ct::grad<0, 1>(scaled)(2.0, 3);
  return dx == 3 && dn == 2 ? 0 : 1;
#else
  auto dx = ct::grad<0>(scaled)(2.0, 3);
  return dx == 3 ? 0 : 1;
#endif
}
