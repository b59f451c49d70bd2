// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: gradient, Jacobian: the function must return float or double
// ERRORS: 1
#include <cotangent/cotangent.hpp>

#include <tuple>

namespace ct = cotangent;

#ifdef REFUSED
inline constexpr auto f = [](auto x) { return std::tuple(x * x, ct::argmax<0>(x)); };
#else
inline constexpr auto f = [](auto x) { return std::tuple(x * x, ct::sum(x)); };
#endif

int main() {
  ct::tensor<double, 2> const x{1, 2};
  auto const j = ct::jacobian(f)(x);
  return std::get<0>(j)(1, 1) == 4 ? 0 : 1;
}
