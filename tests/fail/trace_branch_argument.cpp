// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: case_of, cond: an argument must be a number, an expression, or a tuple, array or Boost.Hana struct of expressions
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return ct::cond(x > 0, [](auto z) { return ct::sum(z); }, [](auto) { return 0; })(ct::tensor<double, 2>{});
#else
  return ct::cond(x > 0, [](auto z) { return ct::sum(z); }, [](auto) { return 0; })(ct::zeros<2>());
#endif
};

int main() { return ct::compiled(f)(0.0) == 0 ? 0 : 1; }
