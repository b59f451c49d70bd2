// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: the rank of a result must be at most 8
// EXPECT: rank_of_result<9>
// EXPECT: largest_rank<8>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

constexpr auto f = [](auto x) {
#ifdef REFUSED
  return ct::sum(ct::reshape<1, 1, 1, 1, 1, 1, 1, 2, 3>(x));
#else
  return ct::sum(ct::reshape<1, 1, 1, 1, 1, 1, 2, 3>(x));
#endif
};

static_assert(ct::compiled(f)(ct::tensor<double, 6>{1, 2, 3, 4, 5, 6}) == 21);
