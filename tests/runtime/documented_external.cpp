// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ct = cotangent;

namespace {

/// The forces q^2 and 3 q of each point.
struct simulator {
  double stiffness = 3;
  void forces(std::span<double const> q, std::span<double> f) const {
    for (std::size_t k = 0; k < q.size(); ++k) f[2 * k] = q[k] * q[k], f[2 * k + 1] = stiffness * q[k];
  }
  void pull_back(std::span<double const> q, std::span<double const> df, std::span<double> dq) const {
    for (std::size_t k = 0; k < q.size(); ++k) dq[k] = 2 * q[k] * df[2 * k] + stiffness * df[2 * k + 1];
  }
};

} // namespace

TEST_CASE("the documented external function with captures has its gradient") {
  std::int64_t const n = 4;
  // [contacts]
  ct::dynamic::graph g;
  auto q = g.input<double>("q", {n});
  auto world = std::make_shared<simulator>(); // any C++ object
  auto forces = ct::external(
      {n, 2},
      [world](std::span<double const> x, std::span<double> f) { world->forces(x, f); },
      [world](std::span<double const> x, std::span<double const> /* f */, std::span<double const> df, std::span<double> dx) {
        world->pull_back(x, df, dx); // writes the cotangent of each argument
      })(q);
  auto loss = ct::sum(ct::square(forces));
  auto program = g.compile({loss, g.gradient<double>({loss}, {q}).front()});
  // [/contacts]
  std::vector<double> const at{1, -2, 0.5, 3};
  std::vector<double> slope(4);
  double value = 0, wanted = 0;
  program.bind(q, at);
  program.bind(loss, value);
  program.bind(g.gradient_of(q), slope);
  program.run();
  for (std::size_t k = 0; k < 4; ++k) {
    wanted += at[k] * at[k] * (at[k] * at[k] + 9);
    CHECK(slope[k] == Approx(4 * at[k] * at[k] * at[k] + 18 * at[k]));
  }
  CHECK(value == Approx(wanted));
}
