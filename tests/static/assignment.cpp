// SPDX-License-Identifier: BSL-1.0
// x(i) = v gives the variable x a new node: values and gradients in constant evaluations.
#include <cotangent/cotangent.hpp>

#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>

namespace ct = cotangent;

inline constexpr ct::tensor<double, 3> v{1, 2, 3};
inline constexpr ct::tensor<double, 2, 3> m{{1, 2, 3}, {4, 5, 6}};

inline constexpr auto element = [](auto x) {
  x(0) = 5 * x(1);
  return ct::sum(x);
};
static_assert(ct::compiled(element)(v) == 15);
static_assert(ct::grad(element)(v) == ct::tensor<double, 3>{0, 6, 1});
static_assert(ct::exact(element)(v) == 15);
static_assert(ct::jvp(element)(v, ct::tensor<double, 3>{1, 0, 0}) == std::pair(15.0, 0.0));
static_assert(ct::jvp(element)(v, ct::tensor<double, 3>{0, 1, 0}) == std::pair(15.0, 6.0));

// A copy keeps the value that it was made with, and an indexed read is a copy once it has a name.
inline constexpr auto copies = [](auto x) {
  auto y = x;
  auto row = x(0);
  y[0] = 0;
  row = 7;
  auto from_row = row;
  from_row += 1;
  return std::tuple(x, y, row);
};
static_assert(ct::compiled(copies)(v) == std::tuple(v, ct::tensor<double, 3>{0, 2, 3}, 7.0));

inline constexpr auto forms = [](auto x) {
  auto row = x, column = x, window = x, strided = x, last = x, chained = x, all = x;
  row(1) = x(0);
  column(ct::all, 1) += 10;
  window(ct::range<0, 2>, ct::range<1>) *= 2;
  strided(0, ct::range<0, 3, 2>) -= x(1, ct::range<0, 2>);
  last(-1, -1) /= 2;
  chained(1)(ct::range<0, 2>)(1) = chained[0][0] = 9;
  all(ct::all, ct::all) = 4;
  return std::tuple(row, column, window, strided, last, chained, all);
};
using matrix = ct::tensor<double, 2, 3>;
static_assert(ct::compiled(forms)(m) ==
              std::tuple(matrix{{1, 2, 3}, {1, 2, 3}}, matrix{{1, 12, 3}, {4, 15, 6}},
                         matrix{{1, 4, 6}, {4, 10, 12}}, matrix{{-3, 2, -2}, {4, 5, 6}},
                         matrix{{1, 2, 3}, {4, 5, 3}}, matrix{{9, 2, 3}, {4, 9, 6}},
                         matrix{{4, 4, 4}, {4, 4, 4}}));

// Values broadcast to the part.
inline constexpr auto repeated = [](auto x, auto y) {
  x(ct::all, ct::range<0, 2>) = y(ct::range<0, 2>);
  x(ct::range<1>) = 0;
  return x;
};
static_assert(ct::compiled(repeated)(m, v) == matrix{{1, 2, 3}, {0, 0, 0}});

// A tensor begun with zeros joins the graph with the first value of it.
inline constexpr auto rotation = [](auto q) {
  auto r = ct::zeros<2, 2>();
  r(0, 0) = q;
  r(0, 1) = -2 * q;
  r(1, 1) = 1;
  r(1, 0) = r(0, 0) * r(0, 1);
  return r;
};
static_assert(ct::compiled(rotation)(3.0) == ct::tensor<double, 2, 2>{{3, -6}, {-18, 1}});
static_assert(ct::jvp(rotation)(3.0, 1.0).second == ct::tensor<double, 2, 2>{{1, -2}, {-12, 0}});
inline constexpr auto uniform = [](auto x) {
  auto y = ct::zeros<3>();
  y(ct::all) = 2;
  return ct::sum(x * y);
};
static_assert(ct::compiled(uniform)(v) == 12);

inline constexpr auto integers = [](auto n, auto flags) {
  n(1) = 7;
  n(0) += n(1);
  flags(2) = n(0) > 7;
  flags(ct::range<0, 2>) = false;
  n(ct::range<0, 3, 2>) *= 2;
  return std::tuple(n, flags);
};
static_assert(ct::compiled(integers)(ct::tensor<std::int32_t, 3>{1, 2, 3},
                                     ct::tensor<bool, 3>{true, true, false}) ==
              std::tuple(ct::tensor<std::int32_t, 3>{16, 7, 6}, ct::tensor<bool, 3>{false, false, true}));

// Infinities that are replaced leave nothing behind.
inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr auto infinities = [](auto x, auto y) {
  x(ct::range<0, 3, 2>) = 1;
  y(1) = 1;
  return ct::sum(x) + ct::sum(y);
};
static_assert(ct::compiled(infinities)(ct::tensor<double, 3>{infinity, 2, infinity},
                                       ct::tensor<double, 3>{1, -infinity, 1}) == 7);

// Ranges that fall.
inline constexpr auto falling = [](auto x, auto y) {
  x(ct::range<-1, ct::end, -1>) = y;
  x(ct::range<2, ct::end, -2>) += 10 * y(ct::range<1, 3>);
  return ct::at(x, ct::range<1, ct::end, -1>).add(y(ct::range<0, 2>) * y(0));
};
static_assert(ct::compiled(falling)(v, ct::tensor<double, 3>{2, 3, 5}) == ct::tensor<double, 3>{5 + 50 + 6, 3 + 4, 2 + 30});
static_assert(ct::grad<1>([](auto x, auto y) { return ct::dot(falling(x, y), ct::iota<double, 3>(1)); })(
                  v, ct::tensor<double, 3>{2, 3, 5}) == ct::tensor<double, 3>{3 + 4 * 2 + 3, 2 + 30 + 2, 1 + 10});
static_assert(ct::compiled([](auto x) { return x(ct::range<0, 0, -1>); })(ct::tensor<double, 2>{1, 2}) == ct::tensor<double, 0>{});
static_assert(ct::compiled([](auto x) { return x(ct::range<-1, ct::end, -1>); })(ct::tensor<double, 0>{}) == ct::tensor<double, 0>{});

// In loops, in functions of references, and in members.
inline constexpr auto sums = [](auto x) {
  auto const add = [](auto& y, int i) { y(i) += y(i - 1); };
  for (int i = 1; i < 3; ++i) add(x, i);
  return ct::dot(x, x);
};
static_assert(ct::compiled(sums)(v) == 1 + 9 + 36);
static_assert(ct::grad(sums)(v) == ct::tensor<double, 3>{20, 18, 12});
inline constexpr auto slope = [](auto x) { return ct::sum(ct::grad(sums)(x) * ct::iota<double, 3>()); };
static_assert(ct::grad(slope)(v) == ct::tensor<double, 3>{8, 8, 6});

template <template <class, ct::extent...> class Tensor> struct parameters {
  BOOST_HANA_DEFINE_STRUCT(parameters, (Tensor<double, 2, 3>, w), (Tensor<double, 3>, b));
};
inline constexpr auto of_struct = [](auto p) {
  p.w(0, 1) = p.b(0) * p.b(1);
  p.b(ct::range<0, 2>) = p.w(ct::all, 2);
  return ct::sum(ct::square(p.w)) + ct::sum(p.b);
};
inline constexpr parameters<ct::tensor> given{m, v};
static_assert([] {
  auto const [value, g] = ct::value_and_grad(of_struct)(given);
  return value == 1 + 4 + 9 + 16 + 25 + 36 + 3 + 6 + 3 && g.w == matrix{{2, 0, 7}, {8, 10, 13}} &&
         g.b == ct::tensor<double, 3>{8, 4, 1};
}());

// A gradient inside of a function, of a function that assigns, assigned to a row.
inline constexpr auto nested = [](auto x) {
  auto y = ct::zeros<2, 3>();
  y(0) = ct::grad(element)(x * x);
  y(1) = x;
  return ct::sum(y(0) * y(1)) + ct::grad(sums)(x)(0);
};
static_assert(ct::compiled(nested)(v) == 15 + 20);
static_assert(ct::grad(nested)(v) == ct::tensor<double, 3>{6, 10, 3});

inline constexpr auto swapped = [](auto x) {
  auto const kept = x(0);
  x(0) = x(2);
  x(2) = kept;
  x(1) *= 3;
  return x;
};
static_assert(ct::compiled(swapped)(v) == ct::tensor<double, 3>{3, 6, 1});

// Parts at computed positions.
inline constexpr ct::tensor<double, 2, 3> given_rows{{1, 5, 3}, {4, 2, 6}};
static_assert(ct::compiled([](auto x, auto i) { return ct::at(x, i).set(9.0); })(v, 1) == ct::tensor<double, 3>{1, 9, 3});
static_assert(ct::compiled([](auto x, auto i) { return ct::at(x, i).add(ct::iota<double, 3>()); })(given_rows, 1) == ct::tensor<double, 2, 3>{{1, 5, 3}, {4, 3, 8}});
static_assert(ct::compiled([](auto x, auto i) { return ct::at(x, ct::all, i).set(ct::iota<double, 2>()); })(given_rows, 2) == ct::tensor<double, 2, 3>{{1, 5, 0}, {4, 2, 1}});
static_assert(ct::compiled([](auto x, auto i, auto j) { return ct::at(x, i, j).set(7); })(given_rows, 1, 0) == ct::tensor<double, 2, 3>{{1, 5, 3}, {7, 2, 6}});
static_assert(ct::compiled([](auto x, auto i, auto j) { return ct::at(x, i, j).add(7); })(given_rows, 1, 0) == ct::tensor<double, 2, 3>{{1, 5, 3}, {11, 2, 6}});
static_assert(ct::compiled([](auto x, auto i) { return ct::at(x, i, ct::range<1>).set(7); })(given_rows, 1) == ct::tensor<double, 2, 3>{{1, 5, 3}, {4, 7, 7}});
static_assert(ct::compiled([](auto x) { return ct::at(x, 0, ct::range<0, 3, 2>).set(7); })(given_rows) == ct::tensor<double, 2, 3>{{7, 5, 7}, {4, 2, 6}});
static_assert(ct::compiled([](auto x) { return ct::at(x, ct::all, -1).add(7); })(given_rows) == ct::tensor<double, 2, 3>{{1, 5, 10}, {4, 2, 13}});
static_assert(ct::grad<0, 1>([](auto x, auto w, auto i) { return ct::sum(ct::square(ct::at(x, i).set(w))); })(given_rows, v, 1) ==
              std::tuple(ct::tensor<double, 2, 3>{{2, 10, 6}, {0, 0, 0}}, ct::tensor<double, 3>{2, 4, 6}));
static_assert(ct::grad([](auto x) { return ct::sum(ct::for_loop(3, [&](auto i, auto s) { return ct::at(s, i).set(x(i) * x(i)); }, ct::zeros<3>())); })(v) ==
              ct::tensor<double, 3>{2, 4, 6});
