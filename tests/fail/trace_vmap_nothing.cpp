// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: vmap: at least one argument must be mapped; call the function itself instead
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) { return x * x; };

int main() {
  ct::tensor<double, 2> const x{1, 2};
#ifdef REFUSED
  auto const y = ct::vmap<ct::unmapped>(f)(x);
#else
  auto const y = ct::vmap<0>(f)(x);
#endif
  return y(1) == 4 ? 0 : 1;
}
