// SPDX-License-Identifier: BSL-1.0
// Sizes of expressions are constants; axes as values; tensors made of expressions.
#include <cotangent/cotangent.hpp>

#include <concepts>
#include <cstdint>
#include <tuple>

namespace ct = cotangent;

template <class Wanted, class Given> consteval bool is(Given const&) { return std::same_as<Wanted, Given>; }

inline constexpr ct::tensor<double, 2, 3> m{{1, 2, 3}, {4, 5, 6}};

inline constexpr auto counted = [](auto x, auto named) {
  static_assert(x.size() == 6 && x.rank() == 2 && x.rank == 2 && x.extent(0) == 2 && x.extent(-1) == 3);
  static_assert(named.extent(1) == 3 && named.rank() == 2);
  static_assert(is<ct::expr<double, 3>>(decltype(ct::zeros<x.extent(1)>()){}));
  ct::expr<double> s = 0.0;
  for (int i = 0; i < x.extent(0); ++i)
    for (int j = 0; j < x.extent(1); ++j) s += x(i, j);
  return s / static_cast<double>(x.size()) + 0 * ct::sum(named);
};
static_assert(ct::compiled(counted)(m, ct::tensor<double, "n", 3>(2)) == 3.5);

inline constexpr auto along = [](auto x) {
  static_assert(is<ct::expr<double, 2, 3>>(decltype(ct::softmax(x, 0)){}));
  ct::expr<double> difference = 0.0;
  for (int axis = 0; axis < 2; ++axis) difference += ct::sum(x * ct::softmax(x, axis));
  return difference - ct::sum(x * (ct::softmax<0>(x) + ct::softmax<1>(x))) +
         ct::sum(ct::log_softmax(x, -2) - ct::log_softmax<0>(x));
};
static_assert(ct::compiled(along)(m) == 0);

inline constexpr auto stacked = [](auto x) {
  auto const first = ct::stack<0>(x(0), 2 * x(1));
  auto const last = ct::stack<-1>(x(0), x(1), x(0));
  static_assert(is<ct::expr<double, 2, 3>>(decltype(ct::stack<0>(x(0), x(1))){}));
  static_assert(is<ct::expr<double, 3, 3>>(decltype(ct::stack<-1>(x(0), x(1), x(0))){}));
  static_assert(is<ct::expr<double, 2, 4, 3>>(decltype(ct::stack<1>(x, x, x, x)){}));
  return std::tuple(first, last, ct::stack<0>(x(0, 0), x(1, 1)));
};
static_assert(ct::compiled(stacked)(m) == std::tuple(ct::tensor<double, 2, 3>{{1, 2, 3}, {8, 10, 12}},
                                                     ct::tensor<double, 3, 3>{{1, 4, 1}, {2, 5, 2}, {3, 6, 3}},
                                                     ct::tensor<double, 2>{1, 5}));
inline constexpr auto weighed = [](auto x) {
  return ct::sum(ct::stack<1>(x(0), x(1) * x(0)) * ct::transpose(x));
};
static_assert(ct::grad(weighed)(m) == ct::tensor<double, 2, 3>{{18, 29, 42}, {8, 20, 36}});

inline constexpr auto braces = [](auto q) {
  auto const s = ct::sin(q), c = ct::cos(q);
  ct::expr<double, 2, 2> const r{{c, -s}, {s, c}};
  ct::expr<double, 3> const v{q, 1, q * q};
  ct::expr<double, 2, 1, 2> const cube{{{q, 2}}, {{3, v(2)}}};
  ct::expr<double, 2, 3> const same{{1, 1, 1}, {1, 1, 1}};
  ct::expr<double, 1> const one{q};
  return std::tuple(ct::sum(r * ct::transpose(r)), v, cube, same, one, ct::matmul(r, ct::transpose(r))(0, 0));
};
static_assert([] {
  auto const [x, v, cube, same, one, unit] = ct::compiled(braces)(2.0);
  return v == ct::tensor<double, 3>{2, 1, 4} && cube == ct::tensor<double, 2, 1, 2>{{{2, 2}}, {{3, 4}}} &&
         same == ct::tensor<double, 2, 3>{{1, 1, 1}, {1, 1, 1}} && one(0) == 2 && unit > 0.99 && unit < 1.01;
}());
inline constexpr auto quadratic = [](auto q, auto w) {
  return ct::sum(ct::expr<double, 2, 2>{{q, q * q}, {1, 2 * q}} * w);
};
static_assert(ct::grad(quadratic)(3.0, ct::tensor<double, 2, 2>{{1, 2}, {3, 4}}) == 1 + 12 + 8);
