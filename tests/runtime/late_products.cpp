// SPDX-License-Identifier: BSL-1.0
// Matrix products in loops: sums of products of all iterations, as gradients of weights are, and vectors times matrices in run-time graphs.
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>
#include <cotangent/eager.hpp>

#include "catch.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

namespace ct = cotangent;

/// A recurrent network h <- tanh(x w + h u), with the sum of the squares of all states.
template <ct::loop O = ct::loop{}> inline constexpr auto network = [](auto x, auto w, auto u, auto start) {
  auto const states = ct::scan<O>(
      [&](auto h, auto row) {
        auto const next = ct::tanh(ct::matmul(row, w) + ct::matmul(h, u));
        return std::pair(next, next);
      },
      start, x).second;
  return ct::sum(states * states);
};

inline constexpr int inputs = 12, hidden = 32;

struct result {
  double value = 0;
  std::vector<double> dw, du, dstart;
};
/// The reverse sweep by hand, for `batch` rows of states.
result swept(int steps, int batch, bool reverse, double const* x, double const* w, double const* u, double const* start) {
  auto const states = static_cast<std::size_t>(batch * hidden);
  std::vector<std::vector<double>> h{std::vector<double>(start, start + states)};
  result r{0, std::vector<double>(inputs * hidden), std::vector<double>(hidden * hidden), std::vector<double>(states)};
  auto const row = [&](int t) { return x + (reverse ? steps - 1 - t : t) * batch * inputs; };
  for (int t = 0; t < steps; ++t) {
    std::vector<double> next(states);
    for (int b = 0; b < batch; ++b)
      for (int j = 0; j < hidden; ++j) {
        double sum = 0;
        for (int i = 0; i < inputs; ++i) sum += row(t)[b * inputs + i] * w[i * hidden + j];
        for (int i = 0; i < hidden; ++i) sum += h.back()[static_cast<std::size_t>(b * hidden + i)] * u[i * hidden + j];
        next[static_cast<std::size_t>(b * hidden + j)] = std::tanh(sum);
      }
    for (double const s : next) r.value += s * s;
    h.push_back(next);
  }
  std::vector<double> d(states);
  for (int t = steps; t-- > 0;) {
    std::vector<double> before(states);
    auto const& now = h[static_cast<std::size_t>(t) + 1];
    for (std::size_t k = 0; k < states; ++k) d[k] = (d[k] + 2 * now[k]) * (1 - now[k] * now[k]);
    for (int b = 0; b < batch; ++b)
      for (int j = 0; j < hidden; ++j) {
        double const dj = d[static_cast<std::size_t>(b * hidden + j)];
        for (int i = 0; i < inputs; ++i) r.dw[static_cast<std::size_t>(i * hidden + j)] += row(t)[b * inputs + i] * dj;
        for (int i = 0; i < hidden; ++i) {
          r.du[static_cast<std::size_t>(i * hidden + j)] += h[static_cast<std::size_t>(t)][static_cast<std::size_t>(b * hidden + i)] * dj;
          before[static_cast<std::size_t>(b * hidden + i)] += u[i * hidden + j] * dj;
        }
      }
    d = before;
  }
  r.dstart = d;
  return r;
}

template <class Tensor> void fill(Tensor& t, double phase) {
  using T = std::remove_cvref_t<decltype(*t.data())>;
  for (std::ptrdiff_t k = 0; k < static_cast<std::ptrdiff_t>(t.size()); ++k) t.data()[k] = static_cast<T>(.3 * std::sin(phase + 1.7 * static_cast<double>(k)));
}
template <class Gradient> void compare(Gradient const& gradient, std::vector<double> const& by_hand, double tolerance) {
  double worst = 0;
  for (std::size_t k = 0; k < by_hand.size(); ++k) worst = std::fmax(worst, std::fabs(static_cast<double>(gradient.data()[k]) - by_hand[k]));
  CHECK(worst < tolerance);
}
template <class T, class X, class S> void check(X const& x, S const& start, int steps, int batch, double tolerance) {
  ct::tensor<T, inputs, hidden> w;
  ct::tensor<T, hidden, hidden> u;
  fill(w, .5);
  fill(u, .2);
  std::vector<double> const rows(x.data(), x.data() + steps * batch * inputs), as_w(w.data(), w.data() + inputs * hidden),
      as_u(u.data(), u.data() + hidden * hidden), as_s(start.data(), start.data() + batch * hidden);
  auto const compared = [&](auto const& f, bool reverse) {
    result const r = swept(steps, batch, reverse, rows.data(), as_w.data(), as_u.data(), as_s.data());
    auto const [value, gradient] = ct::value_and_grad<1, 2, 3>(f)(x, w, u, start);
    CHECK(static_cast<double>(value) == Approx(r.value).epsilon(tolerance));
    compare(std::get<0>(gradient), r.dw, tolerance);
    compare(std::get<1>(gradient), r.du, tolerance);
    compare(std::get<2>(gradient), r.dstart, tolerance);
  };
  compared(network<>, false);
  compared(network<ct::loop{.reverse = true}>, true);
  compared(network<ct::loop{.tape_limit = 32 * 1024}>, false);
}

/// The numbers of matrix products, and of values that loops carry in reverse.
struct counts {
  int products = 0, carried = 0;
};
template <class P> consteval counts counted() {
  ct::extend::graph_view const g = P::graph;
  counts c;
  for (std::int32_t i = 0; i < g.node_count; ++i) {
    if (g.nodes[i].op == ct::info_of<ct::op::matmul>() && g.nodes[i].region == 0) ++c.products;
    if (g.nodes[i].op == ct::info_of<ct::op::loop>())
      if (ct::detail::loop_layout const at = ct::detail::loop_layout::of(g, g.nodes[i]); at.is_reverse()) c.carried += at.carried;
  }
  return c;
}
template <std::ptrdiff_t H, ct::loop O = ct::loop{}>
using program = ct::program<decltype(ct::value_and_grad<1, 2>(network<O>)), ct::tensor<double, 20, inputs>, ct::tensor<double, inputs, H>,
                            ct::tensor<double, H, H>, ct::tensor<double, H>>;
static_assert(counted<program<hidden>>().products == 2 && counted<program<hidden>>().carried == 1, "both sums leave the loop");
static_assert(counted<program<8>>().products == 0, "small matrices are summed in the loop");
static_assert(counted<program<hidden, ct::loop{.tape_limit = 16 * 1024}>>().products == 0, "the factors would exceed the limit");

/// The same over the first five rows of x, which may have more.
inline constexpr auto first_rows = [](auto x, auto w, auto u, auto start) {
  auto const [last, total] = ct::for_loop(
      5,
      [&](auto i, auto h, auto sum) {
        auto const next = ct::tanh(ct::matmul(x(i), w) + ct::matmul(h, u));
        return std::tuple(next, sum + ct::dot(next, next));
      },
      start, 0.0);
  return total;
};

/// A sum of outer products that a user wrote, on top of a matrix.
inline constexpr auto gram = [](auto first, auto x, auto y) {
  auto const sum = ct::scan([](auto all, auto u, auto v) { return std::pair(all + ct::outer(u, v), 0.0); }, first, x, y).first;
  return ct::sum(sum * sum);
};

/// The value and the gradients of f in a run-time graph, for `rows` rows of x.
template <class F>
void check_in_graph(F const& f, double const* x, int rows, ct::tensor<double, inputs, hidden> const& w, ct::tensor<double, hidden, hidden> const& u,
                    ct::tensor<double, hidden> const& start, result const& r, ct::dynamic::compile_options const& options) {
  ct::dynamic::graph g;
  auto gx = g.input<double>("x", {rows, inputs}), gw = g.input<double>("w", {inputs, hidden}), gu = g.input<double>("u", {hidden, hidden}),
       gs = g.input<double>("s", {hidden});
  auto y = f(gx, gw, gu, gs);
  auto const d = g.gradient({y}, {gw, gu, gs});
  auto p = g.compile({y, d[0], d[1], d[2]}, {}, options);
  std::vector<double> const all(x, x + rows * inputs);
  p.bind(gx, all);
  p.bind(gw, w);
  p.bind(gu, u);
  p.bind(gs, start);
  p.run();
  CHECK(p.value(y)() == Approx(r.value).epsilon(1e-12));
  compare(p.value(d[0]), r.dw, 1e-12);
  compare(p.value(d[1]), r.du, 1e-12);
  compare(p.value(d[2]), r.dstart, 1e-12);
}

} // namespace

TEST_CASE("Gradients of weights in loops agree with a sweep by hand, for vectors and batches, forward and in reverse", "[late_products]") {
  ct::tensor<double, 9, inputs> x;
  ct::tensor<double, hidden> s;
  fill(x, .9);
  fill(s, .1);
  check<double>(x, s, 9, 1, 1e-12);

  ct::tensor<float, 9, inputs> xf;
  ct::tensor<float, hidden> sf;
  fill(xf, .9);
  fill(sf, .1);
  check<float>(xf, sf, 9, 1, 1e-4);

  ct::tensor<double, 7, 1, inputs> rows;
  ct::tensor<double, 1, hidden> row;
  fill(rows, .4);
  fill(row, .7);
  check<double>(rows, row, 7, 1, 1e-12);

  ct::tensor<double, 5, 3, inputs> batches;
  ct::tensor<double, 3, hidden> batch;
  fill(batches, .4);
  fill(batch, .7);
  check<double>(batches, batch, 5, 3, 1e-12);
}

TEST_CASE("Gradients of weights in loops are right for a named number of iterations, also none and one", "[late_products]") {
  for (int const n : {0, 1, 2, 30}) {
    std::vector<double> x(static_cast<std::size_t>(n * inputs));
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = .4 * std::cos(1.3 * static_cast<double>(k));
    ct::tensor<double, hidden> s;
    fill(s, .1);
    ct::view<double const, "n", inputs> const view(x.data(), n);
    check<double>(view, s, n, 1, 1e-12);
  }
}

TEST_CASE("Gradients of weights in loops are right if a loop reads the first rows of a tensor", "[late_products]") {
  ct::tensor<double, 9, inputs> x;
  ct::tensor<double, inputs, hidden> w;
  ct::tensor<double, hidden, hidden> u;
  ct::tensor<double, hidden> s;
  fill(x, .9);
  fill(w, .5);
  fill(u, .2);
  fill(s, .1);
  result const r = swept(5, 1, false, x.data(), w.data(), u.data(), s.data());
  auto const [value, gradient] = ct::value_and_grad<0, 1, 2, 3>(first_rows)(x, w, u, s);
  CHECK(value == Approx(r.value).epsilon(1e-12));
  compare(std::get<1>(gradient), r.dw, 1e-12);
  compare(std::get<2>(gradient), r.du, 1e-12);
  compare(std::get<3>(gradient), r.dstart, 1e-12);
  for (int i = 5; i < 9; ++i)
    for (int k = 0; k < inputs; ++k) CHECK(std::get<0>(gradient)(i, k) == 0);

  check_in_graph(first_rows, x.data(), 9, w, u, s, r, {});
}

TEST_CASE("Run-time graphs sum products after their loops", "[late_products]") {
  for (int const n : {1, 2, 17}) {
    ct::tensor<double, inputs, hidden> w;
    ct::tensor<double, hidden, hidden> u;
    ct::tensor<double, hidden> s;
    fill(w, .5);
    fill(u, .2);
    fill(s, .1);
    std::vector<double> x(static_cast<std::size_t>(n * inputs));
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = .4 * std::cos(1.3 * static_cast<double>(k));
    result const r = swept(n, 1, false, x.data(), w.data(), u.data(), s.data());
    for (bool const limited : {false, true}) {
      ct::dynamic::compile_options options;
      if (limited) options.mirror = &ct::is_cheap; // without products after the loop
      check_in_graph(network<>, x.data(), n, w, u, s, r, options);
    }
  }
}

TEST_CASE("A sum of outer products begins with its initial value", "[late_products]") {
  ct::tensor<double, 16, 24> first;
  ct::tensor<double, 6, 16> x;
  ct::tensor<double, 6, 24> y;
  fill(first, .2);
  fill(x, .4);
  fill(y, .9);
  double value = 0;
  std::vector<double> sum(first.data(), first.data() + 16 * 24), dx(6 * 16);
  for (std::size_t t = 0; t < 6; ++t)
    for (std::size_t i = 0; i < 16; ++i)
      for (std::size_t j = 0; j < 24; ++j) sum[i * 24 + j] += x.data()[t * 16 + i] * y.data()[t * 24 + j];
  for (double const v : sum) value += v * v;
  for (std::size_t t = 0; t < 6; ++t)
    for (std::size_t i = 0; i < 16; ++i)
      for (std::size_t j = 0; j < 24; ++j) dx[t * 16 + i] += 2 * sum[i * 24 + j] * y.data()[t * 24 + j];
  auto const [v, d] = ct::value_and_grad<0, 1>(gram)(first, x, y);
  CHECK(v == Approx(value).epsilon(1e-13));
  for (double& s : sum) s *= 2;
  compare(std::get<0>(d), sum, 1e-13);
  compare(std::get<1>(d), dx, 1e-13);
  auto const second = ct::hvp<1>([](auto a, auto b, auto c) { return gram(a, b, c); })(first, x, y, x);
  double const h = 1e-5;
  auto up = x, down = x;
  for (int k = 0; k < 6 * 16; ++k) up.data()[k] += h * x.data()[k], down.data()[k] -= h * x.data()[k];
  auto const high = ct::grad<1>(gram)(first, up, y), low = ct::grad<1>(gram)(first, down, y);
  for (int k = 0; k < 6 * 16; ++k)
    CHECK(second.data()[k] == Approx((high.data()[k] - low.data()[k]) / (2 * h)).epsilon(1e-7).margin(1e-8));
}

TEST_CASE("A vector times a matrix in a loop of a run-time graph takes no memory for the products", "[late_products]") {
  constexpr int n = 48, m = 80;
  ct::tensor<double, n, m> w;
  ct::tensor<double, n> x;
  ct::tensor<double, m> v;
  fill(w, .3);
  fill(x, .8);
  fill(v, .6);
  std::vector<double> row(m), column(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j) row[j] += x.data()[i] * w.data()[i * m + j], column[i] += w.data()[i * m + j] * v.data()[j];

  ct::dynamic::graph g;
  auto gw = g.input<double>("w", {n, m}), gx = g.input<double>("x", {n}), gv = g.input<double>("v", {m});
  auto const [y, z] = ct::for_loop(
      3, [&](auto, auto const&, auto const&) { return std::tuple(ct::matmul(gx, gw), ct::matmul(gw, gv)); }, gv, gx);
  auto p = g.compile({y, z});
  p.bind(gw, w);
  p.bind(gx, x);
  p.bind(gv, v);
  p.run();
  compare(p.value(y), row, 1e-13);
  compare(p.value(z), column, 1e-13);
  CHECK(p.workspace_bytes() < n * m * 8);

  ct::dynamic::eager e;
  auto const ew = e.parameter(std::vector<double>(w.begin(), w.end()), {n, m}), ex = e.parameter(std::vector<double>(x.begin(), x.end()), {n});
  auto const ey = ct::matmul(ex, ew);
  compare(ey.value(), row, 1e-13);
  e.backward(ct::sum(ey * ey));
  ct::tensor<double, m> twice;
  for (std::size_t j = 0; j < m; ++j) twice.data()[j] = 2 * row[j];
  auto const slope = ct::compiled([](auto a, auto b) { return ct::matmul(a, b); })(w, twice);
  compare(ex.grad().value(), std::vector<double>(slope.begin(), slope.end()), 1e-12);
}
