// SPDX-License-Identifier: BSL-1.0
// Reads at the number of the iteration: rows of a tensor from outside are inputs of the body, without a check, where all of
// them are known to exist.
#include "../traced.hpp"

#include <cstdint>
#include <tuple>

namespace ct = cotangent;
using traced::call;
using vec = ct::tensor<double, 4>;
using mat = ct::tensor<double, 3, 2>;

/// The number of nodes of an operation.
template <class Op, class F, class... Args> consteval int count_of() {
  auto const& g = traced::call_of<F, Args...>::graph;
  int n = 0;
  for (int k = 0; k < g.node_count; ++k) n += g.nodes[k].op == ct::info_of<Op>();
  return n;
}

// x(i) and x(i + 1), fewer iterations than rows.
inline constexpr auto pairs = [](auto x) { return ct::for_loop(3, [&](auto i, auto s) { return s * x(i) + x(i + 1); }, 1.0); };
static_assert(call(ct::compiled(pairs))(vec{2, 3, 4, 5}) == ((2. + 3) * 3 + 4) * 4 + 5);
static_assert(call(ct::grad(pairs))(vec{2, 3, 4, 5}) == vec{12, 4 * (3 + 5), 4 + 19, 1});
static_assert(call(ct::jvp(pairs))(vec{2, 3, 4, 5}, vec{0, 1, 0, 0}).second == 32);
static_assert(count_of<ct::op::gather, decltype(ct::compiled(pairs)), vec>() == 0);
static_assert(count_of<ct::op::gather, decltype(ct::grad(pairs)), vec>() == 0);
inline constexpr auto slope = [](auto x) { return ct::sum(ct::grad(pairs)(x)); };
static_assert(call(ct::jvp(slope))(vec{2, 3, 4, 5}, vec{1, 0, 0, 0}).second == 4 + 3);
static_assert(call(ct::grad(slope))(vec{2, 3, 4, 5})(0) == 4 + 3);

// From the last iteration to the first, also with more rows than iterations.
inline constexpr auto backward = [](auto x) {
  return ct::for_loop<ct::loop{.reverse = true}>(3, [&](auto i, auto s) { return 2.0 * s + x(i) * x(i); }, 0.0);
};
static_assert(call(ct::compiled(backward))(vec{2, 3, 4, 5}) == 4 * 16 + 2 * 9 + 4);
static_assert(call(ct::grad(backward))(vec{2, 3, 4, 5}) == vec{4, 12, 32, 0});
static_assert(call(ct::compiled(backward))(ct::tensor<double, 3>{2, 3, 4}) == 4 * 16 + 2 * 9 + 4);
static_assert(call(ct::grad(backward))(ct::tensor<double, 3>{2, 3, 4}) == ct::tensor<double, 3>{4, 12, 32});
static_assert(count_of<ct::op::gather, decltype(ct::grad(backward)), vec>() == 0);

// Rows of matrices, twice the same row, columns, and reads at other numbers than that of the iteration.
inline constexpr auto rows = [](auto m, auto v) {
  return ct::for_loop(3, [&](auto i, auto s) { return s + ct::dot(m(i), m(i)) * v(2 - i) + m(i, 1) * m(0, 0); }, 0.0);
};
static_assert(call(ct::compiled(rows))(mat{{1, 2}, {3, 4}, {5, 6}}, ct::tensor<double, 3>{1, 2, 3}) == 5 * 3 + 25 * 2 + 61 + 12);
static_assert(call(ct::grad<0, 1>(rows))(mat{{1, 2}, {3, 4}, {5, 6}}, ct::tensor<double, 3>{1, 2, 3}) ==
              std::tuple(mat{{6 + 12, 12 + 1}, {12, 16 + 1}, {10, 12 + 1}}, ct::tensor<double, 3>{61, 25, 5}));

// Beyond the last row: refused or found at the call, never read as a row.
inline constexpr auto beyond = [](auto x) { return ct::for_loop(4, [&](auto i, auto s) { return s + x(i + 1); }, 0.0); };
static_assert(count_of<ct::op::gather, decltype(ct::compiled(beyond)), vec>() == 1);
inline constexpr auto counted = [](auto x, auto n) { return ct::for_loop(n, [&](auto i, auto s) { return s + x(i) * x(i); }, 0.0); };
static_assert(count_of<ct::op::gather, decltype(ct::compiled(counted)), vec, std::int64_t>() == 1);
static_assert(call(ct::compiled(counted))(vec{1, 2, 3, 4}, std::int64_t{2}) == 5);
static_assert(call(ct::compiled(counted))(vec{1, 2, 3, 4}, std::int64_t{0}) == 0);

// Loops in loops: each reads at its own number; x at the outer number in the inner loop is a value of the outer body.
inline constexpr auto table = [](auto m) {
  return ct::for_loop(
      3,
      [&](auto i, auto s) {
        return ct::for_loop(
            2, [&](auto j, auto t) { return t + m(i)(j) * (1.0 + ct::convert<double>(j)) + m(i, 0); }, s);
      },
      0.0);
};
static_assert(call(ct::compiled(table))(mat{{1, 2}, {3, 4}, {5, 6}}) == (1 + 4 + 2) + (3 + 8 + 6) + (5 + 12 + 10));
static_assert(call(ct::grad(table))(mat{{1, 2}, {3, 4}, {5, 6}}) == mat{{3, 2}, {3, 2}, {3, 2}});

// No iterations, and one row.
inline constexpr auto never = [](auto x) { return ct::for_loop(0, [&](auto i, auto s) { return s * x(i); }, 2.0); };
static_assert(call(ct::compiled(never))(vec{1, 2, 3, 4}) == 2 && call(ct::grad(never))(vec{1, 2, 3, 4}) == vec{});
inline constexpr auto once = [](auto x) { return ct::for_loop(1, [&](auto i, auto s) { return s * x(i) * x(i); }, 2.0); };
static_assert(call(ct::grad(once))(ct::tensor<double, 1>{3}) == ct::tensor<double, 1>{12});

// A gradient in the body, and a scan whose body reads another tensor at its own number.
inline constexpr auto descends = [](auto t) {
  return ct::for_loop(4, [&](auto i, auto s) { return s - 0.5 * ct::grad([&](auto y) { return y * y * t(i); })(s); }, 1.0);
};
static_assert(call(ct::compiled(descends))(vec{.5, .25, .5, 0}) == .5 * .75 * .5);
static_assert(call(ct::grad(descends))(vec{.5, .25, .5, 0}) == vec{-.75 * .5, -.5 * .5, -.5 * .75, -.5 * .75 * .5});

// Integers and booleans are read by row, too, and have no derivative.
inline constexpr auto chosen = [](auto x, auto k) {
  return ct::for_loop(4, [&](auto i, auto s) { return s + ct::select(k(i) > 1, x(i), 2.0 * x(i)); }, 0.0);
};
static_assert(call(ct::grad(chosen))(vec{1, 2, 3, 4}, ct::tensor<std::int32_t, 4>{0, 1, 2, 3}) == vec{2, 2, 1, 1});
