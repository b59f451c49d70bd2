// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: dropout: the rate must be at least 0 and less than 1
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/random.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return ct::dropout(x, 1.5, 7);
#else
  return ct::dropout(x, 0.5, 7);
#endif
};

int main() {
  ct::tensor<double, 3> x{1, 2, 3};
  auto y = ct::compiled(f)(x);
  return y(0) < 3 ? 0 : 1;
}
