// SPDX-License-Identifier: BSL-1.0
// EXPECT: no matching function for call to .gelu
// EXPECT: no matching function for call to .max_pool2d
// EXPECT: no matching function for call to .dropout
// ERRORS: 4
// LINES: g++ 100, clang 120
#include <cotangent/cotangent.hpp>
#include <cotangent/images.hpp>
#include <cotangent/nn.hpp>
#include <cotangent/random.hpp>

namespace ct = cotangent;

// The headers are included: the error is about the arguments.
#ifdef REFUSED
inline constexpr auto f = [](auto images, auto key) {
  return ct::sum(ct::gelu(images, true)) + ct::sum(ct::max_pool2d(images, 2)) + ct::sum(ct::dropout(images, key));
};
#else
inline constexpr auto f = [](auto images, auto) { return ct::sum(ct::gelu(images)) + ct::sum(ct::max_pool2d(images)); };
#endif

int main() {
  float const y = ct::compiled(f)(ct::tensor<float, 1, 4, 4, 1>(), std::int64_t(3));
  return y == 0 ? 0 : 1;
}
