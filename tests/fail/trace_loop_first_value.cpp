// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: loop: a first value must be a number, an expression, or a tuple, array or Boost.Hana struct of expressions
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return ct::sum(ct::for_loop(3, [&](auto, auto s) { return s + x; }, ct::tensor<double, 2>{}));
#else
  return ct::sum(ct::for_loop(3, [&](auto, auto s) { return s + x; }, ct::zeros<2>()));
#endif
};

int main() { return ct::compiled(f)(0.0) == 0 ? 0 : 1; }
