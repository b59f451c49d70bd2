// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: vmap, map: all mapped axes must have the same extent
// EXPECT: equal<.*extent_of_axis_mapped<2>, .*extent_of_next_mapped<3>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto y) { return x + ct::sum(y); };

int main() {
  ct::tensor<double, 2> const x{1, 2};
  ct::tensor<double, 3, 2> const y{{1, 2}, {3, 4}, {5, 6}};
#ifdef REFUSED
  auto const z = ct::vmap<0, 0>(f)(x, y);
#else
  auto const z = ct::vmap<0, 1>(f)(x, y);
#endif
  return z(0) == 10 ? 0 : 1;
}
