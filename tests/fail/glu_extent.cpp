// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: glu: the extent of the axis must be an even number
// EXPECT: extent_of_axis<5>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/nn.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return ct::sum(ct::glu(x(ct::range<0, 5>)));
#else
  return ct::sum(ct::glu(x(ct::range<0, 4>)));
#endif
};

int main() {
  ct::tensor<double, 6> x{1, 2, 3, 4, 5, 6};
  return ct::compiled(f)(x) > 0 ? 0 : 1;
}
