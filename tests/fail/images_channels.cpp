// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: conv2d: the channels of the image must equal those of the weights times the groups
// EXPECT: channels_of_image<3>
// EXPECT: channels_of_weights_times_groups<2>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/images.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto w) { return ct::conv2d(x, w); };

int main() {
#ifdef REFUSED
  ct::tensor<float, 9, 9, 3> x;
#else
  ct::tensor<float, 9, 9, 2> x;
#endif
  ct::tensor<float, 3, 3, 2, 4> w;
  auto y = ct::compiled(f)(x, w);
  return y.size() > 0 ? 0 : 1;
}
