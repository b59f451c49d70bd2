// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: vmap: there must be one axis for each argument; name axes as in
// EXPECT: equal<.*axes_given<2>, .*arguments_mapped<3>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto y, auto z) { return x * y * z; };

int main() {
  ct::tensor<double, 2> const x{1, 2};
#ifdef REFUSED
  auto const y = ct::vmap<0, ct::unmapped>(f)(x, x, x);
#else
  auto const y = ct::vmap<0, ct::unmapped, 0>(f)(x, x, x);
#endif
  return y(0, 1) == 2 ? 0 : 1;
}
