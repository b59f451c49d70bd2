// SPDX-License-Identifier: BSL-1.0
// Loops of run-time graphs whose bodies are threaded code: carried values of several kinds, read and handed on, against the
// same bodies in a C++ loop.
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

namespace {

namespace ct = cotangent;
using ct::dynamic::graph;

/// A body with values that are computed, crossed, delayed, counted and compared: (i, a, b, c, k, m) -> the next ones.
inline constexpr auto mixed = [](auto i, auto a, auto b, auto c, auto k, auto m, auto w, auto row) {
  auto const next = ct::select(m, a * w + b * row, a - b * 0.25);
  auto const other = ct::tanh(next) - c * 0.5;
  return std::tuple{next, other, a, k + i, next > other};
};
inline constexpr auto crossed = [](auto i, auto, auto b, auto c, auto k, auto m, auto w, auto row) {
  auto const next = 0.5 * b + c * w;
  return std::tuple{b, next, next * row, i - k, !m};
};
inline constexpr auto unchanged = [](auto i, auto a, auto b, auto c, auto k, auto m, auto w, auto row) {
  return std::tuple{a, b * a * w, c * row + ct::exp(-(b * b)), ct::max(k, i), m};
};

template <class T> struct results {
  std::vector<T> a, b, c, da, dw, drows;
  std::vector<std::int64_t> k;
  std::vector<bool> m;
};
template <class E> auto elements(E const& v) {
  std::vector<std::decay_t<decltype(*v.begin())>> all(v.begin(), v.end());
  return all;
}

/// Values and gradients after `trips` iterations on n elements (none: numbers), in a loop of the graph or of C++.
template <class T, class Body>
results<T> run(Body body, bool in_graph, bool counted, std::ptrdiff_t trips, std::vector<std::ptrdiff_t> const& shape) {
  graph g;
  std::vector<std::ptrdiff_t> rows_shape{trips > 0 ? trips : 1};
  std::ptrdiff_t n = 1;
  for (std::ptrdiff_t const size : shape) rows_shape.push_back(size), n *= size;
  auto const a = g.input<T>("a", shape), w = g.input<T>("w", shape), rows = g.input<T>("rows", rows_shape);
  auto const count = g.input<std::int64_t>("count", {});
  auto const b = a * T(0.5), c = a - T(0.125);
  auto const k = ct::convert<std::int64_t>(a * T(4));
  auto const m = a > T(0.3);
  auto const last = [&] {
    if (in_graph) {
      auto const loop = [&](auto times) {
        return ct::for_loop(times, [&](auto i, auto... carried) { return body(i, carried..., w, rows(i)); }, a, b, c, k, m);
      };
      return counted ? loop(count) : loop(trips);
    }
    std::tuple now{a, b, c, k, m};
    for (std::ptrdiff_t i = 0; i < trips; ++i)
      now = std::apply([&](auto const&... carried) { return body(std::int64_t{i}, carried..., w, rows(i)); }, now);
    return now;
  }();
  auto const& [la, lb, lc, lk, lm] = last;
  auto const y = ct::sum(la * la) + ct::sum(lb * lc);
  auto const d = g.gradient({y}, {a, w, rows});
  auto p = g.compile({la, lb, lc, lk, lm, d[0], d[1], d[2]});
  std::vector<T> start(static_cast<std::size_t>(n)), factor(start.size()), all;
  for (std::size_t j = 0; j < start.size(); ++j) start[j] = T(0.7) - T(0.1) * T(j), factor[j] = T(0.9) + T(0.01) * T(j);
  for (std::ptrdiff_t j = 0; j < n * rows_shape[0]; ++j) all.push_back(T(std::sin(0.7 * double(j))));
  auto const times = std::int64_t{trips};
  p.bind(a, start);
  p.bind(w, factor);
  p.bind(rows, all);
  if (counted && in_graph) p.bind(count, times);
  p.run();
  p.run(); // once more, with the tape of the first run
  return {elements(p.value(la)), elements(p.value(lb)), elements(p.value(lc)), elements(p.value(d[0])), elements(p.value(d[1])),
          elements(p.value(d[2])), elements(p.value(lk)), elements(p.value(lm))};
}

template <class T> void check_close(std::vector<T> const& found, std::vector<T> const& expected, double tolerance) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    CAPTURE(k, found[k], expected[k]);
    REQUIRE(std::fabs(double(found[k] - expected[k])) <= tolerance * (1 + std::fabs(double(expected[k]))));
  }
}

template <class T, class Body> void check(Body body, double tolerance) {
  for (std::vector<std::ptrdiff_t> const& shape : {std::vector<std::ptrdiff_t>{}, {1}, {2}, {3}, {5}})
    for (std::ptrdiff_t const trips : {0, 1, 2, 3, 4, 9, 26})
      for (bool const counted : {false, true}) {
        CAPTURE(trips, shape.size(), shape.empty() ? 0 : shape[0], counted);
        results<T> const found = run<T>(body, true, counted, trips, shape), expected = run<T>(body, false, counted, trips, shape);
        CHECK(found.k == expected.k);
        CHECK(found.m == expected.m);
        check_close(found.a, expected.a, tolerance);
        check_close(found.b, expected.b, tolerance);
        check_close(found.c, expected.c, tolerance);
        check_close(found.da, expected.da, tolerance);
        check_close(found.dw, expected.dw, tolerance);
        check_close(found.drows, expected.drows, tolerance);
      }
}

} // namespace

TEST_CASE("Threaded bodies compute, cross, delay, count and compare carried values") {
  check<double>(mixed, 1e-12);
  check<float>(mixed, 1e-4);
  check<double>(crossed, 1e-12);
  check<float>(crossed, 1e-4);
  check<double>(unchanged, 1e-12);
  check<float>(unchanged, 1e-4);
}
