// SPDX-License-Identifier: BSL-1.0
// Loops whose body reads a carried value only in its product with a captured one: their adjoints carry one factor of the cotangent.
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

namespace {

namespace ct = cotangent;

/// The sum of the squares of all states s <- a s + b x, weighted; the last state is read with `Last`.
template <bool Last, ct::loop O = ct::loop{}> inline constexpr auto recurrence = [](auto a, auto b, auto s, auto x) {
  auto const [last, rows] = ct::scan<O>(
      [&](auto before, auto row) {
        auto const next = a * before + b * row;
        return std::pair(next, next);
      },
      s, x);
  auto const y = ct::sum(ct::square(rows));
  if constexpr (Last) return y + 3 * last;
  else return y;
};
/// The same, of vectors, with a nonlinear step and a condition.
inline constexpr auto network = [](auto a, auto b, auto s, auto x) {
  auto const [last, total] = ct::while_loop(
      [](auto i, auto, auto) { return i < 5; },
      [&](auto i, auto h, auto sum) {
        auto const next = ct::tanh(a * h + b * x(i));
        return std::pair(next, sum + ct::dot(next, next));
      },
      s, 0.0);
  return total;
};

struct result {
  double value = 0, da = 0, db = 0, ds = 0;
  std::vector<double> dx;
};
/// The reverse sweep by hand.
result swept(double a, double b, double s, std::vector<double> const& x, bool last) {
  std::size_t const n = x.size();
  std::vector<double> state{s};
  result r;
  for (double const v : x) state.push_back(a * state.back() + b * v), r.value += state.back() * state.back();
  double c = last ? 3 : 0;
  r.value += last ? 3 * state.back() : 0;
  r.dx.resize(n);
  for (std::size_t k = n; k-- > 0;) {
    double const d = c + 2 * state[k + 1];
    r.da += d * state[k];
    r.db += d * x[k];
    r.dx[k] = d * b;
    c = d * a;
  }
  r.ds = c;
  return r;
}

template <bool Last> void check(std::int64_t n, double a) {
  std::vector<double> x;
  for (std::int64_t k = 0; k < n; ++k) x.push_back(std::sin(1. + static_cast<double>(k)));
  double const b = .7, s = -.4;
  result const r = swept(a, b, s, x, Last);
  ct::view<double const, "n"> const rows(x.data(), n);
  auto const [value, gradient] = ct::value_and_grad<0, 1, 2, 3>(recurrence<Last>)(a, b, s, rows);
  auto const near = [](double of) { return Approx(of).epsilon(1e-13).margin(1e-13); };
  CHECK(value == near(r.value));
  CHECK(std::get<0>(gradient) == near(r.da));
  CHECK(std::get<1>(gradient) == near(r.db));
  CHECK(std::get<2>(gradient) == near(r.ds));
  for (std::int64_t k = 0; k < n; ++k) CHECK(std::get<3>(gradient)(k) == near(r.dx[static_cast<std::size_t>(k)]));

  ct::dynamic::graph g;
  auto ga = g.input<double>("a"), gb = g.input<double>("b"), gs = g.input<double>("s"), gx = g.input<double>("x", {n});
  auto y = recurrence<Last>(ga, gb, gs, gx);
  auto const d = g.gradient({y}, {ga, gb, gs, gx});
  auto p = g.compile({d[0], d[1], d[2], d[3]});
  p.bind(ga, a);
  p.bind(gb, b);
  p.bind(gs, s);
  p.bind(gx, x);
  p.run();
  CHECK(p.value(d[0])() == near(r.da));
  CHECK(p.value(d[2])() == near(r.ds));
  for (std::int64_t k = 0; k < n; ++k) CHECK(p.value(d[3])(k) == near(r.dx[static_cast<std::size_t>(k)]));
}

/// The operation that makes what a reverse loop carries first.
template <class P> consteval ct::operation const* carried_by_adjoint() {
  ct::extend::graph_view const g = P::graph;
  ct::operation const* op = nullptr;
  for (std::int32_t i = 0; i < g.node_count; ++i) {
    if (g.nodes[i].op != ct::info_of<ct::op::loop>()) continue;
    ct::detail::loop_layout const at = ct::detail::loop_layout::of(g, g.nodes[i]);
    if (at.is_reverse()) op = g.producer(g.output(at.next(0), at.body))->op;
  }
  return op;
}
template <bool Last>
using program = ct::program<decltype(ct::value_and_grad<0, 1, 2>(recurrence<Last>)), double, double, double, ct::tensor<double, 100>>;
static_assert(carried_by_adjoint<program<false>>() != ct::info_of<ct::op::multiply>(), "a sum, or a fused multiply-add");
static_assert(carried_by_adjoint<program<true>>() == ct::info_of<ct::op::multiply>(), "its first cotangent is not 0");

} // namespace

TEST_CASE("Gradients of linear recurrences agree with a sweep by hand, for no, one and many iterations", "[recurrences]") {
  for (std::int64_t const n : {0, 1, 2, 50})
    for (double const a : {.9, -.5, 0.}) {
      check<false>(n, a);
      check<true>(n, a);
    }
}

TEST_CASE("Gradients of recurrences of vectors agree with differences, and with forward mode", "[recurrences]") {
  ct::tensor<double, 3> const a{.3, -.8, 1.1}, b{.5, .2, -.7}, s{.1, .4, -.9};
  ct::tensor<double, 5, 3> x;
  for (int k = 0; k < 15; ++k) x.data()[k] = std::cos(2. * k);
  auto const by = [&](auto const& f, int argument, int k, double h) {
    auto c = a, d = b, t = s;
    (argument == 0 ? c : argument == 1 ? d : t).data()[k] += h;
    return f(c, d, t, x);
  };
  auto const [da, db, ds] = ct::grad<0, 1, 2>(network)(a, b, s, x);
  auto const second = ct::hessian<2>(network)(a, b, s, x);
  auto const of_forward = ct::jacfwd<2>(ct::grad<2>(network))(a, b, s, x), of_reverse = ct::jacrev<2>(ct::grad<2>(network))(a, b, s, x);
  double const h = 1e-5;
  for (int k = 0; k < 3; ++k) {
    auto const f = ct::compiled(network);
    auto const slope = [&](int argument) { return (by(f, argument, k, h) - by(f, argument, k, -h)) / (2 * h); };
    CHECK(da(k) == Approx(slope(0)).epsilon(1e-8).margin(1e-9));
    CHECK(db(k) == Approx(slope(1)).epsilon(1e-8).margin(1e-9));
    CHECK(ds(k) == Approx(slope(2)).epsilon(1e-8).margin(1e-9));
    auto const up = by(ct::grad<2>(network), 2, k, h), down = by(ct::grad<2>(network), 2, k, -h);
    for (int j = 0; j < 3; ++j) {
      CHECK(second(j, k) == Approx((up(j) - down(j)) / (2 * h)).epsilon(1e-7).margin(1e-8));
      CHECK(of_forward(j, k) == Approx(of_reverse(j, k)).epsilon(1e-13).margin(1e-15));
    }
  }
}

TEST_CASE("Gradients of recurrences have the same bits with a tape limit", "[recurrences]") {
  ct::tensor<double, 1000> x;
  for (int k = 0; k < 1000; ++k) x.data()[k] = std::sin(.1 * k);
  auto const whole = ct::grad<0, 1, 2>(recurrence<false>)(.9, .7, -.4, x);
  auto const limited = ct::grad<0, 1, 2>(recurrence<false, ct::loop{.tape_limit = 2048}>)(.9, .7, -.4, x);
  CHECK(whole == limited);
  using P = ct::program<decltype(ct::grad<0, 1, 2>(recurrence<false>)), double, double, double, ct::tensor<double, 1000>>;
  using Q = ct::program<decltype(ct::grad<0, 1, 2>(recurrence<false, ct::loop{.tape_limit = 2048}>)), double, double, double,
                        ct::tensor<double, 1000>>;
  static_assert(Q::workspace_bytes < P::workspace_bytes);
}

/// Its loop becomes a loop over parts, whose operands have another order.
template <ct::loop O, bool First> inline constexpr auto sum_of_squares = [](auto s, auto x, auto b) {
  auto const step = [&](auto u, auto t) {
    auto const q = b + x * u;
    return std::pair(q, t + ct::sum(q * q));
  };
  if constexpr (First) return std::get<1>(ct::for_loop<O>(100, [&](auto, auto u, auto t) { return step(u, t); }, s, 0.0));
  else return std::get<0>(ct::for_loop<O>(100, [&](auto, auto t, auto u) { return std::pair(step(u, t).second, step(u, t).first); }, 0.0, s));
};
template <bool First, class T> void check_parts(T const& s, T const& x, T const& b) {
  auto const whole = ct::grad<0, 1, 2>(sum_of_squares<ct::loop{}, First>)(s, x, b);
  CHECK(whole == ct::grad<0, 1, 2>(sum_of_squares<ct::loop{.tape_limit = 400}, First>)(s, x, b));
  CHECK(whole == ct::grad<0, 1, 2>(sum_of_squares<ct::loop{.tape_limit = 1000}, First>)(s, x, b));
}
TEST_CASE("Gradients in the first value have the same bits if a tape limit cuts the loop into parts", "[recurrences]") {
  CHECK(ct::grad<0>(sum_of_squares<ct::loop{.tape_limit = 400}, true>)(.1, .7, .3) == Approx(2.9372549));
  check_parts<true>(.1, .7, .3);
  check_parts<false>(.1, .7, .3);
  check_parts<true>(ct::tensor<double, 4>{.1, -.2, .3, .4}, ct::tensor<double, 4>{.7, .9, -.5, .2}, ct::tensor<double, 4>{.3, .1, -.2, .5});

  ct::dynamic::graph g;
  auto s = g.input<double>("s", {4}), x = g.input<double>("x", {4}), b = g.input<double>("b", {4});
  auto const y = sum_of_squares<ct::loop{}, true>(s, x, b);
  ct::dynamic::gradient_options const limited{.tape = {.limit = 3000}};
  auto const whole = g.gradient({y}, {s, x}), parts = g.gradient({y}, {s, x}, {}, limited);
  auto p = g.compile({whole[0], whole[1], parts[0], parts[1]});
  p.bind(s, std::vector<double>{.1, -.2, .3, .4});
  p.bind(x, std::vector<double>{.7, .9, -.5, .2});
  p.bind(b, std::vector<double>{.3, .1, -.2, .5});
  p.run();
  for (std::size_t k = 0; k < 2; ++k)
    for (int i = 0; i < 4; ++i) CHECK(p.value(whole[k])(i) == p.value(parts[k])(i));
  CHECK(p.value(whole[0])(0) == ct::grad<0>(sum_of_squares<ct::loop{}, true>)(
                                    ct::tensor<double, 4>{.1, -.2, .3, .4}, ct::tensor<double, 4>{.7, .9, -.5, .2},
                                    ct::tensor<double, 4>{.3, .1, -.2, .5})(0));
}

TEST_CASE("The value of a recurrence has the same bits with and without its gradient", "[recurrences]") {
  ct::tensor<double, 1000> x;
  for (int k = 0; k < 1000; ++k) x.data()[k] = std::sin(.1 * k);
  CHECK(ct::compiled(recurrence<true>)(.9, .7, -.4, x) == std::get<0>(ct::value_and_grad<0, 1, 2>(recurrence<true>)(.9, .7, -.4, x)));
}
