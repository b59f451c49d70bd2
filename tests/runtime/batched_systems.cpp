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
