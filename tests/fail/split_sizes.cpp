// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: split: the sizes must be at least 0 and add up to the extent of the axis
// EXPECT: sum_of_sizes<7>
// EXPECT: extent_that_is_split<6>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/nn.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  auto const parts = ct::split<0, 3, 4>(x);
#else
  auto const parts = ct::split<0, 2, 4>(x);
#endif
  return ct::sum(std::get<1>(parts));
};

int main() {
  ct::tensor<double, 6> x{1, 2, 3, 4, 5, 6};
  return ct::compiled(f)(x) > 0 ? 0 : 1;
}
