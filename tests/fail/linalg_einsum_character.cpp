// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: einsum: the subscripts must be letters, with commas between operands
// EXPECT: position_of_character<2>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/linalg.hpp>

namespace ct = cotangent;

#ifdef REFUSED
inline constexpr auto f = [](auto a, auto b) { return ct::einsum<"ij.jk->ik">(a, b); };
#else
inline constexpr auto f = [](auto a, auto b) { return ct::einsum<"ij,jk->ik">(a, b); };
#endif

int main() {
  ct::tensor<float, 3, 3> a, b;
  auto y = ct::compiled(f)(a, b);
  return y(0, 0) == 0 ? 0 : 1;
}
