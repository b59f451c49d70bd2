// SPDX-License-Identifier: BSL-1.0
// Scans of compiled functions: rows of numbers and of vectors, trees, both directions, names, against plain loops.
#include <cotangent/cotangent.hpp>

#include "catch.hpp"
#include "../nest_runs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace ct = cotangent;

namespace {

// [filter]
// y(i) = tanh(w y(i - 1) + x(i))
inline constexpr auto filter = [](auto x, auto w, auto s) {
  return ct::scan(
      [&](auto y, auto row) {
        auto const next = ct::tanh(w * y + row);
        return std::pair(next, next);
      },
      s, x); // the last y, and all of them
};
// [/filter]
inline constexpr auto energy = [](auto x, auto w, auto s) {
  auto const [last, rows] = filter(x, w, s);
  return last + ct::sum(rows * rows);
};

struct slopes {
  double value;
  std::vector<double> dx;
  double dw, ds;
};
slopes by_hand(std::vector<double> const& x, double w, double s) {
  std::size_t const n = x.size();
  std::vector<double> y(n + 1);
  y[0] = s;
  slopes d{0, std::vector<double>(n), 0, 0};
  for (std::size_t i = 0; i < n; ++i) {
    y[i + 1] = std::tanh(w * y[i] + x[i]);
    d.value += y[i + 1] * y[i + 1];
  }
  d.value += y[n];
  double dy = 1;
  for (std::size_t i = n; i-- > 0;) {
    double const t = (dy + 2 * y[i + 1]) * (1 - y[i + 1] * y[i + 1]);
    d.dx[i] = t;
    d.dw += t * y[i];
    dy = t * w;
  }
  d.ds = dy;
  return d;
}
std::vector<double> series(std::size_t n) {
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = std::sin(0.7 * static_cast<double>(i));
  return x;
}
template <class X> void agrees(X const& x, std::vector<double> const& values) {
  slopes const expected = by_hand(values, 0.8, 0.3);
  auto const [value, gradients] = ct::value_and_grad<0, 1, 2>(energy)(x, 0.8, 0.3);
  auto const& [dx, dw, ds] = gradients;
  CHECK(value == Approx(expected.value));
  CHECK(dw == Approx(expected.dw));
  CHECK(ds == Approx(expected.ds));
  REQUIRE(dx.size() == static_cast<std::int64_t>(values.size()));
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) worst = std::max(worst, std::abs(dx.data()[i] - expected.dx[i]));
  CHECK(worst < 1e-12);
}
template <int N> void agrees_for() {
  ct::tensor<double, N> x;
  std::vector<double> const values = series(N);
  std::copy(values.begin(), values.end(), x.begin());
  agrees(x, values);
}

} // namespace

TEST_CASE("a scan over numbers has the value and the gradients of a plain loop") {
  agrees_for<1>();
  agrees_for<2>();
  agrees_for<100>();
  ct::tensor<double, 0> const nothing;
  CHECK(ct::compiled(energy)(nothing, 0.8, 0.3) == 0.3);
  CHECK(std::get<2>(ct::grad<0, 1, 2>(energy)(nothing, 0.8, 0.3)) == 1);
}

TEST_CASE("a scan over a named extent has the value and the gradients of a plain loop") {
  for (std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{10000}}) {
    ct::tensor<double, "n"> x(static_cast<std::int64_t>(n));
    std::vector<double> const values = series(n);
    std::copy(values.begin(), values.end(), x.begin());
    agrees(x, values);
  }
}

namespace {
// A cell with a vector as state, over rows of vectors from the last to the first, and labels.
inline constexpr auto cell = [](auto x, auto labels, auto w) {
  auto const [last, rows] = ct::scan<ct::loop{.reverse = true}>(
      [&](auto carry, auto row, auto label) {
        auto const [state, count] = carry;
        auto const next = ct::tanh(ct::sum(w * state, ct::axes<1>) + row) * ct::convert<double>(label);
        return std::pair(std::tuple(next, count + label), std::tuple(next, row * state));
      },
      std::tuple(ct::zeros<5>(), std::int64_t{0}), x, labels);
  return std::tuple(std::get<0>(last), std::get<0>(rows), std::get<1>(rows));
};
inline constexpr auto cell_cost = [](auto x, auto labels, auto w) {
  auto const [last, states, products] = cell(x, labels, w);
  return ct::sum(last) + ct::sum(states * products);
};
inline constexpr auto unrolled_cost = [](auto x, auto labels, auto w) {
  ct::expr<double, 5> state = ct::zeros<5>();
  ct::expr<double> sum = 0.0;
  for (int k = 7; k-- > 0;) {
    auto const next = ct::tanh(ct::sum(w * state, ct::axes<1>) + x(k)) * ct::convert<double>(labels(k));
    sum += ct::sum(next * (x(k) * state));
    state = next;
  }
  return ct::sum(state) + sum;
};
} // namespace

TEST_CASE("rows of vectors from the last to the first, with labels and trees, have the gradients of the unrolled loop") {
  ct::tensor<double, 7, 5> x;
  ct::tensor<double, 5, 5> w;
  ct::tensor<std::int64_t, 7> labels;
  for (int i = 0; i < 35; ++i) x.data()[i] = std::cos(0.3 * i);
  for (int i = 0; i < 25; ++i) w.data()[i] = 0.3 * std::sin(1.1 * i);
  for (int i = 0; i < 7; ++i) labels(i) = i % 3;
  auto const [value, found] = ct::value_and_grad<0, 2>(cell_cost)(x, labels, w);
  auto const [same_value, expected] = ct::value_and_grad<0, 2>(unrolled_cost)(x, labels, w);
  CHECK(value == Approx(same_value));
  for (int i = 0; i < 35; ++i) CHECK(std::get<0>(found).data()[i] == Approx(std::get<0>(expected).data()[i]).margin(1e-14));
  for (int i = 0; i < 25; ++i) CHECK(std::get<1>(found).data()[i] == Approx(std::get<1>(expected).data()[i]).margin(1e-14));
  auto const direction = x;
  CHECK(ct::jvp<0>(cell_cost)(x, labels, w, direction).second ==
        Approx(ct::jvp<0>(unrolled_cost)(x, labels, w, direction).second));
  auto const h = ct::hvp<0>(cell_cost)(x, labels, w, direction), same_h = ct::hvp<0>(unrolled_cost)(x, labels, w, direction);
  for (int i = 0; i < 35; ++i) CHECK(h.data()[i] == Approx(same_h.data()[i]).margin(1e-13));
}

TEST_CASE("a program with a scan has a workspace of constant size, which grows by the records of its rows") {
  using small = ct::program<decltype(ct::grad<0>(energy)), ct::tensor<double, 100>, double, double>;
  using large = ct::program<decltype(ct::grad<0>(energy)), ct::tensor<double, 1000>, double, double>;
  CHECK(large::workspace_bytes <= 10 * small::workspace_bytes + 4096);
  static_assert(small::workspace_bytes <= 4 * 8 * 100 + 512);
}

namespace {
inline constexpr auto pair_of_scans = [](auto x, auto s) {
  auto const inner = [](auto c, auto row) {
    auto const [last, rows] = ct::scan([](auto d, auto z) { return std::pair(d * z, d + z); }, c, row);
    return std::pair(last + 1, rows * c);
  };
  auto const [last, rows] = ct::scan(inner, s, x);
  auto const [again, sums] = ct::scan([](auto c, auto row) { return std::pair(c + ct::sum(row), c); }, last, rows);
  return again + ct::sum(sums) + ct::sum(rows * rows);
};
inline constexpr auto loops_of_scans = [](auto x, auto s) {
  return ct::for_loop(3, [&](auto, auto t) { return t + 0.1 * energy(x, t, s); }, s);
};
} // namespace

TEST_CASE("scans in scans and in loops, and scans of scans, agree with differences") {
  ct::tensor<double, 3, 2> const m{{1, 0.5}, {0.3, -0.2}, {0.7, 0.9}};
  CHECK(ct::check_gradient(pair_of_scans, m, 0.7));
  ct::tensor<double, 4> const x{0.5, -0.25, 0.75, 0.1};
  CHECK(ct::check_gradient(loops_of_scans, x, 0.4));
}

namespace {
/// The interpreter and the evaluation element by element on the graph of a program, twice with one tape.
template <class P> void interpreters_agree(std::vector<double> const& at) {
  ct::interpreter const p(P::graph);
  if (p.failed().why != nullptr) FAIL(p.failed().why->text);
  std::vector<double> const expected = nest_runs::evaluated_element_by_element(P::graph, p, at);
  ct::detail::tape record;
  for (int run = 0; run < 2; ++run) {
    std::vector<double> const found = nest_runs::interpreted(p, at, record);
    REQUIRE(found.size() == expected.size());
    for (std::size_t k = 0; k < found.size(); ++k) CHECK(found[k] == Approx(expected[k]).epsilon(1e-12));
  }
}
inline constexpr auto slope_of_slope = [](auto x, auto s) {
  return ct::grad([&](auto y) { return ct::sum(ct::square(ct::grad([&](auto z) { return pair_of_scans(z, s); })(y))); })(x);
};
} // namespace

TEST_CASE("the interpreter runs scans, their gradients and second gradients") {
  using row = ct::tensor<double, 4>;
  using matrix = ct::tensor<double, 3, 2>;
  interpreters_agree<ct::program<decltype(ct::compiled(energy)), row, double, double>>({0.1, 0.2, -0.3, 0.4, 0.8, 0.3});
  interpreters_agree<ct::program<decltype(ct::value_and_grad<0, 1, 2>(energy)), row, double, double>>({0.1, 0.2, -0.3, 0.4, 0.8, 0.3});
  std::vector<double> const at{1, 0.5, 0.3, -0.2, 0.7, 0.9, 0.7};
  interpreters_agree<ct::program<decltype(ct::value_and_grad<0, 1>(pair_of_scans)), matrix, double>>(at);
  interpreters_agree<ct::program<decltype(ct::compiled(slope_of_slope)), matrix, double>>(at);
  interpreters_agree<ct::program<decltype(ct::grad<0, 2>(energy)), ct::tensor<double, 0>, double, double>>({0.8, 0.3});
}
