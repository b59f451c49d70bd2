// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: the height and the width of an image, and of a window on it, must be numbers
// EXPECT: extent_of_image<'h'>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/images.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto w) { return ct::conv2d(x, w); };

int main() {
#ifdef REFUSED
  ct::tensor<float, 9, "h", 9, 2> x(9);
#else
  ct::tensor<float, "h", 9, 9, 2> x(9);
#endif
  ct::tensor<float, 3, 3, 2, 4> w;
  auto y = ct::compiled(f)(x, w);
  return y.size() > 0 ? 0 : 1;
}
