// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: a fractional literal must not be combined with an integer expression; convert the expression
// EXPECT: literal_of<double>
// EXPECT: integer_element<int>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto half = [](auto x) {
#ifdef REFUSED
  return x * 0.5;
#else
  return ct::convert<double>(x) * 0.5;
#endif
};

int main() {
  ct::tensor<int, 3> x{1, 2, 3};
  auto y = ct::compiled(half)(x);
  return y(1) == 1 ? 0 : 1;
}
