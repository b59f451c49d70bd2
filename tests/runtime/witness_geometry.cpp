// SPDX-License-Identifier: BSL-1.0
#include "witness.hpp"

#include <cmath>
#include <numbers>

// Rotations, poses and cameras, by all witnesses.

using namespace witness;
namespace ct = cotangent;

namespace {
template <auto const& Table, class T> using bodies = group<Table, false, drawn<ct::expr<T, 3>>, drawn<ct::expr<T, 3>>,
                                                           drawn<ct::expr<T, 4>>, drawn<ct::expr<T, "n", 3>>>;
template <auto const& Table> void check_graphs() {
  for (std::int64_t const n : {1, 3}) {
    check_functions(bodies<Table, double>::view(), n);
    check_functions(bodies<Table, float>::view(), n);
  }
}
} // namespace

TEST_CASE("quaternions agree with their witnesses") { check_graphs<functions::quaternions>(); }
TEST_CASE("rotations agree with their witnesses") {
  check_graphs<functions::rotations>();
  check_program<bodies<functions::rotations, double>>(3);
}
TEST_CASE("every operation of geometry is in a function or its derivatives") {
  group_view const groups[]{bodies<functions::rotations, double>::view()};
  check_covered(ct::detail::geometry_operations{}, groups);
}
TEST_CASE("poses agree with their witnesses") { check_graphs<functions::poses>(); }
TEST_CASE("cameras agree with their witnesses") {
  check_graphs<functions::cameras>();
  check_program<bodies<functions::cameras, float>>(3);
}

namespace {
constexpr auto there_and_back = [](auto x) { return ct::se3_log(ct::se3_exp(x)); };
constexpr auto slope = [](auto x) { return ct::jacobian(there_and_back)(x); };
constexpr auto both = [](auto x) { return std::tuple(there_and_back(x), slope(x)); };
constexpr auto logarithm = [](auto q) { return ct::quaternion_to_axis_angle(q); };
/// `run`, as without exceptions.
template <auto const& F, class X, class... Y> void compute(X const& x, Y&... y) {
  using program = ct::program<decltype(ct::compiled(F)), X>;
  typename program::workspace memory;
  REQUIRE(program::run(memory, std::tie(x), std::tie(y...)) == ct::status::ok);
}
} // namespace

TEST_CASE("logarithms of poses invert exponentials, with the derivative 1, from 0 to half a turn") {
  double const pi = std::numbers::pi;
  for (double const angle : {0., 1e-200, 1e-8, 0.01, 0.999, 1.001, 1.999, 2.001, 3., pi - 1e-3, pi - 1e-9}) {
    ct::tensor<double, 6> const x{0.5, -1, 2, angle * 2 / 3, -angle / 3, angle * 2 / 3};
    ct::tensor<double, 6> back;
    ct::tensor<double, 6, 6> j;
    compute<both>(x, back, j);
    for (int i = 0; i < 6; ++i) {
      CHECK(std::abs(back(i) - x(i)) < 4e-15);
      for (int k = 0; k < 6; ++k) CHECK(std::abs(j(i, k) - (i == k ? 1 : 0)) < 4e-14);
    }
  }
}
TEST_CASE("the quaternion 0 has no rotation") {
  ct::tensor<double, 3> r;
  compute<logarithm>(ct::tensor<double, 4>{0, 0, 0, 0}, r);
  if (!ct::math::is_fast) CHECK(std::isnan(r(0)));
}
