// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: this function must be declared by its header; include cotangent/nn.hpp
// EXPECT: cotangent: this function must be declared by its header; include cotangent/nn.hpp
// EXPECT: cotangent: this function must be declared by its header; include cotangent/images.hpp
// EXPECT: cotangent: this function must be declared by its header; include cotangent/random.hpp
// ERRORS: 4
// LINES: g++ 80, clang 107
#include <cotangent/cotangent.hpp>
#ifndef REFUSED
#  include <cotangent/images.hpp>
#  include <cotangent/nn.hpp>
#  include <cotangent/random.hpp>
#endif

namespace ct = cotangent;

inline constexpr auto likelihood = [](auto x) { return ct::sum(ct::gelu(x) * 2 + 1); };
inline constexpr auto halves = [](auto x) {
  auto [a, b] = ct::split<0, 2>(x);
  return ct::sum(a * b);
};
inline constexpr auto pooled = [](auto images) { return ct::max_pool2d(images); };
inline constexpr auto fitted = [](auto x, auto y) { return ct::sum(ct::huber(x, y, 0.5)) + 1; };
inline constexpr auto noise = [](auto key) { return ct::random_uniform<double, 2>(key); };

int main() {
  double const z = ct::compiled(fitted)(ct::tensor<double, 2>(), ct::tensor<double, 2>());
  double const y = ct::compiled(likelihood)(ct::tensor<double, 2>()) + ct::compiled(halves)(ct::tensor<double, 2>());
  auto pool = ct::compiled(pooled)(ct::tensor<float, 1, 4, 4, 1>());
  auto random = ct::compiled(noise)(ct::tensor<std::int64_t>(3));
  return z == 1 && y == 2 && pool.data() != nullptr && random.data() != nullptr ? 0 : 1;
}
