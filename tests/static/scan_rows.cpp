// SPDX-License-Identifier: BSL-1.0
// Scans of traced functions, and their derivatives, run by the compiler.
#include "../traced.hpp"

#include <array>
#include <cstdint>
#include <tuple>
#include <utility>

namespace ct = cotangent;
using traced::call;

constexpr bool near(double a, double b) { return a - b < 1e-9 && b - a < 1e-9; }
using vec = ct::tensor<double, 3>;
using mat = ct::tensor<double, 3, 2>;

// Running products of numbers: the carry and the stacked rows.
inline constexpr auto products = [](auto x, auto s) {
  return ct::scan([](auto carry, auto row) { return std::pair(carry * row, carry + row); }, s, x);
};
static_assert(call(ct::compiled(products))(vec{2, 3, 4}, 1.0) == std::pair(24.0, vec{3, 5, 10}));
inline constexpr auto sum_of_products = [](auto x, auto s) {
  auto const [last, rows] = products(x, s);
  return last + ct::sum(rows * rows);
};
// 24 + 9 + 25 + 100; by x0: 12 + 2*3 + 2*5*1 + 2*10*3
static_assert(call(ct::value_and_grad<0, 1>(sum_of_products))(vec{2, 3, 4}, 1.0) ==
              std::pair(24.0 + 134, std::tuple(vec{12 + 6 + 10 + 60, 8 + 10 + 40, 6 + 20}, 24.0 + 6 + 20 + 120)));
static_assert(call(ct::jvp<0>(sum_of_products))(vec{2, 3, 4}, 1.0, vec{1, 0, 0}).second == 88);
// The derivative of grad(x) x in the direction of ones, by central differences.
inline constexpr auto slope_along = [](auto x, auto s) { return ct::dot(ct::grad(sum_of_products)(x, s), x); };
constexpr double difference() {
  double const up = call(ct::compiled(slope_along))(vec{2 + 1e-4, 3 + 1e-4, 4 + 1e-4}, 1.0),
               down = call(ct::compiled(slope_along))(vec{2 - 1e-4, 3 - 1e-4, 4 - 1e-4}, 1.0);
  return (up - down) / 2e-4;
}
constexpr double second = call(ct::compiled([](auto x, auto s) {
  return ct::sum(ct::grad([&](auto y) { return slope_along(y, s); })(x));
}))(vec{2, 3, 4}, 1.0);
static_assert(second - difference() < 1e-4 && difference() - second < 1e-4 && second > 100);
static_assert(near(call(ct::jvp<0>(slope_along))(vec{2, 3, 4}, 1.0, vec{1, 1, 1}).second, second));

// From the last row to the first.
inline constexpr auto backward = [](auto x, auto s) {
  return ct::scan<ct::loop{.reverse = true}>([](auto carry, auto row) { return std::pair(carry * row, carry + row); }, s, x);
};
static_assert(call(ct::compiled(backward))(vec{4, 3, 2}, 1.0) == std::pair(24.0, vec{10, 5, 3}));
inline constexpr auto sum_backward = [](auto x, auto s) {
  auto const [last, rows] = backward(x, s);
  return last + ct::sum(rows * rows);
};
static_assert(call(ct::grad<0, 1>(sum_backward))(vec{4, 3, 2}, 1.0) ==
              std::tuple(vec{6 + 20, 8 + 10 + 40, 12 + 6 + 10 + 60}, 24.0 + 6 + 20 + 120));
inline constexpr auto countdown = [](auto x) {
  return ct::for_loop<ct::loop{.reverse = true}>(3, [&](auto i, auto s) { return s * x + ct::convert<double>(i); }, 0.0);
};
static_assert(call(ct::compiled(countdown))(2.0) == 2 * 4 + 1 * 2 + 0 && call(ct::grad(countdown))(2.0) == 2 * 2 * 2 + 1);

// Rows of matrices, several xs, integers, a captured matrix; trees as carry, xs and rows.
inline constexpr auto cells = [](auto x, auto labels, auto w) {
  auto const [last, rows] = ct::scan(
      [&](auto carry, auto both) {
        auto [state, count] = carry;
        auto [row, label] = both;
        auto const next = ct::tanh(ct::sum(w * state, ct::axes<1>) + row) * ct::convert<double>(label);
        return std::tuple(std::tuple(next, count + label), std::array{next, row});
      },
      std::tuple(ct::zeros<2>(), std::int64_t{0}), std::tuple(x, labels));
  return std::tuple(std::get<0>(last), std::get<1>(last), rows[0], rows[1]);
};
inline constexpr auto cost = [](auto x, auto labels, auto w) {
  auto const [last, count, states, rows] = cells(x, labels, w);
  return ct::sum(last) + ct::sum(states * states * rows) * ct::convert<double>(count);
};
using ids = ct::tensor<std::int64_t, 3>;
using square = ct::tensor<double, 2, 2>;
inline constexpr mat inputs{{.1, -.2}, {.3, .4}, {-.5, .6}};
inline constexpr square weights{{.5, -.1}, {.3, .7}};
inline constexpr auto by_cells = call(ct::value_and_grad<0, 2>(cost))(inputs, ids{1, 2, 1}, weights);
/// The same, unrolled.
inline constexpr auto unrolled = [](auto x, auto labels, auto w) {
  ct::expr<double, 2> state = ct::zeros<2>();
  ct::expr<double> sum = 0.0;
  for (int k = 0; k < 3; ++k) {
    state = ct::tanh(ct::sum(w * state, ct::axes<1>) + x(k)) * ct::convert<double>(labels(k));
    sum += ct::sum(state * state * x(k));
  }
  return ct::sum(state) + sum * ct::convert<double>(ct::sum(labels));
};
inline constexpr auto by_hand = call(ct::value_and_grad<0, 2>(unrolled))(inputs, ids{1, 2, 1}, weights);
constexpr bool all_near() {
  auto const& [dx, dw] = by_cells.second;
  auto const& [ex, ew] = by_hand.second;
  bool same = near(by_cells.first, by_hand.first);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j) same = same && near(dx(i, j), ex(i, j));
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) same = same && near(dw(i, j), ew(i, j));
  return same;
}
static_assert(all_near());
static_assert(std::get<1>(call(ct::compiled(cells))(inputs, ids{1, 2, 1}, weights)) == 4);
static_assert(std::get<3>(call(ct::compiled(cells))(inputs, ids{1, 2, 1}, weights)) == inputs, "a row that is passed on");

// A struct as carry, and nothing as row; rows that do not depend on anything; a carry that no row changes.
template <template <class, ct::extent...> class Tensor> struct moments {
  BOOST_HANA_DEFINE_STRUCT(moments, (Tensor<double>, sum), (Tensor<double, 2>, squares));
};
inline constexpr auto gather_moments = [](auto x, auto m) {
  auto const add = [](auto s, auto row) {
    s.sum += ct::sum(row);
    s.squares += row * row;
    return std::pair(s, std::tuple<>());
  };
  return ct::scan(add, m, x).first;
};
inline constexpr auto found = call(ct::compiled(gather_moments))(mat{{1, 2}, {3, 4}, {5, 6}}, moments<ct::tensor>{0.5, {0, 1}});
static_assert(found.sum == 21.5 && found.squares == ct::tensor<double, 2>{35, 57});
inline constexpr auto constants = [](auto x, auto s) {
  return ct::scan([](auto carry, auto) { return std::pair(carry, 7.0); }, s, x);
};
static_assert(call(ct::compiled(constants))(vec{}, 2.0) == std::pair(2.0, vec{7, 7, 7}));
static_assert(call(ct::grad<0, 1>([](auto x, auto s) { return ct::sum(constants(x, s).second) + constants(x, s).first; }))(vec{}, 2.0) ==
              std::tuple(vec{}, 1.0));

// No row, and one.
inline constexpr auto total = [](auto x, auto s) {
  auto const [last, rows] = products(x, s);
  return last * 3 + ct::sum(rows);
};
static_assert(call(ct::value_and_grad<0, 1>(total))(ct::tensor<double, 0>{}, 2.0) ==
              std::pair(6.0, std::tuple(ct::tensor<double, 0>{}, 3.0)));
static_assert(call(ct::compiled(products))(ct::tensor<double, 0>{}, 2.0) == std::pair(2.0, ct::tensor<double, 0>{}));
static_assert(call(ct::value_and_grad<0, 1>(total))(ct::tensor<double, 1>{5}, 2.0) ==
              std::pair(37.0, std::tuple(ct::tensor<double, 1>{7}, 16.0)));

// A scan over the rows of another; one in the body of a loop and of a scan; a gradient in a body, in float.
inline constexpr auto twice = [](auto x, auto s) {
  auto const [a, rows] = products(x, s);
  auto const [b, last] = products(rows, a);
  return ct::sum(last) * b;
};
inline constexpr auto twice_unrolled = [](auto x, auto s) {
  ct::expr<double> a = s, sum = 0.0;
  std::array<ct::expr<double>, 3> rows;
  for (std::size_t k = 0; k < 3; ++k) {
    rows[k] = a + x(static_cast<int>(k));
    a = a * x(static_cast<int>(k));
  }
  for (auto const& row : rows) {
    sum += a + row;
    a = a * row;
  }
  return sum * a;
};
static_assert(call(ct::value_and_grad<0, 1>(twice))(vec{2, 3, 4}, 1.0) == call(ct::value_and_grad<0, 1>(twice_unrolled))(vec{2, 3, 4}, 1.0));
inline constexpr auto nested = [](auto m, auto s) {
  auto const inner = [](auto c, auto row) {
    auto const [last, rows] = ct::scan([](auto d, auto z) { return std::pair(d * z, d + z); }, c, row);
    return std::pair(last + 1, rows * c);
  };
  auto const [last, rows] = ct::scan(inner, s, m);
  return last + ct::sum(rows * rows);
};
inline constexpr auto nested_unrolled = [](auto m, auto s) {
  ct::expr<double> c = s, sum = 0.0;
  for (int i = 0; i < 3; ++i) {
    ct::expr<double> d = c;
    for (int j = 0; j < 2; ++j) {
      sum += ct::square((d + m(i, j)) * c);
      d = d * m(i, j);
    }
    c = d + 1;
  }
  return c + sum;
};
static_assert(call(ct::value_and_grad<0, 1>(nested))(mat{{1, 2}, {1, 1}, {2, 1}}, 1.0) ==
              call(ct::value_and_grad<0, 1>(nested_unrolled))(mat{{1, 2}, {1, 1}, {2, 1}}, 1.0));
inline constexpr auto steps = [](auto x) {
  auto const descend = [](auto z, auto target) {
    auto const loss = [&](auto y) { return ct::square(y - target); };
    auto const next = z - 0.25f * ct::grad(loss)(z);
    return std::pair(next, next);
  };
  return ct::scan(descend, 0.0f, x);
};
static_assert(call(ct::compiled(steps))(ct::tensor<float, 2>{4, 8}) == std::pair(5.0f, ct::tensor<float, 2>{2, 5}));
static_assert(call(ct::grad([](auto x) { return ct::sum(steps(x).second); }))(ct::tensor<float, 2>{4, 8}) ==
              ct::tensor<float, 2>{0.75f, 0.5f});
