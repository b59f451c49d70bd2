// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: this layer needs an operand of at least one axis
// EXPECT: cotangent: group_norm: the number of groups must divide the extent of the last axis, which must be a number
// EXPECT: cotangent: attention: queries, keys and values must be matrices
// ERRORS: 3
// LINES: g++ 80, clang 80
#include <cotangent/cotangent.hpp>
#include <cotangent/nn.hpp>

namespace ct = cotangent;

#ifdef REFUSED
inline constexpr auto rows = [](auto x) { return ct::layer_norm(ct::sum(x), 1, 0); };
inline constexpr auto groups = [](auto x) { return ct::group_norm<3>(x, 1, 0); };
inline constexpr auto seen = [](auto x) { return ct::attention(x, x(0), x); };
#else
inline constexpr auto rows = [](auto x) { return ct::layer_norm(x, 1, 0); };
inline constexpr auto groups = [](auto x) { return ct::group_norm<2>(x, 1, 0); };
inline constexpr auto seen = [](auto x) { return ct::attention(x, x, x); };
#endif

int main() {
  ct::tensor<double, 2, 2> const x{{1, 2}, {3, 4}};
  auto const all = [](auto const&...) { return 0; };
  return all(ct::compiled(rows)(x), ct::compiled(groups)(x), ct::compiled(seen)(x));
}
