// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: vmap, jacobian: a value of the function must have at most 7 axes, since batching adds one
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

#ifdef REFUSED
inline constexpr auto f = [](auto x) { return ct::sum(ct::reshape<1, 1, 1, 1, 1, 1, 1, 2>(x)); };
#else
inline constexpr auto f = [](auto x) { return ct::sum(ct::reshape<1, 1, 1, 1, 1, 1, 2>(x)); };
#endif

int main() {
  ct::tensor<double, 2, 2> const x{{1, 2}, {3, 4}};
  auto const y = ct::vmap(f)(x);
  return y(1) == 7 ? 0 : 1;
}
