// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: vmap, map: every tensor of a mapped argument must have the axis that is mapped
// EXPECT: less_than<.*axis_mapped<0>, .*rank_of_argument<0>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

#include <utility>

namespace ct = cotangent;

inline constexpr auto f = [](auto p) { return p.first * p.second; };

int main() {
  ct::tensor<double, 2> const x{1, 2};
#ifdef REFUSED
  std::pair const p(x, 2.0);
#else
  std::pair const p(x, x);
#endif
  auto const y = ct::vmap(f)(p);
  return y(0) == 1 ? 0 : 1;
}
