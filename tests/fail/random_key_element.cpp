// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: the key of random numbers must be an int64
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/random.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto key) { return ct::random_uniform<double, 3>(key); };

int main() {
#ifdef REFUSED
  std::int32_t key = 1;
#else
  std::int64_t key = 1;
#endif
  auto y = ct::compiled(f)(key);
  return y(0) < 1 ? 0 : 1;
}
