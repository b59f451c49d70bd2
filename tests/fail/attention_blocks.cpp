// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: block_attention: the number of queries must be a number, not a name
// ERRORS: 1
#include <cotangent/cotangent.hpp>
#include <cotangent/nn.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto q, auto k) { return ct::sum(ct::block_attention<2>(q, k, k)); };

int main() {
#ifdef REFUSED
  ct::tensor<double, "n", 2> q(3);
#else
  ct::tensor<double, 3, 2> q;
#endif
  ct::tensor<double, 3, 2> k{{1, 2}, {3, 4}, {5, 6}};
  return ct::compiled(f)(q, k) > 0 ? 0 : 1;
}
