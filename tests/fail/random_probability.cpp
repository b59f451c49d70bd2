// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: random_bernoulli: the probability must be at least 0 and at most 1
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/random.hpp>

#include <cstdint>

namespace ct = cotangent;

inline constexpr auto f = [](auto key) {
#ifdef REFUSED
  return ct::random_bernoulli<3>(key, 1.5);
#else
  return ct::random_bernoulli<3>(key, 0.5);
#endif
};

int main() { return ct::compiled(f)(std::int64_t{7})(0) ? 0 : 1; }
