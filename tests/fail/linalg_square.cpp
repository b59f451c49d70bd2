// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: decompositions and linear systems need square matrices
// EXPECT: columns_of_matrix<2>
// ERRORS: 1
// LINES: clang 27
#include <cotangent/cotangent.hpp>
#include <cotangent/linalg.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto a) { return ct::inverse(a); };

int main() {
#ifdef REFUSED
  ct::tensor<float, 3, 2> a;
#else
  ct::tensor<float, 3, 3> a;
#endif
  auto y = ct::compiled(f)(a);
  return y(0, 0) == 0 ? 0 : 1;
}
