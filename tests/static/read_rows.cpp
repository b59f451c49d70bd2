// SPDX-License-Identifier: BSL-1.0
// Rows that the body of a loop reads at the number of its iteration: which of them are scanned, and derivatives.
#include "../traced.hpp"

#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

namespace ct = cotangent;
using traced::call;

using vec = ct::tensor<double, 4>;

/// The number of operations of a kind in the simplified graph of a function and in all bodies of its loops.
template <class F, class... X> consteval int count_of(F, char const* name, X const&...) {
  ct::extend::graph_view const& g = traced::call_of<F, X...>::graph;
  int count = 0;
  for (std::int32_t i = 0; i < g.node_count; ++i) count += std::string_view(g.nodes[i].op->name) == name;
  return count;
}
template <class F, class... X> consteval int gathers(F f, X const&... x) {
  return count_of(f, "gather", x...) + count_of(f, "scatter_add", x...) + count_of(f, "update_rows", x...);
}

// Elements i and i + 1: s1 = x0 + x1, s2 = s1 x1 + x2, s3 = s2 x2 + x3.
inline constexpr auto chain = [](auto x) {
  return ct::for_loop(3, [&](auto i, auto s) { return s * x(i) + x(i + 1); }, 1.0);
};
inline constexpr vec at{2, 3, 4, 5};
static_assert(call(ct::compiled(chain))(at) == 81);
static_assert(call(ct::grad(chain))(at) == vec{12, 32, 23, 1});
static_assert(gathers(ct::compiled(chain), at) == 0 && gathers(ct::grad(chain), at) == 0);
static_assert(count_of(ct::compiled(chain), "rows_to_sequence", at) == 2);
inline constexpr auto slopes = [](auto x) { return ct::sum(ct::grad(chain)(x) * x); };
inline constexpr vec second = call(ct::grad(slopes))(at);
static_assert(call(ct::jvp(slopes))(at, vec{1, 0, 0, 0}).second == second(0));
static_assert(call(ct::jvp(slopes))(at, vec{0, 0, 1, 0}).second == second(2));
static_assert(call(ct::jvp(chain))(at, vec{0, 1, 0, 1}) == std::pair(81.0, 33.0));

// From the last iteration to the first; a limit next to a condition; a constant added from the left; the same row twice.
inline constexpr auto backward = [](auto x) {
  return ct::for_loop<ct::loop{.reverse = true}>(4, [&](auto i, auto s) { return s * 2 + x(i); }, 0.0);
};
static_assert(call(ct::value_and_grad(backward))(at) == std::pair(40. + 16 + 6 + 2, vec{1, 2, 4, 8}) && gathers(ct::grad(backward), at) == 0);
inline constexpr auto until = [](auto x) {
  return ct::while_loop<ct::loop{.max_iterations = 3}>([](auto, auto s) { return s < 14.0; },
                                                      [&](auto i, auto s) { return s + x(1 + i) * x(i + 1); }, 0.0);
};
static_assert(call(ct::value_and_grad(until))(at) == std::pair(25.0, vec{0, 6, 8, 0}) && gathers(ct::grad(until), at) == 0);
static_assert(count_of(ct::compiled(until), "rows_to_sequence", at) == 1);

// Rows of a matrix, of floats, and integers; no iteration, and one; a tensor that is also used as a whole.
using mat = ct::tensor<float, 3, 2>;
inline constexpr auto rows = [](auto m, auto k) {
  return ct::for_loop(
      3, [&](auto i, auto s) { return s * m(i, ct::all) + ct::convert<float>(k(i)) * ct::sum(m); }, ct::zeros<float, 2>());
};
inline constexpr auto sum_of_rows = [](auto m, auto k) { return ct::sum(rows(m, k)); };
inline constexpr auto unrolled = [](auto m, auto k) {
  ct::expr<float, 2> s = ct::zeros<float, 2>();
  for (int i = 0; i < 3; ++i) s = s * m(i) + ct::convert<float>(k(i)) * ct::sum(m);
  return ct::sum(s);
};
inline constexpr mat some{{1, 2}, {3, 4}, {5, 6}};
inline constexpr ct::tensor<std::int64_t, 3> weights{1, 0, 2};
static_assert(call(ct::value_and_grad(sum_of_rows))(some, weights) == call(ct::value_and_grad(unrolled))(some, weights));
static_assert(gathers(ct::grad(sum_of_rows), some, weights) == 0);
inline constexpr auto never = [](auto x) { return ct::for_loop(0, [&](auto i, auto s) { return s + x(i); }, x(1)); };
static_assert(call(ct::value_and_grad(never))(at) == std::pair(3.0, vec{0, 1, 0, 0}));
inline constexpr auto once = [](auto x) { return ct::for_loop(1, [&](auto i, auto s) { return s + x(i) * x(i); }, 0.0); };
static_assert(call(ct::value_and_grad(once))(ct::tensor<double, 1>{5}) == std::pair(25.0, ct::tensor<double, 1>{10}));

// A loop in a loop: the rows of the inner one are those of the row that the outer one reads. One that reads a part of a tensor
// in each iteration of another loop still gathers: all rows would take time in each.
inline constexpr auto table = [](auto m) {
  return ct::for_loop(
      3,
      [&](auto i, auto s) {
        auto const row = m(i);
        return ct::for_loop(2, [&](auto j, auto t) { return t * row(j) + 1.0f; }, s);
      },
      1.0f);
};
inline constexpr auto table_unrolled = [](auto m) {
  ct::expr<float> s = 1.0f;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j) s = s * m(i, j) + 1.0f;
  return s;
};
static_assert(call(ct::value_and_grad(table))(some) == call(ct::value_and_grad(table_unrolled))(some));
static_assert(gathers(ct::grad(table), some) == 0);
inline constexpr auto parts = [](auto x) {
  return ct::for_loop(
      2, [&](auto, auto s) { return ct::for_loop(3, [&](auto j, auto t) { return t * x(j); }, s); }, 1.0);
};
static_assert(call(ct::value_and_grad(parts))(at) == std::pair(576.0, vec{576, 384, 288, 0}));
static_assert(count_of(ct::compiled(parts), "gather", at) == 1);

// Rows that an iteration may lack, or a condition reads, are gathered, with the check of an index.
inline constexpr auto beyond = [](auto x) { return ct::for_loop(4, [&](auto i, auto s) { return s + x(i + 1); }, 0.0); };
static_assert(count_of(ct::compiled(beyond), "gather", at) == 1 && count_of(ct::compiled(beyond), "rows_to_sequence", at) == 0);
inline constexpr auto counted = [](auto x, auto n) { return ct::for_loop(n, [&](auto i, auto s) { return s + x(i); }, 0.0); };
static_assert(call(ct::compiled(counted))(at, std::int64_t{2}) == 5);
static_assert(count_of(ct::compiled(counted), "gather", at, std::int64_t{2}) == 1);

// A gradient in the body, with respect to the tensor that is read: of one iteration. The same row in a captured value is constant.
inline constexpr auto inner = [](auto x) {
  return ct::for_loop(
      4, [&](auto i, auto s) { return s + ct::sum(ct::grad([&](auto y) { return y(i) * y(i) * x(i); })(x)); }, 0.0);
};
static_assert(call(ct::value_and_grad(inner))(at) == std::pair(2. * (4 + 9 + 16 + 25), vec{8, 12, 16, 20}));

// In the body of a scan that is in the loop, and in a branch.
inline constexpr auto mixed = [](auto m, auto x) {
  return ct::for_loop(
      3,
      [&](auto i, auto s) {
        auto const chosen = ct::cond(s > 3.0, [&](auto v) { return v + x(i); }, [](auto v) { return v * 2.0; })(s);
        return chosen + ct::scan([&](auto c, auto z) { return std::pair(c + z * x(i), z); }, 0.0, m(i)).first;
      },
      1.0);
};
inline constexpr ct::tensor<double, 3, 2> given{{1, 2}, {3, 4}, {5, 6}};
// 2 + 6, 8 + 3 + 21, 32 + 4 + 44
static_assert(call(ct::compiled(mixed))(given, at) == 80);
static_assert(call(ct::grad<1>(mixed))(given, at) == vec{3 , 8, 12, 0});
