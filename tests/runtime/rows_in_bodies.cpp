// SPDX-License-Identifier: BSL-1.0
// Elements that bodies read and change at the numbers of their iterations, and of those around them, against plain loops.
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include "../checked_matrix.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

namespace ct = cotangent;

using namespace checked_matrix;

inline constexpr auto in_nested_loops = [](auto x) {
  return ct::for_loop(ct::axis_size<0>(x), [&](auto i, auto s) {
    return ct::for_loop(3, [&](auto j, auto t) { return ct::sin(t * 0.5 + x(i, j) * x(i, 3)); }, s);
  }, 0.5 * x(0, 0));
};
inline constexpr auto in_branches = [](auto x) {
  return ct::for_loop(4, [&](auto i, auto s) {
    return ct::cond(s > 0.2, [&](auto q) { return q * 0.5 * x(i + 1, ct::range<0, 2>)(1); },
                    [&](auto q) { return q + ct::sum(x(i)) * x(2, i); })(s);
  }, 0.5 * x(0, 0));
};
inline constexpr auto in_a_condition = [](auto x) {
  return ct::for_loop(4, [&](auto i, auto s) {
    return ct::while_loop([&](auto j, auto t) { return j < 2 && t < 2.0 + x(i, 1); },
                          [&](auto j, auto t) { return t + x(i + 1, j) * x(j, i); }, s);
  }, 0.5 * x(0, 0));
};
inline constexpr auto in_a_gradient = [](auto x) {
  return ct::for_loop(4, [&](auto i, auto s) {
    return s + 0.1 * ct::grad([&](auto y) { return ct::sum(ct::square(y * x(i))) * x(i, ct::all)(0); })(s);
  }, 0.5 * x(0, 0));
};
inline constexpr auto added = [](auto x) {
  auto const elements = ct::for_loop(4, [&](auto i, auto t) { return ct::at(t, i, 2).add(x(i, 1) * t(i, 0)); }, x);
  auto const parts = ct::for_loop(4, [&](auto i, auto t) { return ct::at(t, i + 1, ct::range<1, 3>).add(x(i, 1)); }, elements);
  auto const both = ct::for_loop(3, [&](auto i, auto t) { return ct::at(t, i, i + 1).add(t(i, 3)); }, parts);
  return ct::sum(ct::sin(both));
};

// Reads no row beyond the last one, though there are more iterations than rows.
inline constexpr auto guarded = [](auto x, auto count) {
  return ct::for_loop(count, [&](auto i, auto s) {
    return ct::cond(i < 3, [&](auto q) { return q + x(i) * x(i); }, [&](auto q) { return q * 0.5; })(s);
  }, 0.5 * x(0));
};

} // namespace

TEST_CASE("A branch that is not taken reads no row, in a loop whose count is an argument") {
  ct::tensor<double, 3> const x{1, 2, 3};
  std::int64_t const count = 5;
  CHECK(ct::compiled(guarded)(x, count) == (0.5 + 1 + 4 + 9) / 4);
  auto const d = ct::grad(guarded)(x, count);
  CHECK(d(0) == 0.625);
  CHECK(d(1) == 1);
  CHECK(d(2) == 1.5);
  ct::dynamic::graph g;
  auto const in = g.input<double>("x", {3});
  auto const n = g.input<std::int64_t>("n", {});
  auto const y = guarded(in, n);
  auto p = g.compile({y});
  p.bind(in, x);
  p.bind(n, count);
  p.run();
  CHECK(p.value(y)() == (0.5 + 1 + 4 + 9) / 4);
}

TEST_CASE("Bodies of loops and branches read rows at the iterations around them") {
  check(in_nested_loops, [](numbers const& x) {
    double s = 0.5 * x[0];
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < 3; ++j) s = std::sin(s * 0.5 + at(x, i, j) * at(x, i, 3));
    return s;
  });
  check(in_branches, [](numbers const& x) {
    double s = 0.5 * x[0];
    for (std::size_t i = 0; i < 4; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < columns; ++j) sum += at(x, i, j);
      s = s > 0.2 ? s * 0.5 * at(x, i + 1, 1) : s + sum * at(x, 2, i);
    }
    return s;
  });
  check(in_a_condition, [](numbers const& x) {
    double s = 0.5 * x[0];
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < 2 && s < 2.0 + at(x, i, 1); ++j) s += at(x, i + 1, j) * at(x, j, i);
    return s;
  });
  check(in_a_gradient, [](numbers const& x) {
    double s = 0.5 * x[0];
    for (std::size_t i = 0; i < 4; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < columns; ++j) sum += at(x, i, j) * at(x, i, j);
      s += 0.2 * s * sum * at(x, i, 0);
    }
    return s;
  });
}

TEST_CASE("Loops add to elements and parts of the row of an iteration") {
  check(added, [](numbers const& x) {
    numbers t = x;
    for (std::size_t i = 0; i < 4; ++i) t[columns * i + 2] += at(x, i, 1) * t[columns * i];
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 1; j < 3; ++j) t[columns * (i + 1) + j] += at(x, i, 1);
    for (std::size_t i = 0; i < 3; ++i) t[columns * i + i + 1] += t[columns * i + 3];
    double sum = 0;
    for (double const v : t) sum += std::sin(v);
    return sum;
  });
}
