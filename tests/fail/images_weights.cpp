// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: conv2d: weights must have the axes \[height, width, channels, results\]
// EXPECT: rank_of_weights<3>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/images.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto w) { return ct::conv2d(x, w); };

int main() {
  ct::tensor<float, 9, 9, 2> x;
#ifdef REFUSED
  ct::tensor<float, 3, 3, 2> w;
#else
  ct::tensor<float, 3, 3, 2, 1> w;
#endif
  auto y = ct::compiled(f)(x, w);
  return y.size() > 0 ? 0 : 1;
}
