// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: the key of random numbers must be one number
// EXPECT: rank_of_key<1>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/random.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto key) { return ct::random_split<2>(key); };

int main() {
  ct::tensor<std::int64_t, 2> keys{1, 2};
#ifdef REFUSED
  auto y = ct::compiled(f)(keys);
#else
  auto y = ct::compiled(f)(keys(0));
#endif
  return y(0) != y(1) ? 0 : 1;
}
