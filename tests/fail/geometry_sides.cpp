// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: geometry: the last two axes must be the rows and columns that this function takes
// EXPECT: extent_of_axis<3>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/geometry.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto pose) { return ct::se3_inverse(pose); };

int main() {
#ifdef REFUSED
  ct::tensor<float, 3, 3> pose;
#else
  ct::tensor<float, 4, 4> pose;
#endif
  auto y = ct::compiled(f)(pose);
  return y(0, 0) == 1 ? 1 : 0;
}
