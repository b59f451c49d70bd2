// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: fixed_point: the step must return a value like the one that it takes
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

#ifdef REFUSED
inline constexpr auto f = [](auto a) { return ct::sum(ct::fixed_point([](auto x, auto c) { return ct::cos(x) + c; }, 1.0, a)); };
#else
inline constexpr auto f = [](auto a) { return ct::sum(ct::fixed_point([](auto x, auto c) { return ct::cos(x) + c; }, a * 0, a)); };
#endif

int main() {
  ct::tensor<double, 2> const x{0.1, 0.2};
  return ct::compiled(f)(x) > 0 ? 0 : 1;
}
