// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: einsum: every letter of the result must occur there once, and in an operand
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/linalg.hpp>

namespace ct = cotangent;

#ifdef REFUSED
inline constexpr auto f = [](auto a, auto b) { return ct::einsum<"ij,jk->il">(a, b); };
#else
inline constexpr auto f = [](auto a, auto b) { return ct::einsum<"ij,jk->ik">(a, b); };
#endif

int main() {
  ct::tensor<float, 3, 3> a, b;
  auto y = ct::compiled(f)(a, b);
  return y(0, 0) == 0 ? 0 : 1;
}
