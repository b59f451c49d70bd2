// SPDX-License-Identifier: BSL-1.0
// Branches of traced functions, and their derivatives, run by the compiler.
#include "../functions.hpp"
#include "../traced.hpp"

#include <array>
#include <cstdint>
#include <tuple>
#include <utility>

namespace ct = cotangent;
using traced::call;

constexpr bool near(double a, double b) { return a - b < 1e-12 && b - a < 1e-12; }

inline constexpr auto piecewise = [](auto x, auto y) {
  return ct::cond(x > 0, [&](auto z) { return z * z * y; }, [](auto z) { return -z; })(x);
};
static_assert(call(ct::compiled(piecewise))(3.0, 2.0) == 18 && call(ct::compiled(piecewise))(-3.0, 2.0) == 3);
static_assert(call(ct::grad<0, 1>(piecewise))(3.0, 2.0) == std::tuple(12.0, 9.0));
static_assert(call(ct::grad<0, 1>(piecewise))(-3.0, 2.0) == std::tuple(-1.0, 0.0));
static_assert(call(ct::grad(ct::grad(piecewise)))(3.0, 2.0) == 4);
static_assert(call(ct::jvp<0, 1>(piecewise))(3.0, 2.0, 1.0, 1.0) == std::pair(18.0, 21.0));

// An index without a branch passes the arguments through; indices of either integer element.
inline constexpr auto chosen = [](auto k, auto x) {
  return ct::case_of(k, [](auto z) { return z * z; }, [&](auto z) { return z * x * x; }, [](auto) { return 5; })(x);
};
static_assert(call(ct::compiled(chosen))(std::int64_t{0}, 3.0) == 9 && call(ct::compiled(chosen))(std::int32_t{1}, 3.0) == 27);
static_assert(call(ct::compiled(chosen))(std::int64_t{2}, 3.0) == 5 && call(ct::compiled(chosen))(std::int64_t{-1}, 3.0) == 3);
static_assert(call(ct::grad<1>(chosen))(std::int64_t{1}, 3.0) == 27 && call(ct::grad<1>(chosen))(std::int64_t{2}, 3.0) == 0);
static_assert(call(ct::grad<1>(chosen))(std::int64_t{3}, 3.0) == 1);
inline constexpr auto numbered = [](auto x) {
  return ct::case_of(1, [](auto z) { return z; }, [](auto z) { return 2 * z; })(x);
};
static_assert(call(ct::compiled(numbered))(3.0) == 6);

// Without arguments; from numbers only, where a branch tells the graph; a predicate that is a constant.
inline constexpr auto no_arguments = [](auto k, auto x) {
  return ct::case_of(k, [&] { return x * x; }, [&] { return x; })();
};
static_assert(call(ct::grad<1>(no_arguments))(std::int64_t{0}, 3.0) == 6);
static_assert(call(ct::compiled(no_arguments))(std::int64_t{7}, 3.0) == 0);
inline constexpr auto from_numbers = [](auto x) {
  return ct::case_of(1, [](auto z) { return z; }, [&](auto z) { return z * x; })(2.0);
};
inline constexpr auto constant_predicate = [](auto x) {
  return ct::cond(x.rank == 0, [](auto z) { return z * z; }, [](auto z) { return z; })(x);
};
static_assert(call(ct::grad(constant_predicate))(3.0) == 6);
static_assert(call(ct::compiled(from_numbers))(3.0) == 6 && call(ct::grad(from_numbers))(3.0) == 2);

// Trees of values; a literal takes the element of the other branch.
inline constexpr auto trees = [](auto x, auto v) {
  auto const [a, b] = ct::cond(
      x < 1.0, [](auto p, auto) { return std::pair(p[1], 0); },
      [](auto p, auto w) { return std::pair(p[0] * p[1], ct::sum(w)); })(std::array{x, x * x}, v);
  return a * b + a;
};
static_assert(call(ct::compiled(trees))(2.0, ct::tensor<double, 2>{3, 4}) == 8 * 7 + 8);
static_assert(call(ct::compiled(trees))(0.5, ct::tensor<double, 2>{3, 4}) == 0.25);
static_assert(call(ct::grad<0, 1>(trees))(2.0, ct::tensor<double, 2>{3, 4}) ==
              std::tuple(8 * 12.0, ct::tensor<double, 2>{8, 8}));
inline constexpr auto passed_trees = [](auto k, auto x) {
  auto const [a, b] = ct::case_of(k, [](auto p, auto q) { return std::tuple(q, p * q); })(x, x * x);
  return a + 2 * b;
};
static_assert(call(ct::compiled(passed_trees))(std::int64_t{0}, 3.0) == 9 + 2 * 27);
static_assert(call(ct::compiled(passed_trees))(std::int64_t{1}, 3.0) == 3 + 2 * 9);
static_assert(call(ct::grad<1>(passed_trees))(std::int64_t{1}, 3.0) == 1 + 4 * 3);

// Branches in loops in branches; captures through all of them.
inline constexpr auto collatz = [](auto n) {
  return ct::while_loop(
      [](auto, auto m) { return m != 1; },
      [](auto, auto m) {
        return ct::cond(m == 2 * ct::floor(m / 2), [](auto k) { return k / 2; }, [](auto k) { return 3 * k + 1; })(m);
      },
      n);
};
static_assert(call(ct::compiled(collatz))(7.0) == 1);
inline constexpr auto mixed = [](auto x, auto y) {
  return ct::cond(
      y > 0,
      [&](auto z) {
        return ct::for_loop(4, [&](auto i, auto s) {
          return ct::case_of(i, [&](auto t) { return t * x; }, [&](auto t) { return t + y; },
                             [&](auto t) { return ct::for_loop(2, [&](auto, auto u) { return u * y; }, t); })(s);
        }, z);
      },
      [](auto z) { return z; })(x * y);
};
static_assert(call(ct::compiled(mixed))(2.0, 3.0) == (12 + 3) * 9, "x y x + y, times y y; the last is passed through");
static_assert(call(ct::grad<0, 1>(mixed))(2.0, 3.0) == std::tuple(4 * 3 * 9.0, (4 + 1) * 9 + 15 * 6.0));
inline constexpr auto gradient_inside = [](auto x) {
  return ct::cond(x > 1.0, [](auto z) { return ct::grad([](auto t) { return t * t * t; })(z); }, [](auto z) { return z; })(x);
};
static_assert(call(ct::compiled(gradient_inside))(2.0) == 12 && call(ct::grad(gradient_inside))(2.0) == 12);

// The formulas of loops and branches in the list of functions.
template <int I> constexpr bool agrees() {
  constexpr auto const& f = std::get<I>(functions::control);
  using traced_function = std::remove_cvref_t<decltype(f.traced)>;
  constexpr auto found = call(ct::value_and_grad<0, 1, 2>(traced_function{}))(0.5, -0.75, 1.5);
  auto const slope = [&](double x, double y, double p) { return f.formula({0.5, x}, {-0.75, y}, {1.5, p}).d; };
  auto const [x, y, p] = found.second;
  return near(found.first, f.formula({0.5}, {-0.75}, {1.5}).v) && near(x, slope(1, 0, 0)) && near(y, slope(0, 1, 0)) &&
         near(p, slope(0, 0, 1));
}
static_assert(agrees<0>() && agrees<1>() && agrees<2>() && agrees<3>());
