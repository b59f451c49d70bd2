// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>
#include <cotangent/dynamic.hpp>
#include <cotangent/linalg.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

// Linear algebra in graphs at run time, and of sizes that constant evaluations do not reach.

namespace {

namespace ct = cotangent;
using numbers = std::vector<double>;

numbers waves_of(std::size_t n, double phase) {
  numbers v(n);
  for (std::size_t k = 0; k < n; ++k) v[k] = std::sin(1.3 * static_cast<double>(k) + phase);
  return v;
}

/// The largest error of ct::matmul of stacks [left, i, j] and [right, j, k] against plain loops; one matrix of a side serves all.
double error_of_stacks(std::size_t left, std::size_t right, std::size_t i, std::size_t j, std::size_t k) {
  std::size_t const stack = left > right ? left : right;
  numbers const a = waves_of(left * i * j, 0), b = waves_of(right * j * k, 1);
  ct::dynamic::graph g;
  auto const size = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  auto const A = g.input<double>("a", {size(left), size(i), size(j)}), B = g.input<double>("b", {size(right), size(j), size(k)});
  auto const y = ct::matmul(A, B), z = ct::einsum(left == right ? "bij,bjk->bki" : left == 1 ? "aij,bjk->bki" : "bij,ajk->bki", A, B) - ct::permute<0, 2, 1>(y);
  auto p = g.compile({y, z});
  p.bind(A, a);
  p.bind(B, b);
  p.run();
  auto const* const made = p.value(y).data();
  double worst = 0;
  for (double const difference : p.value(z)) worst = std::fmax(worst, std::fabs(difference));
  for (std::size_t s = 0; s < stack; ++s)
    for (std::size_t r = 0; r < i; ++r)
      for (std::size_t c = 0; c < k; ++c) {
        double sum = 0;
        for (std::size_t m = 0; m < j; ++m)
          sum += a[((left == 1 ? 0 : s) * i + r) * j + m] * b[((right == 1 ? 0 : s) * j + m) * k + c];
        worst = std::fmax(worst, std::fabs(sum - made[(s * i + r) * k + c]));
      }
  return worst;
}

TEST_CASE("Products of stacks of every size agree with plain loops") {
  CHECK(error_of_stacks(3, 3, 2, 4, 3) < 1e-13);
  CHECK(error_of_stacks(3, 1, 2, 4, 3) < 1e-13);
  CHECK(error_of_stacks(1, 3, 2, 4, 3) < 1e-13);
  CHECK(error_of_stacks(3, 3, 20, 30, 40) < 1e-12); // products of their own
}

/// Numbers without a pattern, so that matrices of them are regular.
numbers scattered(std::size_t n) {
  numbers v(n);
  for (std::size_t k = 0; k < n; ++k) v[k] = std::sin(1.3 * static_cast<double>(k * k) + static_cast<double>(k) + 1);
  return v;
}

/// The largest error of the solutions of a stack of systems of `n` equations, and of the decompositions.
double error_of_systems(std::size_t stack, std::size_t n, std::size_t columns) {
  numbers const a = scattered(stack * n * n), b = waves_of(stack * n * columns, 1);
  auto const size = [](std::size_t k) { return static_cast<std::int64_t>(k); };
  ct::dynamic::graph g;
  auto const A = g.input<double>("a", {size(stack), size(n), size(n)}), B = g.input<double>("b", {size(stack), size(n), size(columns)});
  auto const apart = ct::matmul(A, ct::solve(A, B)) - B;
  auto const squares = ct::matmul(A, ct::permute<0, 2, 1>(A)) + ct::einsum("bij,bik->bjk", A, A);
  auto const L = ct::cholesky(squares);
  auto const rest = ct::matmul(L, ct::permute<0, 2, 1>(L)) - squares;
  auto const [P, l, u] = ct::lu(A);
  auto const factored = ct::matmul(P, ct::matmul(l, u)) - A;
  auto p = g.compile({apart, rest, factored});
  p.bind(A, a);
  p.bind(B, b);
  p.run();
  double worst = 0;
  for (double const x : p.value(apart)) worst = x == x ? std::fmax(worst, std::fabs(x)) : 1e300;
  for (double const x : p.value(rest)) worst = x == x ? std::fmax(worst, std::fabs(x)) : 1e300;
  for (double const x : p.value(factored)) worst = x == x ? std::fmax(worst, std::fabs(x)) : 1e300;
  return worst;
}

TEST_CASE("Linear systems of every size, and stacks of them, are solved") {
  for (std::size_t const n : {1u, 2u, 5u, 50u}) {
    CAPTURE(n);
    CHECK(error_of_systems(1, n, 1) < 1e-9);
    CHECK(error_of_systems(3, n, 4) < 1e-9);
  }
  CHECK(error_of_systems(0, 3, 2) == 0);
  CHECK(error_of_systems(2, 3, 0) < 1e-9);
}

TEST_CASE("Singular and indefinite matrices give NaN") {
  ct::tensor<double, 2, 2> const singular{{1, 2}, {2, 4}}, indefinite{{1, 2}, {2, 1}};
  ct::tensor<double, 2> const b{1, 3};
  auto const x = ct::compiled([](auto m, auto y) { return ct::solve(m, y); })(singular, b);
  CHECK(std::isnan(x(0)));
  CHECK(std::isnan(x(1)));
  auto const l = ct::compiled([](auto m) { return ct::cholesky(m); })(indefinite);
  CHECK(std::isnan(l(0, 0)));
  CHECK(std::isnan(l(1, 1)));
  CHECK(l(0, 1) == 0);
  CHECK(ct::compiled([](auto m) { return ct::determinant(m); })(singular) == 0);
  CHECK(ct::grad([](auto m) { return ct::determinant(m); })(singular)(0, 0) == 4);
}

} // namespace
