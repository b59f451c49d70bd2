// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: conv_transpose: the channels of x must equal the last axis of the weights
// EXPECT: channels_of_x<2>
// EXPECT: channels_of_weights<4>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/images.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto w) { return ct::conv_transpose1d(x, w); };

int main() {
  ct::tensor<float, 9, 2> x;
#ifdef REFUSED
  ct::tensor<float, 3, 2, 4> w;
#else
  ct::tensor<float, 3, 4, 2> w;
#endif
  auto y = ct::compiled(f)(x, w);
  return y.size() > 0 ? 0 : 1;
}
