// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: sparse_jacobian: the pattern must have at most 8,192 elements
// EXPECT: at_most<.*elements_of_pattern<10100>, .*elements_allowed<8192>
// ERRORS: 1
#include <cotangent/sparse.hpp>

namespace ct = cotangent;

#ifdef REFUSED
inline constexpr auto f = [](auto x) { return ct::softmax<0>(x); };
#else
inline constexpr auto f = [](auto x) { return ct::sin(x); };
#endif

int main() {
  ct::tensor<double, 100> const x{};
  (void)ct::sparse_jacobian(f)(x);
  return 0;
}
