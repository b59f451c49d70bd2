// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: an image must have the axes \[height, width, channels\] or \[images, height, width, channels\]
// EXPECT: rank_of_image<2>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/images.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto w) { return ct::conv2d(x, w); };

int main() {
#ifdef REFUSED
  ct::tensor<float, 9, 9> x;
#else
  ct::tensor<float, 9, 9, 2> x;
#endif
  ct::tensor<float, 3, 3, 2, 4> w;
  auto y = ct::compiled(f)(x, w);
  return y.size() > 0 ? 0 : 1;
}
