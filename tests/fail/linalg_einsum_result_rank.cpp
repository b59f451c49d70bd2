// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: the rank of a result must be at most 8
// EXPECT: rank_of_result<9>
// EXPECT: largest_rank<8>
// ERRORS: 1
#include <cotangent/cotangent.hpp>
#include <cotangent/linalg.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto y) {
#ifdef REFUSED
  return ct::sum(ct::einsum<"abcde,fghi">(x, y));
#else
  return ct::sum(ct::einsum<"abcde,fghe">(x, y));
#endif
};

int main() {
  ct::tensor<double, 1, 1, 1, 1, 2> x;
  ct::tensor<double, 1, 1, 1, 2> y;
  return ct::compiled(f)(x, y) == 0 ? 0 : 1;
}
