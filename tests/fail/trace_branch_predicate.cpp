// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: cond: the predicate must be one bool expression, such as x > 0
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return ct::cond(x, [](auto z) { return z; }, [](auto z) { return -z; })(x);
#else
  return ct::cond(x > 0, [](auto z) { return z; }, [](auto z) { return -z; })(x);
#endif
};

int main() { return ct::compiled(f)(0.0) == 0 ? 0 : 1; }
