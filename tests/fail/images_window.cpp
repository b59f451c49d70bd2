// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: a window must fit into the image with its border
// EXPECT: extent_of_window<3>
// EXPECT: extent_of_image_with_border<2>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/images.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto w) { return ct::conv2d(x, w); };

int main() {
#ifdef REFUSED
  ct::tensor<float, 9, 2, 2> x;
#else
  ct::tensor<float, 9, 3, 2> x;
#endif
  ct::tensor<float, 3, 3, 2, 4> w;
  auto y = ct::compiled(f)(x, w);
  return y.size() > 0 ? 0 : 1;
}
