// SPDX-License-Identifier: BSL-1.0
#include <cotangent/inspect.hpp>

#include "catch.hpp"
#include "constant_calls.hpp"

#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

// Loops of compiled functions at run time: against constant evaluations of the same function, and against plain loops.

namespace {

namespace ct = cotangent;

using constant_calls::agrees, constant_calls::is_close;
using vec = ct::tensor<double, 3>;
using mat = ct::tensor<double, 3, 3>;

constexpr auto numbers = [] { return std::tuple(.7, 1.3); };
constexpr auto vectors = [] { return std::tuple(vec{.7, -.2, .4}, vec{.9, 1.1, -.3}); };
constexpr auto matrices = [] { return std::tuple(vec{.7, -.2, .4}, mat{{.1, .2, -.4}, {.5, -.3, .2}, {.1, .7, .3}}); };

constexpr auto power = [](auto x, auto w) { return ct::for_loop(5, [=](auto, auto y) { return ct::tanh(y * w) + x; }, x); };
constexpr auto never = [](auto x, auto w) { return ct::for_loop(0, [=](auto, auto y) { return y * w; }, x); };
constexpr auto once = [](auto x, auto w) { return ct::for_loop(1, [=](auto, auto y) { return y * w; }, x); };
constexpr auto total = [](auto x, auto w) { return ct::sum(ct::for_loop(4, [=](auto, auto y) { return ct::sin(y * w) + x; }, x)); };
/// Carried values change places: three values, by turns.
constexpr auto crossed = [](auto x, auto w) {
  auto [a, b, c] = ct::for_loop(5, [](auto, auto p, auto q, auto r) { return std::tuple(q, r, p * q); }, x, w, x * w);
  return ct::sum(a + 2 * b + 3 * c);
};
constexpr auto nested = [](auto x, auto w) {
  auto y = ct::for_loop(3, [=](auto i, auto a) {
    return ct::for_loop(i + 1, [=](auto, auto b) { return ct::cos(b) * w + a; }, a * x);
  }, x);
  return ct::sum(y * y);
};
constexpr auto counted = [](auto x, auto w) {
  auto [y, n] = ct::while_loop([](auto i, auto a, auto) { return i < 40 && ct::sum(a * a) < 3.; },
                               [=](auto i, auto a, auto k) { return std::tuple(a * 1.1 + ct::convert<double>(i) * w * .01, k + 2); }, x,
                               std::int64_t{1});
  return ct::sum(y) * ct::convert<double>(n);
};
constexpr auto matrix_power = [](auto x, auto m) {
  auto y = ct::for_loop(4, [=](auto, auto a) { return ct::tanh(ct::sum(m * a, ct::axes<1>) + x); }, x);
  return ct::sum(y * y);
};
constexpr auto flags = [](auto x, auto w) {
  auto [y, up] = ct::for_loop(6, [=](auto, auto a, auto rising) {
    auto next = ct::select(rising, a * 1.5, a * w);
    return std::tuple(next, !rising);
  }, x, x < w);
  return ct::sum(y) + ct::sum(ct::select(up, 1., 2.));
};

} // namespace

TEST_CASE("Loops over numbers run as their constant evaluations") {
  agrees(ct::compiled(power), numbers);
  agrees(ct::compiled(never), numbers);
  agrees(ct::compiled(once), numbers);
  agrees(ct::value_and_grad<0, 1>(power), numbers);
  agrees(ct::value_and_grad<0, 1>(never), numbers);
  agrees(ct::value_and_grad<0, 1>(once), numbers);
}
TEST_CASE("Loops over small tensors run as their constant evaluations") {
  agrees(ct::value_and_grad<0, 1>(total), vectors);
  agrees(ct::value_and_grad<0, 1>(crossed), vectors);
  agrees(ct::value_and_grad<0, 1>(matrix_power), matrices);
}
TEST_CASE("Nested loops, whose inner counts depend on outer ones, run as their constant evaluations") {
  agrees(ct::value_and_grad<0, 1>(nested), vectors);
}
TEST_CASE("Loops until a condition fails run as their constant evaluations, with integers and conditions carried") {
  agrees(ct::value_and_grad<0, 1>(counted), vectors);
  agrees(ct::value_and_grad<0, 1>(flags), vectors);
}

namespace {

constexpr auto series = [](auto x, auto w) {
  return ct::for_loop(3, [=](auto i, auto s) { return s * w(i) + ct::sin(x(i)) * x(2 - i) + x(-1); }, ct::sum(x));
};
constexpr auto walks = [](auto x, auto m) {
  auto y = ct::for_loop(3, [=](auto i, auto a) { return a * m(i) + m(ct::all, i) * m(i, i) + m(1, ct::range<0, 3>) * m(i, 1); }, x);
  return ct::sum(y * y);
};
constexpr auto beyond = [](auto x, auto k) { return x(k); };

} // namespace

TEST_CASE("Elements, rows and columns are read at computed positions, and their gradients are added there") {
  agrees(ct::value_and_grad<0, 1>(series), vectors);
  agrees(ct::value_and_grad<0, 1>(walks), matrices);
}
TEST_CASE("A computed position beyond the end is reported") {
  vec const x{1, 2, 3};
  using program = ct::program<decltype(ct::compiled(beyond)), vec, std::int64_t>;
  program::workspace memory;
  std::int64_t k = 3;
  double y = 0;
  CHECK(program::run(memory, std::tie(x, k), std::tie(y)) == ct::status::index_out_of_range);
  CHECK(y == 3);
  k = 1;
  CHECK(program::run(memory, std::tie(x, k), std::tie(y)) == ct::status::ok);
  CHECK(y == 2);
}

namespace {

/// The gradient of a long series is added in place, one element in each iteration.
template <int N> struct long_series {
  static constexpr auto f = [](auto x, auto a) { return ct::for_loop(N, [=](auto i, auto s) { return s * a + ct::sin(x(i)); }, 0.1); };
  using program = ct::program<decltype(ct::value_and_grad<0>(f)), ct::tensor<double, N>, double>;
  static_assert(program::workspace_bytes < 3 * 8 * N); // not one gradient more for each iteration
  static void check() {
    ct::tensor<double, N> x;
    for (int k = 0; k < N; ++k) x.data()[k] = .01 * k;
    auto const found = ct::value_and_grad<0>(f)(x, .9);
    double s = .1;
    for (int k = 0; k < N; ++k) s = s * .9 + std::sin(x.data()[k]);
    is_close(found.first, s);
    double scale = 1;
    for (int k = N; k-- > 0; scale *= .9) is_close(found.second.data()[k], scale * std::cos(x.data()[k]));
  }
};

} // namespace

TEST_CASE("The gradient of a series that a loop reads is right for long series") { long_series<500>::check(); }

namespace {

/// Of large tensors: two buffers for each carried value, by turns.
template <int Trips, int N> struct large {
  using row = ct::tensor<double, N>;
  static constexpr auto f = [](auto x, auto w) {
    auto [a, b] = ct::for_loop(Trips, [=](auto, auto p, auto q) { return std::tuple(ct::tanh(q * w) + .1, p + .5 * q); }, x, w);
    return ct::sum(a * b);
  };
  static void check() {
    row x, w, dx, dw;
    for (int k = 0; k < N; ++k) {
      x.data()[k] = std::sin(k * .7);
      w.data()[k] = .5 + .3 * std::cos(k * .3);
    }
    double sum = 0;
    for (int k = 0; k < N; ++k) { // one position at a time, forward mode by hand
      double const c = w.data()[k];
      double p = x.data()[k], q = c, px = 1, qx = 0, pw = 0, qw = 1;
      for (int i = 0; i < Trips; ++i) {
        double const t = std::tanh(q * c), s = 1 - t * t;
        double const np = t + .1, nq = p + .5 * q;
        double const npx = s * qx * c, nqx = px + .5 * qx, npw = s * (qw * c + q), nqw = pw + .5 * qw;
        p = np, q = nq, px = npx, qx = nqx, pw = npw, qw = nqw;
      }
      sum += p * q;
      dx.data()[k] = px * q + p * qx;
      dw.data()[k] = pw * q + p * qw;
    }
    auto const found = ct::value_and_grad<0, 1>(f)(x, w);
    CAPTURE(Trips, N);
    is_close(found.first, sum);
    is_close(std::get<0>(found.second), dx);
    is_close(std::get<1>(found.second), dw);
  }
};

} // namespace

TEST_CASE("Loops over large tensors agree with a sweep by hand, for odd and even counts") {
  large<0, 300>::check();
  large<1, 300>::check();
  large<6, 300>::check();
  large<7, 129>::check();
}

namespace {

constexpr auto by_name = [](auto x, auto w) {
  auto y = ct::for_loop(3, [=](auto, auto a) { return ct::sin(a) * w + x; }, x);
  return ct::sum(y * y);
};

} // namespace

TEST_CASE("Loops over tensors whose extents have names agree with those of numbers") {
  for (std::int64_t const n : {0, 1, 7, 100}) {
    ct::tensor<double, "n"> x(n), w(n);
    for (std::int64_t k = 0; k < n; ++k) {
      x.data()[k] = .1 * static_cast<double>(k);
      w.data()[k] = 1 - .02 * static_cast<double>(k);
    }
    auto const found = ct::value_and_grad<0, 1>(by_name)(x, w);
    double sum = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      double const x0 = x.data()[k], c = w.data()[k];
      double a = x0, ax = 1, aw = 0;
      for (int i = 0; i < 3; ++i) {
        double const s = std::sin(a), d = std::cos(a);
        a = s * c + x0, ax = d * ax * c + 1, aw = d * aw * c + s;
      }
      sum += a * a;
      is_close(std::get<0>(found.second).data()[k], 2 * a * ax);
      is_close(std::get<1>(found.second).data()[k], 2 * a * aw);
    }
    is_close(found.first, sum);
  }
}

namespace {

constexpr auto by_row = [](auto x, auto w, auto n) {
  auto const rows = ct::for_loop(n, [&](auto i, auto a) { return ct::tanh(w * a + x(i) + 0.5 * x(i + 1)); }, 0.1);
  auto const back = ct::for_loop<ct::loop{.reverse = true}>(n, [&](auto i, auto a) { return 0.5 * a + x(i) * x(i); }, 0.0);
  return rows + back;
};
constexpr auto by_1000_rows = [](auto x, auto w) { return by_row(x, w, 1000); };

template <class Found> void agrees_by_row(ct::tensor<double, 1001> const& x, double w, std::size_t n, Found const& found) {
  std::vector<double> a(n + 1), dx(1001);
  a[0] = .1;
  for (std::size_t k = 0; k < n; ++k) a[k + 1] = std::tanh(w * a[k] + x.data()[k] + .5 * x.data()[k + 1]);
  double back = 0, weight = 1, d = 1, dw = 0;
  for (std::size_t k = n; k-- > 0;) back = .5 * back + x.data()[k] * x.data()[k];
  for (std::size_t k = 0; k < n; ++k, weight *= .5) dx[k] += 2 * weight * x.data()[k];
  for (std::size_t k = n; k-- > 0;) {
    double const slope = d * (1 - a[k + 1] * a[k + 1]);
    dx[k] += slope, dx[k + 1] += .5 * slope, dw += slope * a[k], d = slope * w;
  }
  is_close(found.first, a[n] + back);
  for (std::size_t k = 0; k < dx.size(); ++k) is_close(std::get<0>(found.second).data()[k], dx[k]);
  is_close(std::get<1>(found.second), dw);
}
ct::tensor<double, 1001> sines() {
  ct::tensor<double, 1001> x;
  for (int k = 0; k < x.size(); ++k) x.data()[k] = std::sin(.1 * k);
  return x;
}

} // namespace

TEST_CASE("Loops that read a row at the number of the iteration agree with a sweep by hand") {
  auto const x = sines();
  agrees_by_row(x, .7, 1000, ct::value_and_grad<0, 1>(by_1000_rows)(x, .7));
}
TEST_CASE("Loops read rows in the same way if their count is an argument, which is checked before the loop") {
  auto const x = sines();
  for (std::int64_t const n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{37}, std::int64_t{1000}})
    agrees_by_row(x, .7, static_cast<std::size_t>(n), ct::value_and_grad<0, 1>(by_row)(x, .7, n));
  CHECK(ct::compiled(by_row)(x, .7, std::int64_t{-5}) == .1);

  using program = ct::program<decltype(ct::compiled(by_row)), ct::tensor<double, 1001>, double, std::int64_t>;
  CHECK(ct::describe<program>().find("straight-line code") != std::string::npos); // of the bodies
  program::workspace memory;
  double const w = .7;
  double whole = 0, y = 0;
  std::int64_t n = 1000;
  CHECK(program::run(memory, std::tie(x, w, n), std::tie(whole)) == ct::status::ok);
  n = 1002;
  CHECK(program::run(memory, std::tie(x, w, n), std::tie(y)) == ct::status::index_out_of_range);
}

namespace {

constexpr auto by_named_row = [](auto x, auto n) {
  return ct::for_loop(n, [&](auto i, auto s) { return 0.9 * s + ct::sum(x(i) * x(i)); }, 0.0);
};
/// The sum of the first n rows' squares, with weights, and its gradient.
void agrees_by_named_row(ct::tensor<double, "t", 2> const& x, std::int64_t n) {
  auto const [value, dx] = ct::value_and_grad<0>(by_named_row)(x, n);
  double wanted = 0;
  for (std::int64_t k = 0; k < n; ++k) wanted = .9 * wanted + x(k, 0) * x(k, 0) + x(k, 1) * x(k, 1);
  is_close(value, wanted);
  for (std::int64_t k = 0; k < x.size() / 2; ++k)
    is_close(dx(k, 1), k < n ? 2 * x(k, 1) * std::pow(.9, static_cast<double>(n - 1 - k)) : 0);
  is_close(ct::jvp<0>(by_named_row)(x, n, x).second, 2 * wanted);
}

} // namespace

TEST_CASE("Loops with an argument as their count read rows of tensors whose extents have names") {
  ct::tensor<double, "t", 2> x(7);
  for (int k = 0; k < 14; ++k) x.data()[k] = .3 * k - 1;
  for (std::int64_t const n : {std::int64_t{0}, std::int64_t{3}, std::int64_t{7}}) agrees_by_named_row(x, n);
  CHECK_THROWS_AS(ct::compiled(by_named_row)(x, std::int64_t{8}), ct::error);
  agrees_by_named_row(ct::tensor<double, "t", 2>(0), 0); // no rows
  CHECK_THROWS_AS(ct::compiled(by_named_row)(ct::tensor<double, "t", 2>(0), std::int64_t{1}), ct::error);

  // several counts at once
  ct::tensor<std::int64_t, 3> const counts{2, 7, 0};
  auto const each = ct::vmap<ct::unmapped, 0>(by_named_row)(x, counts);
  for (int k = 0; k < 3; ++k) is_close(each(k), ct::compiled(by_named_row)(x, counts(k)));
  constexpr auto of_counts = [](auto v, auto m) { return ct::vmap<ct::unmapped, 0>(ct::grad<0>(by_named_row))(v, m); };
  auto const slopes = ct::compiled(of_counts)(x, counts);
  for (int k = 0; k < 3; ++k) {
    auto const alone = ct::grad<0>(by_named_row)(x, counts(k));
    for (int i = 0; i < 14; ++i) is_close(slopes.data()[14 * k + i], alone.data()[i]);
  }
}

namespace {

constexpr auto to_a_limit = [](auto x, auto n) { return ct::for_loop(n, [=](auto i, auto a) { return a * x + ct::convert<double>(i); }, x); };

} // namespace

TEST_CASE("The count of a loop can be an argument") {
  for (std::int64_t const n : {std::int64_t{-2}, std::int64_t{0}, std::int64_t{1}, std::int64_t{6}}) {
    double wanted = .9;
    for (std::int64_t i = 0; i < n; ++i) wanted = wanted * .9 + static_cast<double>(i);
    is_close(ct::compiled(to_a_limit)(.9, n), wanted);
  }
}

TEST_CASE("Pullbacks and directional derivatives of loops agree with gradients") {
  auto const wanted = ct::value_and_grad<0, 1>(power)(.7, 1.3);
  auto [value, pull] = ct::vjp<0, 1>(power)(.7, 1.3);
  CHECK(value == wanted.first);
  for (double const seed : {1., -2.}) {
    auto const d = pull(seed);
    is_close(std::get<0>(d), seed * std::get<0>(wanted.second));
    is_close(std::get<1>(d), seed * std::get<1>(wanted.second));
  }
  is_close(std::get<1>(ct::jvp<0>(power)(.7, 1.3, 1.)), std::get<0>(wanted.second));
  is_close(std::get<1>(ct::jvp<1>(power)(.7, 1.3, 1.)), std::get<1>(wanted.second));
  agrees(ct::hvp(total), [] { return std::tuple(vec{.7, -.2, .4}, vec{.9, 1.1, -.3}, vec{1, -1, 2}); });
}

TEST_CASE("A program with loops has its workspace as a constant, and runs in it without allocation") {
  using program = ct::program<decltype(ct::value_and_grad<0, 1>(power)), double, double>;
  static_assert(program::workspace_bytes > 0 && program::workspace_bytes <= 1024);
  program::workspace memory;
  double const x = .7, w = 1.3;
  double value = 0, dx = 0, dw = 0;
  REQUIRE(program::run(memory, std::tie(x, w), std::tie(value, dx, dw)) == ct::status::ok);
  auto const wanted = ct::value_and_grad<0, 1>(power)(x, w);
  CHECK(value == wanted.first);
  CHECK(dx == std::get<0>(wanted.second));
  CHECK(dw == std::get<1>(wanted.second));
  double in_place = x; // a result over its argument
  REQUIRE(ct::program<decltype(ct::compiled(power)), double, double>::run(memory, std::tie(in_place, w), std::tie(in_place)) ==
          ct::status::ok);
  CHECK(in_place == value);
}

TEST_CASE("The extent of an argument is the count of a loop, and a bound") {
  // y <- y / 2 + sin x[i], for all i
  constexpr auto filter = [](auto x) {
    return ct::for_loop(ct::axis_size<0>(x), [=](auto i, auto y) { return 0.5 * y + ct::sin(x(i)); }, 0.25);
  };
  using with_gradient = decltype(ct::value_and_grad(filter));
  static_assert(!ct::program<with_gradient, ct::view<double const, "n">>::grows);
  for (std::size_t const n : {0u, 1u, 2u, 7u, 40u}) {
    std::vector<double> x, slope(n);
    for (std::size_t k = 0; k < n; ++k) x.push_back(0.3 * static_cast<double>(k) - 1);
    double y = 0.25, weight = 1;
    for (double const each : x) y = 0.5 * y + std::sin(each);
    for (std::size_t k = n; k-- > 0; weight *= 0.5) slope[k] = weight * std::cos(x[k]);
    auto const [value, gradient] = ct::value_and_grad(filter)(ct::view<double const, "n">(x.data(), static_cast<std::int64_t>(n)));
    CHECK(value == Approx(y));
    REQUIRE(gradient.size() == static_cast<std::int64_t>(n));
    for (std::size_t k = 0; k < n; ++k) CHECK(gradient.data()[k] == Approx(slope[k]).margin(1e-14));
  }
  agrees(ct::value_and_grad(filter), [] { return std::tuple(vec{.7, -.2, .4}); });
  constexpr auto average = [](auto m) { return ct::sum(m) / ct::convert<double>(ct::axis_size<-1>(m) * ct::axis_size(m, ct::axes<0>)); };
  std::vector<double> const six{1, 2, 3, 4, 5, 9};
  CHECK(ct::compiled(average)(ct::view<double const, 2, "n">(six.data(), 3)) == 4);
}
