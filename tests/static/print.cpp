// SPDX-License-Identifier: BSL-1.0
// Printing is the identity to values and derivatives, is not merged, and is not repeated by gradients.
#include <cotangent/cotangent.hpp>

#include <cstdint>
#include <utility>

namespace ct = cotangent;

namespace {

inline constexpr auto cube = [](auto x) { return ct::print(x, "a label of more than eight letters") * x * x; };
static_assert(ct::compiled(cube)(2.0) == 8);
static_assert(ct::grad(cube)(2.0) == 12);
static_assert(ct::value_and_grad(cube)(2.0F) == std::pair(8.0F, 12.0F));
static_assert(ct::jvp(cube)(2.0, 0.5).second == 6);
static_assert(ct::grad(ct::grad(cube))(2.0) == 12);

// ---- every element type, no label, and a constant

inline constexpr auto of_all = [](auto x) {
  auto const positive = ct::print(x > 1);
  auto const number = ct::print(ct::convert<std::int64_t>(x), "n");
  return ct::select(positive, x, -x) + ct::convert<double>(number) + ct::convert<double>(ct::print(ct::convert<std::int32_t>(x)));
};
static_assert(ct::value_and_grad(of_all)(2.5) == std::pair(6.5, 1.0));

// ---- rows, Jacobians, bodies of loops

using two = ct::tensor<double, 2>;
inline constexpr auto squares = [](auto x) { return ct::print(x * x, "squares"); };
inline constexpr auto jacobian = ct::jacobian(squares)(two{1, 3});
static_assert(jacobian(0, 0) == 2 && jacobian(0, 1) == 0 && jacobian(1, 1) == 6);
inline constexpr auto rows = ct::vmap(squares)(ct::tensor<double, 2, 2>{{1, 2}, {3, 4}});
static_assert(rows(0, 1) == 4 && rows(1, 0) == 9);
inline constexpr auto power = [](auto x) {
  return ct::for_loop(3, [&](auto, auto y) { return ct::print(y * x, "y"); }, x);
};
static_assert(ct::value_and_grad(power)(2.0) == std::pair(16.0, 32.0));

// ---- how often a program prints

template <class P> consteval int prints() {
  ct::extend::graph_view const& g = P::graph;
  int n = 0;
  for (std::int32_t k = 0; k < g.node_count; ++k) n += g.nodes[k].op == ct::info_of<ct::op::print>() ? 1 : 0;
  return n;
}
template <class F> inline constexpr int prints_of = prints<ct::program<F, two>>();

inline constexpr auto once = [](auto x) { return ct::sum(ct::square(ct::print(ct::sin(x), "s"))); };
inline constexpr auto twice = [](auto x) { return ct::sum(ct::print(x, "x") * ct::print(x, "x")); };
inline constexpr auto once_with_gradient = ct::value_and_grad(once);
inline constexpr auto once_in_gradient = ct::grad(once);
static_assert(prints_of<decltype(once)> == 1 && prints_of<decltype(twice)> == 2);
static_assert(prints_of<decltype(once_with_gradient)> == 1 && prints_of<decltype(once_in_gradient)> == 1);

// ---- values that no output needs are printed, too

inline constexpr auto linear = [](auto x) { return 3.0 * ct::sum(ct::print(2.0 * x, "linear")); };
inline constexpr auto unused = [](auto x) {
  (void)ct::print(ct::print(ct::exp(x), "inner") * x, "outer");
  return ct::sum(x);
};
inline constexpr auto in_loop = [](auto x) {
  return ct::sum(ct::for_loop(3, [&](auto, auto s) { return ct::print(s + x, "s"); }, x));
};
inline constexpr auto in_rows = [](auto x) { return ct::sum(ct::vmap([](auto r) { return ct::print(2.0 * r, "row"); })(x)); };
inline constexpr auto inside = [](auto x) { return ct::sum(ct::grad(linear)(x) * x); };
inline constexpr auto half = [](auto x) {
  (void)ct::print(2.0 * x, "x");
  return ct::convert<ct::bfloat16>(x);
};
inline constexpr auto of_linear = ct::grad(linear);
inline constexpr auto of_unused = ct::grad(unused);
inline constexpr auto of_loop = ct::grad(in_loop);
inline constexpr auto of_rows = ct::grad(in_rows);
inline constexpr auto of_inside = ct::grad(inside);
static_assert(prints_of<decltype(of_linear)> == 1 && of_linear(two{1, 2}) == two{6, 6});
static_assert(prints_of<decltype(unused)> == 2 && prints_of<decltype(of_unused)> == 2 && of_unused(two{1, 2}) == two{1, 1});
static_assert(prints_of<decltype(of_loop)> == 1 && of_loop(two{1, 2}) == two{4, 4});
static_assert(prints_of<decltype(of_rows)> == 1 && of_rows(two{1, 2}) == two{2, 2});
static_assert(prints_of<decltype(inside)> == 1 && prints_of<decltype(of_inside)> == 1 && of_inside(two{1, 2}) == two{6, 6});
static_assert(prints_of<decltype(half)> == 1 && float(ct::compiled(half)(two{1, 2})(1)) == 2);

} // namespace
