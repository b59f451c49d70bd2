// SPDX-License-Identifier: BSL-1.0
// Functions of independent rows, batched or one after the other, with their gradients.
#include <cotangent/cotangent.hpp>

#include <tuple>
#include <type_traits>
#include <utility>

namespace ct = cotangent;

namespace {
using matrix = ct::tensor<double, 2, 3>;
using vector = ct::tensor<double, 2>;
constexpr matrix x{{1, 2, 3}, {4, 5, 7}};
constexpr bool near(double a, double b) { return a - b < 1e-12 && b - a < 1e-12; }

// ---- straight bodies; captured expressions; several arguments and results

// [shifted]
inline constexpr auto sums = [](auto w, auto rows, auto shifts) {
  return ct::map([&](auto row, auto shift) { return w * ct::sum(row) + shift; }, rows, shifts);
};
// [/shifted]
static_assert(ct::compiled(sums)(2.0, x, vector{10, 20}) == vector{22, 52});
inline constexpr auto total = [](auto w, auto rows, auto shifts) { return ct::sum(sums(w, rows, shifts)); };
constexpr auto slopes = ct::grad<0, 1, 2>(total)(2.0, x, vector{10, 20});
static_assert(std::get<0>(slopes) == 22 && std::get<1>(slopes) == matrix{{2, 2, 2}, {2, 2, 2}} && std::get<2>(slopes) == vector{1, 1});
static_assert(ct::jvp<0>(total)(2.0, x, vector{10, 20}, 1.0).second == 22);

inline constexpr auto two_results = [](auto rows) {
  auto const [a, b] = ct::map([](auto row) { return std::pair(ct::sum(row), row * 2); }, rows);
  return std::pair(a, ct::sum(b));
};
static_assert(ct::compiled(two_results)(x).first == vector{6, 16} && ct::compiled(two_results)(x).second == 44);
inline constexpr auto same_row = [](auto rows, auto w) { return ct::map([&](auto) { return w * w; }, rows); };
static_assert(ct::compiled(same_row)(x, 3.0) == vector{9, 9} && ct::grad<1>([](auto rows, auto w) { return ct::sum(same_row(rows, w)); })(x, 3.0) == 12);
static_assert(ct::compiled(sums)(2.0, ct::tensor<double, 0, 3>(), ct::tensor<double, 0>()) == ct::tensor<double, 0>());
static_assert(std::is_same_v<decltype(ct::compiled(sums)(2.0, ct::tensor<double, "n", 3>(4), ct::tensor<double, "n">(4))), ct::tensor<double, "n">>);

// ---- bodies with loops and branches run row by row

inline constexpr auto powers = [](auto w, auto rows) {
  return ct::map([&](auto row) { return ct::for_loop(3, [&](auto, auto s) { return s * w; }, ct::sum(row)); }, rows);
};
static_assert(ct::compiled(powers)(2.0, x) == vector{48, 128});
constexpr auto of_powers = ct::grad<0, 1>([](auto w, auto rows) { return ct::sum(powers(w, rows)); })(2.0, x);
static_assert(std::get<0>(of_powers) == 264 && std::get<1>(of_powers) == matrix{{8, 8, 8}, {8, 8, 8}});
inline constexpr auto branches = [](auto rows) {
  return ct::map([](auto row) { return ct::cond(row(0) > 2, [](auto r) { return ct::sum(r); }, [](auto r) { return ct::prod(r); })(row); }, rows);
};
static_assert(ct::compiled(branches)(x) == vector{6, 16} && ct::grad([](auto rows) { return ct::sum(branches(rows)); })(x) == matrix{{6, 3, 2}, {1, 1, 1}});
// a loop that no row changes is no obstacle, and stands once
inline constexpr auto beside = [](auto w, auto rows) {
  auto const cube = ct::for_loop(3, [&](auto, auto s) { return s * w; }, w * 0 + 1);
  return ct::sum(ct::map([&](auto row) { return cube * ct::sum(row); }, rows));
};
static_assert(ct::compiled(beside)(2.0, x) == 176 && ct::grad<0>(beside)(2.0, x) == 264);

// ---- in each other, and in transformations

inline constexpr auto nested = [](auto rows) {
  return ct::sum(ct::map([](auto row) { return ct::sum(ct::map([](auto z) { return ct::sin(z) * z; }, row)); }, rows));
};
static_assert(near(ct::compiled(nested)(x), ct::compiled([](auto rows) { return ct::sum(ct::sin(rows) * rows); })(x)));
static_assert(near(ct::grad(nested)(x)(1, 2), 5.934302379121921));
inline constexpr auto inner = [](auto rows) { return ct::map([](auto row) { return ct::grad([](auto z) { return ct::sum(z * z * z); })(row); }, rows); };
static_assert(ct::compiled(inner)(x) == matrix{{3, 12, 27}, {48, 75, 147}});
static_assert(ct::vmap([](auto rows) { return ct::map([](auto row) { return row * row; }, rows); })(x) == matrix{{1, 4, 9}, {16, 25, 49}});
} // namespace

int main() {}
