// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: the extents, the stride and the dilation of a window must be at least 1
// EXPECT: number_given<0>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/images.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto w) {
#ifdef REFUSED
  return ct::conv2d<ct::convolution{.stride = {1, 0}}>(x, w);
#else
  return ct::conv2d<ct::convolution{.stride = 1}>(x, w);
#endif
};

int main() {
  ct::tensor<float, 9, 9, 2> x;
  ct::tensor<float, 3, 3, 2, 4> w;
  auto y = ct::compiled(f)(x, w);
  return y.size() > 0 ? 0 : 1;
}
