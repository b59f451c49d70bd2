// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: max_pool2d, avg_pool2d: the padding must be less than the window
// EXPECT: padding_given<2>
// EXPECT: extent_of_pooled_window<2>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/images.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return ct::max_pool2d<ct::pooling{.window = 2, .padding = 2}>(x);
#else
  return ct::max_pool2d<ct::pooling{.window = 2, .padding = 1}>(x);
#endif
};

int main() {
  ct::tensor<float, 9, 9, 2> x;
  auto y = ct::compiled(f)(x);
  return y.size() > 0 ? 0 : 1;
}
