// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: the function must not use captures, since it is traced at compile time; pass values as arguments
// ERRORS: 1
// LINES: g++ 16, clang 34
#include <cotangent/sparse.hpp>

namespace ct = cotangent;

#ifdef REFUSED
inline constexpr auto slopes = [](auto x, auto w) {
  auto const y = ct::sparse_jacobian([&](auto z) { return z * z * w; })(x);
  return ct::sum(y.values) + ct::sum(y.times(x));
};
#else
inline constexpr auto slopes = [](auto x, auto w) {
  auto const y = ct::sparse_jacobian([&](auto z, auto v) { return z * z * v; })(x, w); // (nothing is captured)
  return ct::sum(y.values) + ct::sum(y.times(x));
};
#endif

int main() {
  double const y = ct::compiled(slopes)(ct::tensor<double, 3>{2, 3, 4}, 2.0);
  return y > 0 ? 0 : 1;
}
