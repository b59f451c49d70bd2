// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: external: the function must take a ct::view for each tensor and a number for each number, and return a tensor or a number of the same element; its rule returns one like the argument, or a std::tuple for several
// ERRORS: 1
// LINES: clang 34
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

#ifdef REFUSED
inline constexpr auto value = [](ct::view<double const, 3> x) { return x(0); };
#else
inline constexpr auto value = [](ct::view<double const, 2> x) { return x(0); };
#endif
inline constexpr auto f = ct::external(value, [](ct::view<double const, 2>, double, double dy) { return ct::tensor<double, 2>{dy, 0}; });

int main() {
  ct::tensor<double, 2> x{1, 2};
  return ct::compiled([](auto y) { return f(y); })(x) == 1 ? 0 : 1;
}
