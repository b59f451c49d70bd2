// SPDX-License-Identifier: BSL-1.0
// Transformations in bodies of loops, with values captured from outside.
#include "../traced.hpp"

namespace ct = cotangent;
using traced::call;

inline constexpr ct::tensor<double, 2> point{1, 2};

// 6 s y x is added each time, where y = x x.
inline constexpr auto second_derivatives = [](auto x) {
  auto const y = x * x;
  auto const cubes = [&](auto z) { return ct::sum(z * z * z * y); };
  return ct::sum(ct::for_loop(2, [&](auto, auto s) { return s + ct::hvp(cubes)(s, x); }, x));
};
static_assert(call(ct::compiled(second_derivatives))(point) == 1 * 7 * 7 + 2 * 49 * 49);
static_assert(call(ct::grad(second_derivatives))(point)(0) == 7 * 7 + 2 * 7 * 18, "of x (1 + 6 x x x) (1 + 6 x x x)");

// 2 s y is added each time: column sums of a diagonal matrix.
inline constexpr auto jacobians = [](auto x) {
  auto const y = x * x;
  auto const squares = [&](auto z) { return z * z * y; };
  return ct::sum(ct::for_loop(2, [&](auto, auto s) { return s + ct::sum(ct::jacobian(squares)(s), ct::axes<0>); }, x));
};
static_assert(call(ct::compiled(jacobians))(point) == 1 * 3 * 3 + 2 * 9 * 9);

// Row by row: 1 -> 4 -> 19, 2 -> 7 -> 52.
inline constexpr auto rows = [](auto x) {
  auto const y = ct::sum(x);
  return ct::sum(ct::for_loop(2, [&](auto, auto s) { return ct::vmap([&](auto z) { return z * z + y; })(s); }, x));
};
static_assert(call(ct::compiled(rows))(point) == 19 + 52);
