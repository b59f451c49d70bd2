// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: loop: a carried value must keep its element type and shape; start from ct::zeros<...>\(\), not from a number
// EXPECT: value_after<.*double
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return ct::sum(ct::for_loop(3, [&](auto, auto s) { return s + x; }, 0.0));
#else
  return ct::sum(ct::for_loop(3, [&](auto, auto s) { return s + x; }, ct::zeros<3>()));
#endif
};

int main() { return ct::compiled(f)(ct::tensor<double, 3>{}) == 0 ? 0 : 1; }
