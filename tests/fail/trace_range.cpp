// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: a range must lie within its axis
// EXPECT: end_of_range<5>
// EXPECT: extent_of_axis<4>
// ERRORS: 1
// LINES: clang 27
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto part = [](auto x) {
#ifdef REFUSED
  return ct::sum(x(ct::range<1, 5>));
#else
  return ct::sum(x(ct::range<1, 4>));
#endif
};

int main() {
  ct::tensor<double, 4> x{1, 2, 3, 4};
  return ct::compiled(part)(x) == 9 ? 0 : 1;
}
