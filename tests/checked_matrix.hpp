// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_CHECKED_MATRIX_HPP
#define COTANGENT_TESTS_CHECKED_MATRIX_HPP

#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

// Functions of one matrix, compiled and as run-time graphs, against plain loops and their differences.

namespace checked_matrix {

namespace ct = cotangent;

inline constexpr std::size_t rows = 5, columns = 4;
using numbers = std::vector<double>;

inline numbers matrix() {
  numbers x(rows * columns);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = 0.3 + 0.1 * static_cast<double>(k * 7 % 11);
  return x;
}
inline double at(numbers const& x, std::size_t i, std::size_t j) { return x[columns * i + j]; }

/// A function of a matrix, compiled and as a run-time graph, against `plain` and its differences.
template <class F> void check(F f, double (*plain)(numbers const&)) {
  numbers const at_x = matrix();
  ct::tensor<double, rows, columns> x;
  for (std::size_t k = 0; k < at_x.size(); ++k) x.data()[k] = at_x[k];
  ct::dynamic::graph g;
  auto const in = g.input<double>("x", {rows, columns});
  auto const y = f(in);
  auto const dy = g.gradient({y}, {in}).front();
  auto p = g.compile({y, dy});
  p.bind(in, at_x);
  p.run();
  double const value = plain(at_x);
  CHECK(ct::compiled(f)(x) == Approx(value).epsilon(1e-13));
  CHECK(p.value(y)() == Approx(value).epsilon(1e-13));
  auto const slope = ct::grad(f)(x);
  for (std::size_t k = 0; k < at_x.size(); ++k) {
    numbers more = at_x, less = at_x;
    more[k] += 1e-6, less[k] -= 1e-6;
    double const difference = (plain(more) - plain(less)) / 2e-6;
    CAPTURE(k);
    CHECK(slope.data()[k] == Approx(difference).epsilon(1e-7).margin(1e-8));
    CHECK(p.value(dy).data()[k] == Approx(difference).epsilon(1e-7).margin(1e-8));
  }
}

} // namespace checked_matrix

#endif
