// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: root: the first value must be a float or double, or an expression of them
// EXPECT: cotangent: root: the residual must be a value like the first value
// EXPECT: cotangent: root: the first value must be a number or a vector; flatten a tensor of several axes
// EXPECT: cotangent: root of a vector solves linear systems; include cotangent/linalg.hpp
// ERRORS: 4
// LINES: g++ 120, clang 120
#include <cotangent/cotangent.hpp>
#ifndef REFUSED
#  include <cotangent/linalg.hpp>
#endif

namespace ct = cotangent;

inline constexpr auto square = [](auto x, auto c) { return x * x - c; };
#ifdef REFUSED
inline constexpr auto of_integer = [](auto a) { return ct::sum(ct::root(square, ct::convert<int>(ct::sum(a)), a)); };
inline constexpr auto of_number = [](auto a) { return ct::sum(ct::root(square, 1.0, a)); };
inline constexpr auto of_matrix = [](auto a) { return ct::sum(ct::root(square, ct::reshape<1, 2>(a), ct::reshape<1, 2>(a))); };
#else
inline constexpr auto of_integer = [](auto a) { return ct::root(square, ct::sum(a), ct::sum(a)); };
inline constexpr auto of_number = [](auto a) { return ct::sum(ct::root(square, 1 + 0 * a, a)); };
inline constexpr auto of_matrix = [](auto a) { return ct::sum(ct::root(square, a, a)); };
#endif
inline constexpr auto of_vector = [](auto a) { return ct::sum(ct::root(square, a, a)); };

int main() {
  ct::tensor<double, 2> const x{0.1, 0.2};
  auto const all = [](auto const&...) { return 0; };
  return all(ct::compiled(of_integer)(x), ct::compiled(of_number)(x), ct::compiled(of_matrix)(x), ct::compiled(of_vector)(x));
}
