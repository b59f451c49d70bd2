// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: a fractional literal must not be combined with an integer expression; convert the expression with ct::convert<double>\(x\)
// ERRORS: 1
#include <cotangent/cotangent.hpp>

#include <cstdint>

namespace ct = cotangent;

inline constexpr auto replaced = [](auto n) {
#ifdef REFUSED
  n(0) = 1.5;
#else
  n(0) = 1;
#endif
  return ct::sum(n);
};

int main() { return ct::compiled(replaced)(ct::tensor<std::int32_t, 2>{4, 5}) == 6 ? 0 : 1; }
