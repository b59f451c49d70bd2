// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: this layer needs an operand of at least one axis
// EXPECT: cotangent: group_norm: the number of groups must divide the extent of the last axis, which must be a number
// EXPECT: cotangent: attention: queries, keys and values must be matrices
// EXPECT: cotangent: norm: the order must be at least 1
// ERRORS: 4
// LINES: g++ 107, clang 107
#include <cotangent/cotangent.hpp>
#include <cotangent/nn.hpp>

namespace ct = cotangent;

#ifdef REFUSED
inline constexpr auto rows = [](auto x) { return ct::layer_norm(ct::sum(x), 1, 0); };
inline constexpr auto groups = [](auto x) { return ct::group_norm<3>(x, 1, 0); };
inline constexpr auto seen = [](auto x) { return ct::attention(x, x(0), x); };
inline constexpr auto length = [](auto x) { return ct::norm<0>(x); };
#else
inline constexpr auto rows = [](auto x) { return ct::layer_norm(x, 1, 0); };
inline constexpr auto groups = [](auto x) { return ct::group_norm<2>(x, 1, 0); };
inline constexpr auto seen = [](auto x) { return ct::attention(x, x, x); };
inline constexpr auto length = [](auto x) { return ct::norm<3>(x); };
#endif

int main() {
  ct::tensor<double, 2, 2> const x{{1, 2}, {3, 4}};
  auto const all = [](auto const&...) { return 0; };
  return all(ct::compiled(rows)(x), ct::compiled(groups)(x), ct::compiled(seen)(x), ct::compiled(length)(x));
}
