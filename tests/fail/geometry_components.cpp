// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: geometry: the last axis must have the components that this function takes
// EXPECT: components_needed<4>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/geometry.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto q, auto x) { return ct::quaternion_rotate(q, x); };

int main() {
#ifdef REFUSED
  ct::tensor<float, 3> q;
#else
  ct::tensor<float, 4> q;
#endif
  auto y = ct::compiled(f)(q, ct::tensor<float, 3>{1, 2, 3});
  return y(0) == 1 ? 1 : 0;
}
