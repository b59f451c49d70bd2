// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: random_fold_in: the number must be at least 0
// EXPECT: below_zero<5>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/random.hpp>

namespace ct = cotangent;

#ifdef REFUSED
inline constexpr auto f = [](auto key) { return ct::random_fold_in(key, -5); };
#else
inline constexpr auto f = [](auto key) { return ct::random_fold_in(key, 5); };
#endif

int main() { return ct::compiled(f)(std::int64_t(3)) > 0 ? 0 : 1; }
