// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: conv2d: the groups must divide the results
// EXPECT: groups_given<3>
// EXPECT: results_of_weights<4>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/images.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto w) {
#ifdef REFUSED
  return ct::conv2d<ct::convolution{.groups = 3}>(x, w);
#else
  return ct::conv2d<ct::convolution{.groups = 2}>(x, w);
#endif
};

int main() {
  ct::tensor<float, 9, 9, 4> x;
  ct::tensor<float, 3, 3, 2, 4> w;
  auto y = ct::compiled(f)(x, w);
  return y.size() > 0 ? 0 : 1;
}
