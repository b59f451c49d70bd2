// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: outer: both operands must be vectors
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/linalg.hpp>

namespace ct = cotangent;

#ifdef REFUSED
inline constexpr auto f = [](auto a, auto b) { return ct::outer(a, b); };
#else
inline constexpr auto f = [](auto a, auto b) { return ct::outer(a(0), b(0)); };
#endif

int main() {
  ct::tensor<float, 3, 3> a, b;
  auto y = ct::compiled(f)(a, b);
  return y(0, 0) == 0 ? 0 : 1;
}
