// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: case_of: the index must be an integer scalar
// ERRORS: 1
// LINES: clang 28
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return ct::case_of(x, [](auto z) { return z; })(x);
#else
  return ct::case_of(ct::convert<std::int32_t>(x), [](auto z) { return z; })(x);
#endif
};

int main() { return ct::compiled(f)(0.0) == 0 ? 0 : 1; }
