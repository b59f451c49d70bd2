// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: vmap, jacobian: every operation of the function must have a batching rule, and loops and branches have none
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto square = [](auto x) { return x * x; };
inline constexpr auto power = [](auto x) {
#ifdef REFUSED
  return ct::for_loop(3, [](auto, auto y) { return y * y; }, x);
#else
  return square(square(square(x)));
#endif
};

int main() {
  ct::tensor<double, 2> const x{1, 2};
  auto const y = ct::vmap(power)(x);
  return y(1) == 256 ? 0 : 1;
}
