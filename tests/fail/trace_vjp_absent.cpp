// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: vjp: after the arguments there must be one cotangent, of the same elements and extents as the result of the function
// ERRORS: 1
// LINES: g++ 16, clang 34
#include <cotangent/cotangent.hpp>

#include <tuple>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) { return std::tuple(x * x, ct::argmax(x)); };

int main() {
  ct::tensor<double, 3> const x{1, 2, 3};
#ifdef REFUSED
  ct::tensor<double, 2> const dy{1, 2};
#else
  ct::tensor<double, 3> const dy{1, 2, 3};
#endif
  return ct::vjp(f)(x, std::tuple(dy, ct::absent)).second(1) == 8 ? 0 : 1;
}
