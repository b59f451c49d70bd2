// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: squeeze: the axis must have size 1
// EXPECT: cotangent: this function needs matrices: an operand of at least two axes
// EXPECT: cotangent: this function needs vectors: an operand of one axis
// EXPECT: cotangent: cross: the last axis must have size 3
// EXPECT: cotangent: this function needs an extent that is a number, not a name
// EXPECT: cotangent: pad: two numbers of at least 0 must be given for each axis
// EXPECT: cotangent: repeat, tile: the number of copies must be at least 0
// ERRORS: 7
// LINES: g++ 170, clang 170
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

#ifdef REFUSED
inline constexpr auto squeezed = [](auto x) { return ct::squeeze<1>(x); };
inline constexpr auto lower = [](auto x) { return ct::tril(x(0)); };
inline constexpr auto product = [](auto x) { return ct::outer(x, x(0)); };
inline constexpr auto crossed = [](auto x) { return ct::cross(x, x); };
inline constexpr auto edged = [](auto y) { return ct::pad_edge<1, 0>(y); };
inline constexpr auto padded = [](auto x) { return ct::pad<1, 1>(x); };
inline constexpr auto tiled = [](auto x) { return ct::tile<2, -1>(x); };
#else
inline constexpr auto squeezed = [](auto x) { return ct::squeeze<1>(ct::expand<1>(x)); };
inline constexpr auto lower = [](auto x) { return ct::tril(x); };
inline constexpr auto product = [](auto x) { return ct::outer(x(1), x(0)); };
inline constexpr auto crossed = [](auto x) { return ct::cross(ct::pad<0, 0, 0, 1>(x), ct::pad<0, 0, 1, 0>(x)); };
inline constexpr auto edged = [](auto y) { return ct::pad_edge<1, 0>(ct::reshape<4>(y)); };
inline constexpr auto padded = [](auto x) { return ct::pad<1, 1, 0, 0>(x); };
inline constexpr auto tiled = [](auto x) { return ct::tile<2, 0>(x); };
#endif

int main() {
  ct::tensor<double, 2, 2> x{{1, 2}, {3, 4}};
  ct::tensor<double, 2, 2> const y = x;
#ifdef REFUSED
  ct::tensor<double, "n"> z(4);
#else
  ct::tensor<double, 2, 2> z;
#endif
  auto const all = [](auto const&...) { return 0; };
  return all(ct::compiled(squeezed)(y), ct::compiled(lower)(y), ct::compiled(product)(y), ct::compiled(crossed)(y), ct::compiled(edged)(z),
             ct::compiled(padded)(y), ct::compiled(tiled)(y));
}
