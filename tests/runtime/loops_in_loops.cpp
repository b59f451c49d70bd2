// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>
#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

// Loops in loops whose carried values are too large for registers: they are updated in place through all of them, or written by turns.
// Compiled functions, against graphs at run time.

namespace {

namespace ct = cotangent;

constexpr int side = 11, count = side * side;

/// Each element from three others, which are computed already.
constexpr auto table = [](auto x, auto w) {
  return ct::sum(ct::for_loop(side - 1, [=](auto i, auto above) {
    return ct::for_loop(side - 1, [=](auto j, auto t) {
      return ct::at(t, i + 1, j + 1).set(ct::tanh(t(i, j) * w(j) + t(i, j + 1) - .5 * t(i + 1, j)));
    }, above);
  }, x) * x);
};
/// Inner loops of no iteration, of one, and of more; three loops in each other.
constexpr auto triangle = [](auto x, auto w) {
  return ct::sum(ct::for_loop(3, [=](auto, auto first) {
    return ct::for_loop(4, [=](auto i, auto second) {
      return ct::for_loop(i, [=](auto j, auto t) { return ct::at(t, i, j).set(ct::sin(t(j, i)) * w(j)); }, second);
    }, first);
  }, x));
};
/// Every element reads another one, so that values are written by turns, an even and an odd number of times.
constexpr auto turned = [](auto x, auto w) {
  return ct::sum(ct::square(ct::for_loop(3, [=](auto i, auto a) {
    return ct::for_loop(i + 2, [=](auto, auto t) { return .5 * t + ct::sin(ct::transpose(t)) * w; }, a);
  }, x)));
};
/// Two tables change places in the inner loop, and in the outer one.
constexpr auto exchanged = [](auto x, auto w) {
  auto const [a, b] = ct::for_loop(3, [=](auto i, auto p, auto q) {
    auto const [r, s] = ct::for_loop(i + 1, [=](auto j, auto t, auto u) {
      return std::tuple(ct::at(u, j, j).set(t(j, i) * w(i)), ct::at(t, i, j).add(u(i, i)));
    }, p, q);
    return std::tuple(s, r);
  }, x, x * x);
  return ct::sum(a * b);
};
/// The table from before the inner loop is read in it, and behind it.
constexpr auto kept = [](auto x, auto w) {
  return ct::sum(ct::square(ct::for_loop(3, [=](auto i, auto before) {
    auto const after = ct::for_loop(4, [=](auto j, auto t) { return ct::at(t, i, j).set(before(j, i) * w(j) + t(i, j + 1)); }, before);
    return after + .25 * before;
  }, x)));
};
/// Both inner loops begin with the same table.
constexpr auto forked = [](auto x, auto w) {
  return ct::sum(ct::for_loop(2, [=](auto i, auto before) {
    auto const one = ct::for_loop(3, [=](auto j, auto t) { return ct::at(t, i, j).set(t(j, j) * w(j)); }, before);
    auto const other = ct::for_loop(3, [=](auto j, auto t) { return ct::at(t, j, i).add(t(j, j) * w(j)); }, before);
    return one * other;
  }, x));
};
/// The body of the inner loop reads the table that the loop began with.
constexpr auto captured = [](auto x, auto w) {
  return ct::sum(ct::square(ct::for_loop(3, [=](auto i, auto before) {
    return ct::for_loop(4, [=](auto j, auto t) { return ct::at(t, i, j).set(before(i, j) * w(j) + t(i, j + 1) + before(1, 1)); }, before);
  }, x)));
};
/// One table is the start of both carried values.
constexpr auto doubled = [](auto x, auto w) {
  auto const [a, b] = ct::for_loop(2, [=](auto i, auto before, auto) {
    return ct::for_loop(3, [=](auto j, auto t, auto u) {
      return std::tuple(ct::at(t, i, j).set(u(j, j) * w(j)), ct::at(u, j, i).add(t(i, i)));
    }, before, before);
  }, x, x);
  return ct::sum(a - .5 * b);
};
constexpr auto until = [](auto x, auto w) {
  return ct::sum(ct::for_loop(3, [=](auto i, auto a) {
    return std::get<1>(ct::while_loop<ct::loop{.max_iterations = 6}>(
        [=](auto, auto j, auto t) { return j < i + 3 && t(i, 0) < 1.; },
        [=](auto, auto j, auto t) { return std::tuple(j + 1, ct::at(t, i, 0).add(.3 + .1 * w(j) * t(j, i))); }, std::int64_t{0}, a));
  }, x));
};

template <class F> void agrees(F f) {
  ct::tensor<double, side, side> x;
  ct::tensor<double, side> w;
  for (int k = 0; k < count; ++k) x.data()[k] = std::sin(k * .7);
  for (int k = 0; k < side; ++k) w.data()[k] = .5 + .3 * std::cos(k * .3);
  auto const [value, slopes] = ct::value_and_grad<0, 1>(f)(x, w);
  ct::dynamic::graph g;
  auto const gx = g.input<double>("x", {side, side}), gw = g.input<double>("w", {side});
  auto const y = f(gx, gw);
  auto const d = g.gradient({y}, {gx, gw});
  auto p = g.compile({y, d[0], d[1]});
  p.bind(gx, x);
  p.bind(gw, w);
  p.run();
  auto const is_near = [](double found, double expected) { CHECK(std::fabs(found - expected) <= 1e-12 * (1 + std::fabs(expected))); };
  is_near(value, p.value(y)());
  for (int i = 0; i < side; ++i) {
    is_near(std::get<1>(slopes)(i), p.value(d[1])(i));
    for (int j = 0; j < side; ++j) is_near(std::get<0>(slopes)(i, j), p.value(d[0])(i, j));
  }
  is_near(ct::compiled(f)(x, w), value);
  // and differences along one direction, since both have the same rules
  double const h = 1e-6;
  double along = 0;
  auto up = x, down = x;
  for (int k = 0; k < count; ++k) {
    double const v = std::cos(k * 1.3);
    along += std::get<0>(slopes).data()[k] * v;
    up.data()[k] += h * v, down.data()[k] -= h * v;
  }
  double const slope = (ct::compiled(f)(up, w) - ct::compiled(f)(down, w)) / (2 * h);
  CHECK(std::fabs(slope - along) <= 1e-6 * (1 + std::fabs(along)));
}

} // namespace

TEST_CASE("A table is updated through loops in loops, whatever their counts") {
  agrees(table);
  agrees(triangle);
  agrees(until);
}
TEST_CASE("Inner loops write their values by turns where positions are read that others write") {
  agrees(turned);
  agrees(exchanged);
}
TEST_CASE("A table that is read after an inner loop began with it keeps its elements") {
  agrees(kept);
  agrees(forked);
  agrees(captured);
  agrees(doubled);
}
