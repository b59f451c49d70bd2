// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: scatter_max, scatter_min, scatter_set: the rows must have the extents of the indices, then those of a row
// EXPECT: extent_of_operand<2>
// EXPECT: extent_of_rows<3>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/numeric.hpp>

#include <cstdint>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto i, auto v) {
#ifdef REFUSED
  return ct::sum(ct::scatter_max(x, i, v));
#else
  return ct::sum(ct::scatter_max(x, i, v(ct::range<0, 2>)));
#endif
};

int main() {
  ct::tensor<double, 4> x{1, 2, 3, 4};
  ct::tensor<std::int64_t, 2> i{0, 2};
  ct::tensor<double, 3> v{5, 1, 7};
  return ct::compiled(f)(x, i, v) == 14 ? 0 : 1;
}
