// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: case_of: all branches must give the same element types and shapes
// EXPECT: value_of_branch<.*float
// EXPECT: value_of_other_branch<.*double
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return ct::cond(x > 0, [](auto z) { return z * z; }, [](auto z) { return ct::convert<float>(z); })(x);
#else
  return ct::cond(x > 0, [](auto z) { return z * z; }, [](auto z) { return -z; })(x);
#endif
};

int main() { return ct::compiled(f)(0.0) == 0 ? 0 : 1; }
