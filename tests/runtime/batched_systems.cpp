// SPDX-License-Identifier: BSL-1.0
// Gradients of functions of small systems over a batch of matrices, in lanes. (With SSE2, choices by masks in such a nest ended
// g++ 12 with an internal error.)
#include <cotangent/cotangent.hpp>

#include <cotangent/linalg.hpp>

#include "catch.hpp"

#include <cstdint>
#include <tuple>

namespace {

namespace ct = cotangent;

inline constexpr auto of_systems = [](auto a, auto b) {
  auto const x = ct::solve(a, b);
  auto const y = ct::solve(ct::transpose(a), x * b);
  return ct::dot(x, y) + ct::determinant(a) * ct::sum(ct::inverse(a) * a * a);
};

} // namespace

TEST_CASE("gradients of a batch of small systems are those of each", "[batched_systems]") {
  ct::tensor<double, 3, 3, 3> a;
  ct::tensor<double, 3> const b{1, -2, 3};
  for (int k = 0; k < 27; ++k) a.data()[k] = (k * 11 % 7) * .25 - .5 + (k % 9 % 4 == 0 ? 2 : 0);
  auto const [da, db] = ct::vmap<0, ct::unmapped>(ct::grad<0, 1>(of_systems))(a, b);
  for (int k = 0; k < 3; ++k) {
    ct::tensor<double, 3, 3> one;
    for (int i = 0; i < 9; ++i) one.data()[i] = a.data()[9 * k + i];
    auto const [ga, gb] = ct::grad<0, 1>(of_systems)(one, b);
    for (int i = 0; i < 9; ++i) CHECK(da.data()[9 * k + i] == Approx(ga.data()[i]).epsilon(1e-11).margin(1e-11));
    for (int i = 0; i < 3; ++i) CHECK(db(k, i) == Approx(gb(i)).epsilon(1e-11).margin(1e-11));
  }
}

namespace {

// Only the branch that reads y(k), or solves, has an index in range, or a regular matrix.
inline constexpr auto of_branches = [](auto k, auto x) {
  auto const read = [=](auto y) { return y(k) * y(k) * y(0); };
  auto const solved = [](auto y) { return ct::solve(ct::outer(y, y) + 2.0 * ct::diag(ct::exp(y)), y); };
  return ct::sum(ct::case_of(k, [](auto y) { return ct::sin(y); }, solved)(x)) + ct::cond(k < 3, read, [](auto y) { return y(0); })(x);
};
// Rows that have ended would read behind the last element.
inline constexpr auto of_steps = [](auto k, auto x) {
  return std::get<1>(ct::while_loop([&](auto, auto j, auto) { return j < 3; },
                                    [&](auto, auto j, auto s) { return std::tuple(j + 1, s + ct::sin(x(j)) * s); }, k, x(0)));
};

template <class F> void check_rows(F f) {
  ct::tensor<std::int64_t, 4> const k{0, 1, 2, 3};
  ct::tensor<double, 4, 3> const x{{.1, .2, .3}, {.9, 1.2, .3}, {.5, .6, .7}, {.2, .1, 2}};
  auto const value = ct::vmap(f)(k, x);
  auto const slope = ct::vmap(ct::grad<1>(f))(k, x);
  auto const curvature = ct::vmap(ct::hessian<1>(f))(k, x);
  for (int i = 0; i < 4; ++i) { // (case_of has no branches 2 and 3, and passes x through)
    ct::tensor<double, 3> const row{x(i, 0), x(i, 1), x(i, 2)};
    CHECK(value(i) == Approx(ct::compiled(f)(k(i), row)));
    auto const d = ct::grad<1>(f)(k(i), row);
    auto const h = ct::hessian<1>(f)(k(i), row);
    for (int j = 0; j < 3; ++j) {
      CHECK(slope(i, j) == Approx(d(j)).margin(1e-12));
      for (int l = 0; l < 3; ++l) CHECK(curvature(i, j, l) == Approx(h(j, l)).margin(1e-12));
    }
  }
}

} // namespace

TEST_CASE("rows of vmap report nothing of branches that they do not take, in gradients and Hessians either", "[batched_systems]") {
  check_rows(of_branches);
  check_rows(of_steps);
}
