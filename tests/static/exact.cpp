// SPDX-License-Identifier: BSL-1.0
// What ct::exact keeps from being rewritten, alone and inside other functions.
#include <cotangent/cotangent.hpp>

#include <utility>

namespace ct = cotangent;

namespace {

constexpr auto scaled_sum = [](auto x) { return ct::sum(x * 0.1); };
constexpr auto residual = [](auto x, auto y) { return x * y - 1.0; };

constexpr auto exact_inside = [](auto x) { return ct::exact(scaled_sum)(x) * 1.0; };
constexpr auto rewritten_inside = [](auto x) { return ct::compiled(scaled_sum)(x) * 1.0; };
constexpr auto both = [](auto x) { return std::pair(ct::exact(scaled_sum)(x), scaled_sum(x)); };
constexpr auto exact_residual = [](auto x, auto y) { return ct::exact(residual)(x, y) + 0.0; };
constexpr auto slope = [](auto x) { return ct::grad(ct::exact(scaled_sum))(x); };

// 0.1 * x in doubles, added up, is not 0.1 times the sum.
constexpr ct::tensor<double, 2> x{0.7, 0.1};
constexpr double each = 0.7 * 0.1 + 0.1 * 0.1, whole = (0.7 + 0.1) * 0.1;
static_assert(each != whole);

static_assert(ct::exact(scaled_sum)(x) == each);
static_assert(ct::compiled(scaled_sum)(x) == whole);
static_assert(ct::compiled(exact_inside)(x) == each);
static_assert(ct::compiled(rewritten_inside)(x) == whole);
static_assert(ct::compiled(both)(x) == std::pair(each, whole), "equal nodes inside and outside are not merged");
static_assert(ct::grad(exact_inside)(x)(0) == 0.1 && ct::compiled(slope)(x)(1) == 0.1);

// A product that is rounded before it is subtracted from.
constexpr double near_one = 1 + 0x1p-30, inverse = 1 - 0x1p-30;
static_assert(ct::compiled(exact_residual)(near_one, inverse) == 0);

constexpr int nodes(ct::extend::graph_view const& g, ct::operation const* op) {
  int n = 0;
  for (int k = 0; k < g.node_count; ++k) n += g.nodes[k].op == op ? 1 : 0;
  return n;
}
template <auto const& F, class... Args>
constexpr int count_of(ct::operation const* op) {
  return nodes(ct::program<decltype(ct::compiled(F)), Args...>::graph, op);
}
constexpr auto free_residual = [](auto a, auto b, auto c) { return a * b - c; };
constexpr auto kept_residual = [](auto a, auto b, auto c) { return ct::exact(free_residual)(a, b, c) + c; };
using vector = ct::tensor<double, 8>;
static_assert(count_of<kept_residual, vector, vector, vector>(ct::info_of<ct::op::multiply>()) == 1);
static_assert(count_of<kept_residual, vector, vector, vector>(ct::info_of<ct::op::subtract>()) == 1);
static_assert(count_of<kept_residual, vector, vector, vector>(ct::info_of<ct::op::multiply_add>()) == 0);

} // namespace
