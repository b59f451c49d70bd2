// SPDX-License-Identifier: BSL-1.0
// ct::map of bodies with loops and branches, by blocks of rows, against a call for each row.
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

namespace ct = cotangent;

// ---- numbers from a row [3], a number, and weights [3] of all rows; rows differ in their ends and their branches

inline constexpr auto steps = [](auto r, auto k, auto w) {
  return ct::for_loop(5, [&](auto, auto s) { return ct::sin(s * w(1) + r(0)) + 0.1 * k; }, ct::sum(r * w));
};
inline constexpr auto root = [](auto r, auto k, auto w) {
  auto const of = 1.0 + r(0) * r(0) + 20 * ct::exp(3 * r(1));
  return k * ct::while_loop<ct::loop{.max_iterations = 40}>([&](auto, auto y) { return ct::abs(y * y - of) > 1e-9 * of; },
                                                            [&](auto, auto y) { return 0.5 * (y + of / y) + 0 * w(2); }, of);
};
inline constexpr auto branch = [](auto r, auto k, auto w) {
  return ct::cond(r(0) > 0, [](auto s, auto a, auto v) { return ct::for_loop(3, [&](auto, auto q) { return q * a + ct::sqrt(s(0)); }, v(0)); },
                  [](auto s, auto a, auto v) { return ct::sum(s * v) / a; })(r, k, w);
};
inline constexpr auto sequence = [](auto r, auto k, auto w) {
  auto const [last, all] = ct::scan([&](auto c, auto x, auto v) { return std::pair(ct::tanh(c * v + x * k), c * c); }, k * w(1), r, w);
  return last + ct::sum(all * r);
};
inline constexpr auto slope = [](auto r, auto k, auto w) { // a gradient of a loop, in each row
  return ct::sum(w * ct::grad([&](auto y) { return ct::for_loop(3, [&](auto, auto s) { return ct::sin(s + k * ct::sum(y * y)); }, y(0)); })(r));
};
inline constexpr auto changed = [](auto r, auto k, auto w) { // elements at computed numbers
  return ct::while_loop<ct::loop{.max_iterations = 9}>([&](auto i, auto s) { return i < 2 || s(0) * s(0) < 1.0; },
                                                       [&](auto i, auto s) { return ct::at(s, i % 3).set(s(0) + k * r(i % 3) + w(2 - i % 3)); },
                                                       r * w)(0);
};

/// The function of all rows, and the sum of its squares.
template <class F> inline constexpr auto mapped = [](auto rows, auto numbers, auto w) {
  return ct::map([&](auto r, auto k) { return F{}(r, k, w); }, rows, numbers);
};
template <class F> inline constexpr auto squares = [](auto rows, auto numbers, auto w) {
  return ct::sum(ct::square(mapped<F>(rows, numbers, w)));
};
template <class F> inline constexpr auto square = [](auto r, auto k, auto w) { return ct::square(F{}(r, k, w)); };
/// The same sum, of squares that are part of the body: the cotangents of its results depend on no result.
template <class F> inline constexpr auto squares_in_rows = [](auto rows, auto numbers, auto w) {
  return ct::sum(mapped<std::remove_const_t<decltype(square<F>)>>(rows, numbers, w));
};

/// Loops of the graph itself, not of its loops.
constexpr int outer_loops(ct::extend::graph_view const& g) {
  int count = 0;
  for (std::int32_t i = 0; i < g.node_count; ++i) count += g.nodes[i].region == 0 && g.nodes[i].op == ct::info_of<ct::op::loop>();
  return count;
}
template <class F, class... X>
inline constexpr int loops_of = outer_loops(ct::detail::stages<F, X...>::simplified::view);

struct rows_of_numbers {
  std::vector<double> rows, numbers, weights{0.4, 0.9, -0.3};
  explicit rows_of_numbers(std::size_t n) : rows(3 * n), numbers(n) {
    std::mt19937 draw(11);
    for (double& r : rows) r = std::uniform_real_distribution<double>(-1, 1)(draw);
    for (double& k : numbers) k = std::uniform_real_distribution<double>(0.5, 1)(draw);
  }
};
/// Values, and the gradients of the sum of their squares.
struct expected {
  std::vector<double> y, dr, dk, dw = std::vector<double>(3);
  double sum() const {
    double all = 0;
    for (double const one : y) all += one * one;
    return all;
  }
};
template <class F> expected one_by_one(F const& f, rows_of_numbers const& x) {
  expected all;
  ct::tensor<double, 3> r, w;
  for (std::size_t j = 0; j < 3; ++j) w(j) = x.weights[j];
  for (std::size_t i = 0; i < x.numbers.size(); ++i) {
    for (std::size_t j = 0; j < 3; ++j) r(j) = x.rows[3 * i + j];
    all.y.push_back(ct::compiled(f)(r, x.numbers[i], w));
    auto const [dr, dk, dw] = ct::grad<0, 1, 2>(square<F>)(r, x.numbers[i], w);
    for (std::size_t j = 0; j < 3; ++j) {
      all.dr.push_back(dr(j));
      all.dw[j] += dw(j);
    }
    all.dk.push_back(dk);
  }
  return all;
}
template <class Values> void same(Values const& values, std::vector<double> const& expected) {
  REQUIRE(static_cast<std::size_t>(values.size()) == expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    CAPTURE(k);
    CHECK(values.data()[k] == Approx(expected[k]).epsilon(1e-11).margin(1e-12));
  }
}
template <class F> void in_graphs(F const& f, std::size_t n) {
  CAPTURE(n);
  rows_of_numbers const x(n);
  expected const wanted = one_by_one(f, x);
  ct::dynamic::graph g;
  auto const count = static_cast<std::int64_t>(n);
  auto const r = g.input<double>("r", {count, 3}), k = g.input<double>("k", {count}), w = g.input<double>("w", {3});
  auto const y = mapped<F>(r, k, w);
  auto const d = g.gradient({ct::sum(y * y)}, {r, k, w});
  auto const in_rows = squares_in_rows<F>(r, k, w);
  auto const e = g.gradient({in_rows}, {r, k, w});
  auto p = g.compile({y, d[0], d[1], d[2]}), q = g.compile({e[2], in_rows, e[1], e[0]});
  for (auto* const one : {&p, &q}) {
    one->bind(r, x.rows);
    one->bind(k, x.numbers);
    one->bind(w, x.weights);
    one->run();
  }
  CHECK(q.value(in_rows)() == Approx(wanted.sum()).margin(1e-12));
  same(q.value(e[0]), wanted.dr);
  same(q.value(e[1]), wanted.dk);
  same(q.value(e[2]), wanted.dw);
  same(p.value(y), wanted.y);
  same(p.value(d[0]), wanted.dr);
  same(p.value(d[1]), wanted.dk);
  same(p.value(d[2]), wanted.dw);
}
template <std::int64_t N, class F> void compiled(F const& f) {
  constexpr auto n = static_cast<std::size_t>(N);
  CAPTURE(n);
  rows_of_numbers const x(n);
  expected const wanted = one_by_one(f, x);
  ct::tensor<double, N, 3> r;
  ct::tensor<double, N> k;
  ct::tensor<double, 3> w;
  for (std::size_t i = 0; i < 3 * n; ++i) r.data()[i] = x.rows[i];
  for (std::size_t i = 0; i < n; ++i) k.data()[i] = x.numbers[i];
  for (std::size_t i = 0; i < 3; ++i) w.data()[i] = x.weights[i];
  auto const [dr, dk, dw] = ct::grad<0, 1, 2>(squares<F>)(r, k, w);
  same(dr, wanted.dr);
  same(dk, wanted.dk);
  same(dw, wanted.dw);
  auto const [value, slopes] = ct::value_and_grad<0, 1, 2>(squares_in_rows<F>)(r, k, w);
  CHECK(value == Approx(wanted.sum()));
  same(std::get<0>(slopes), wanted.dr);
  same(std::get<1>(slopes), wanted.dk);
  same(std::get<2>(slopes), wanted.dw);
  auto const [same_value, pullback] = ct::vjp<0, 1, 2>(squares_in_rows<F>)(r, k, w); // two programs
  CHECK(same_value == Approx(value));
  same(std::get<2>(pullback(1.0)), wanted.dw);
}
template <class F> void check(F const& f) {
  for (int n : {0, 1, 2, 7, 8, 16, 17, 24, 25}) in_graphs(f, static_cast<std::size_t>(n));
  compiled<19>(f);
}

} // namespace

TEST_CASE("Rows with loops are mapped by blocks, of which the last may be incomplete") { check(steps); }
TEST_CASE("Rows of a block end in different iterations") { check(root); }
TEST_CASE("Rows of a block take different branches, with a loop in one") {
  check(branch);
  compiled<6>(branch);
}
TEST_CASE("Each row of a block is a scan") { check(sequence); }
TEST_CASE("Each row of a block is the gradient of a loop") { check(slope); }
TEST_CASE("Rows of a block read and change elements at computed numbers") { check(changed); }
TEST_CASE("The tangent of a map by blocks is that of its gradient, and so is the Hessian-vector product") {
  rows_of_numbers const x(19);
  ct::dynamic::graph g;
  auto const r = g.constant(x.rows, {19, 3}), k = g.constant(x.numbers), w = g.constant(x.weights);
  using function = std::remove_const_t<decltype(root)>;
  auto const total = [&](auto numbers) { return squares<function>(r, numbers, w); };
  auto const dy = ct::jvp(total)(k, k).second, along = ct::sum(ct::grad(total)(k) * k);
  auto const second = ct::sum(ct::hvp(total)(k, k) * k), twice = ct::sum(ct::square(mapped<function>(r, k, w))) * 2;
  auto p = g.compile({dy, along, second, twice});
  p.run();
  CHECK(p.value(dy)() == Approx(p.value(along)()).epsilon(1e-12));
  CHECK(p.value(second)() == Approx(p.value(twice)()).epsilon(1e-12)); // (a square of the numbers)
}
TEST_CASE("Rows without room for two axes, and rows whose number is a name, are mapped one by one") {
  constexpr auto halved = [](auto r) { return ct::for_loop(3, [](auto, auto s) { return 0.5 * s * s; }, r); };
  ct::tensor<double, 20, 1, 1, 1, 1, 1, 1, 2> x; // a block of its rows would have nine axes
  for (int k = 0; k < 40; ++k) x.data()[k] = 0.1 * k;
  constexpr auto all = [](auto v) { return ct::map(decltype(halved){}, v); };
  constexpr auto total = [](auto v) { return ct::sum(ct::map(decltype(halved){}, v)); };
  auto const y = ct::compiled(all)(x);
  auto const slope_at = ct::grad(total)(x);
  ct::tensor<double, "n"> line(20);
  for (int k = 0; k < 20; ++k) line(k) = 0.1 * k;
  auto const named = ct::compiled(all)(line);
  for (int k = 0; k < 40; ++k) {
    double s = 0.1 * k, ds = 1;
    for (int i = 0; i < 3; ++i) ds *= s, s *= 0.5 * s;
    CHECK(y.data()[k] == Approx(s));
    CHECK(slope_at.data()[k] == Approx(ds));
    if (k < 20) CHECK(named(k) == Approx(s));
  }
}
TEST_CASE("The memory of a gradient of a map is that of one block, whatever the number of rows") {
  constexpr auto total = [](auto x) {
    return ct::sum(ct::map([](auto r) { return ct::for_loop(100, [&](auto, auto s) { return ct::sin(s + r); }, r); }, x));
  };
  using gradient = decltype(ct::grad(total));
  using few = ct::program<gradient, ct::tensor<double, 32>>;
  using many = ct::program<gradient, ct::tensor<double, 3200>>;
  STATIC_REQUIRE(many::workspace_bytes - few::workspace_bytes <= 4 * 3168 * sizeof(double)); // arguments and results; a record: 100 times
}
TEST_CASE("The gradient of a map runs in one loop with it if it depends on no result") {
  using function = std::remove_const_t<decltype(steps)>;
  using rows = ct::tensor<double, 40, 3>;
  using numbers = ct::tensor<double, 40>;
  using weights = ct::tensor<double, 3>;
  using in_rows = decltype(ct::value_and_grad<0, 2>(squares_in_rows<function>));
  using after = decltype(ct::value_and_grad<0, 2>(squares<function>));
  STATIC_REQUIRE(loops_of<in_rows, rows, numbers, weights> == 1);
  STATIC_REQUIRE(loops_of<after, rows, numbers, weights> == 2);
  // Two maps of the same rows, and rows whose number is a name
  constexpr auto both = [](auto r, auto k, auto w) { return squares_in_rows<function>(r, k, w) * squares_in_rows<std::remove_const_t<decltype(sequence)>>(r, k, w); };
  STATIC_REQUIRE(loops_of<decltype(ct::grad(both)), rows, numbers, weights> == 3); // the cotangents of one need the other
  constexpr auto sum_of_both = [](auto r, auto k, auto w) { return squares_in_rows<function>(r, k, w) + squares_in_rows<std::remove_const_t<decltype(sequence)>>(r, k, w); };
  STATIC_REQUIRE(loops_of<decltype(ct::value_and_grad(sum_of_both)), rows, numbers, weights> == 2);
  STATIC_REQUIRE(loops_of<in_rows, ct::tensor<double, "n", 3>, ct::tensor<double, "n">, weights> == 1);
}
TEST_CASE("A map that prints runs before its gradient") {
  constexpr auto total = [](auto x) {
    return ct::sum(ct::map([](auto r) { return ct::for_loop(2, [&](auto, auto s) { return ct::sin(s + ct::print(r, "")); }, r); }, x));
  };
  STATIC_REQUIRE(loops_of<decltype(ct::value_and_grad(total)), ct::tensor<double, 20>> == 2);
}
TEST_CASE("Bodies that call C++ functions run row by row, in order") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {20});
  std::vector<double> seen;
  auto const noted = ct::external({}, [&](auto v, auto z) { seen.push_back(z[0] = v[0]); }, [](auto, auto, auto dz, auto dv) { dv[0] = dz[0]; });
  auto const y = ct::map([&](auto r) {
    return ct::cond(noted(r) > 1.0, [](auto s) { return s * s; }, [](auto s) { return -s; })(r);
  }, x);
  auto p = g.compile({y});
  std::vector<double> numbers(20);
  for (std::size_t k = 0; k < 20; ++k) numbers[k] = 0.1 * static_cast<double>(k);
  p.bind(x, numbers);
  p.run();
  CHECK(seen == numbers);
  CHECK(p.value(y).data()[19] == Approx(1.9 * 1.9));
}
