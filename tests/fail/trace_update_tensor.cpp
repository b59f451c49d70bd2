// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: a tensor must not be combined with an expression; pass it to the function as one more argument
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr ct::tensor<double, 3> offset{1, 2, 3};

inline constexpr auto moved = [](auto x, [[maybe_unused]] auto by) {
#ifdef REFUSED
  x += offset;
#else
  x += by;
#endif
  return ct::sum(x);
};

int main() {
  ct::tensor<double, 3> x;
  return ct::compiled(moved)(x, offset) == 6 ? 0 : 1;
}
