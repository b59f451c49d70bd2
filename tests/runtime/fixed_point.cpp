// SPDX-License-Identifier: BSL-1.0
// Fixed points, run: what docs/how-to/fixed-points.md quotes, against closed forms and differences.
#include "catch.hpp"

#include <cotangent/cotangent.hpp>

#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace ct = cotangent;

namespace fixed_point {

// [kepler]
/// The eccentric anomaly E = M + e sin E, by Newton's method.
inline constexpr auto anomaly = [](auto mean, auto eccentricity) {
  auto const newton = [](auto angle, auto m, auto e) {
    return angle - (angle - e * ct::sin(angle) - m) / (1 - e * ct::cos(angle));
  };
  return ct::fixed_point(newton, mean, mean, eccentricity);
};
// [/kepler]
// [layer]
/// A layer whose output is its own input: z = tanh(W z + x).
inline constexpr auto equilibrium = [](auto const& w, auto x) {
  return ct::fixed_point<ct::solver{.tolerance = 1e-13, .max_iterations = 500}>(
      [](auto z, auto const& matrix, auto input) { return ct::tanh(ct::sum(matrix * z, ct::axes<1>) + input); }, x * 0, w, x);
};
// [/layer]
inline constexpr auto weighted = [](auto const& w, auto x) {
  auto const z = equilibrium(w, x);
  return ct::sum(z * z * ct::iota<double, 4>(1., 1.));
};
inline constexpr auto unsteady = [](auto a) {
  return ct::fixed_point<ct::solver{.max_iterations = 3}>([](auto x, auto c) { return 2 * x + c; }, 0.0, a);
};

inline constexpr auto of_a_pair = [](auto a, auto b) {
  return ct::fixed_point([](auto z, auto t) { return 0.5 * ct::sin(std::get<0>(t) * z) + std::get<1>(t); }, a * 0, std::pair(a, b));
};
inline constexpr auto root_of_a_tuple = [](auto a, auto b) {
  return ct::root([](auto z, auto t) { return z - 0.5 * ct::sin(std::get<0>(t) * z) - std::get<1>(t); }, a * 0, std::tuple(a, b));
};
inline constexpr auto of_two = [](auto a, auto b) {
  return ct::fixed_point([](auto z, auto s, auto t) { return 0.5 * ct::sin(s * z) + t; }, a * 0, a, b);
};

} // namespace fixed_point

namespace small {
inline constexpr auto ten_times = [](auto a) { return ct::fixed_point([](auto z, auto b) { return .9f * z + b; }, 0 * a, a); };
inline constexpr auto cube_root = [](auto a) { return ct::root<ct::solver{.scale = 0}>([](auto z, auto b) { return z * z * z - b; }, 1e-15 + 0 * a, a); };
} // namespace small

TEST_CASE("derivatives of a fixed point are linear in small cotangents and tangents") {
  for (float const scale : {1.f, 1e-5f, 1e-10f, 1e-30f, 0.f}) {
    auto const [value, back] = ct::vjp(small::ten_times)(1.f);
    CHECK(value == Approx(10).epsilon(1e-5));
    CHECK(back(scale) == Approx(10 * scale).epsilon(1e-5).margin(0));
    CHECK(ct::jvp(small::ten_times)(1.f, scale).second == Approx(10 * scale).epsilon(1e-5).margin(0));
  }
}
TEST_CASE("a solution far below 1 is found with a scale of 0") {
  CHECK(ct::compiled(small::cube_root)(1e-48) == Approx(1e-16).epsilon(1e-12).margin(0));
  CHECK(ct::grad(small::cube_root)(1e-48) == Approx(1e-16 / 3e-48).epsilon(1e-12));
}

TEST_CASE("a pair or a tuple may be the only argument") {
  using namespace fixed_point;
  CHECK(ct::compiled(of_a_pair)(0.3, 0.2) == ct::compiled(of_two)(0.3, 0.2));
  CHECK(ct::grad<0, 1>(of_a_pair)(0.3, 0.2) == ct::grad<0, 1>(of_two)(0.3, 0.2));
  CHECK(std::fabs(ct::compiled(root_of_a_tuple)(0.3, 0.2) - ct::compiled(of_two)(0.3, 0.2)) < 1e-12);
  CHECK(std::fabs(ct::grad(root_of_a_tuple)(0.3, 0.2) - ct::grad(of_two)(0.3, 0.2)) < 1e-10);
}

TEST_CASE("Kepler's equation and the derivatives of its solution") {
  using namespace fixed_point;
  for (double const m : {0.1, 1.0, 2.5})
    for (double const e : {0.0, 0.3, 0.7}) {
      double const angle = ct::compiled(anomaly)(m, e);
      CHECK(std::fabs(angle - e * std::sin(angle) - m) < 1e-13);
      double const slope = 1 / (1 - e * std::cos(angle)); // by m; times sin E by e
      auto const [by_m, by_e] = ct::grad<0, 1>(anomaly)(m, e);
      CHECK(std::fabs(by_m - slope) < 1e-12);
      CHECK(std::fabs(by_e - slope * std::sin(angle)) < 1e-12);
      CHECK(std::fabs(ct::jvp<0, 1>(anomaly)(m, e, 2.0, -1.0).second - slope * (2 - std::sin(angle))) < 1e-12);
      // d slope / d m = -e sin E slope^3
      CHECK(std::fabs(ct::grad(ct::grad(anomaly))(m, e) + e * std::sin(angle) * slope * slope * slope) < 1e-10);
    }
}

TEST_CASE("an equilibrium of a vector, against differences, forward against reverse") {
  using namespace fixed_point;
  ct::tensor<double, 4, 4> w;
  ct::tensor<double, 4> x{0.3, -0.7, 1.1, 0.2};
  for (int k = 0; k < 16; ++k) w.data()[k] = 0.3 * std::sin(1.7 * k);
  auto const z = ct::compiled(equilibrium)(w, x);
  for (int i = 0; i < 4; ++i) {
    double sum = x(i);
    for (int k = 0; k < 4; ++k) sum += w(i, k) * z(k);
    CHECK(std::fabs(z(i) - std::tanh(sum)) < 1e-12);
  }
  auto const [by_w, by_x] = ct::grad<0, 1>(weighted)(w, x);
  double const step = 1e-5;
  for (int k = 0; k < 4; ++k) {
    auto up = x, down = x, unit = x;
    unit.fill(0);
    unit(k) = 1, up(k) += step, down(k) -= step;
    CHECK(std::fabs((ct::compiled(weighted)(w, up) - ct::compiled(weighted)(w, down)) / (2 * step) - by_x(k)) < 1e-8);
    CHECK(std::fabs(ct::jvp<1>(weighted)(w, x, unit).second - by_x(k)) < 1e-11);
  }
  for (int k = 0; k < 16; ++k) {
    auto up = w, down = w;
    up.data()[k] += step, down.data()[k] -= step;
    CHECK(std::fabs((ct::compiled(weighted)(up, x) - ct::compiled(weighted)(down, x)) / (2 * step) - by_w.data()[k]) < 1e-8);
  }
}

TEST_CASE("iteration ends at the bound, and at a value that is not a number") {
  using namespace fixed_point;
  CHECK(ct::compiled(unsteady)(1.0) == 7); // 1, 3, 7
  CHECK(std::isnan(ct::compiled(unsteady)(std::numeric_limits<double>::quiet_NaN())));
  CHECK(std::isnan(ct::grad(unsteady)(std::numeric_limits<double>::quiet_NaN())) == false); // the step is linear
}
