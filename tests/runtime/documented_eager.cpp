// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/eager.hpp>

#include "catch.hpp"

#include <cmath>
#include <vector>

// What docs/reference/eager.md and docs/how-to/training.md show of eager mode.

namespace {

namespace ct = cotangent;

TEST_CASE("documented: eager", "[documented]") {
  // [first]
  ct::dynamic::eager e;
  auto x = e.parameter(19.0);
  auto f = x * ct::log(x);
  if (f > 50.0) f += 1.2 * x; // values are known as soon as they are written
  e.backward(f);
  double const slope = x.grad().item();
  auto const curvature = e.grad({e.grad({f}, {x}, {}, {.record = true}).front()}, {x}).front();
  // [/first]
  CHECK(slope == Approx(std::log(19.0) + 2.2));
  CHECK(curvature.item() == Approx(1 / 19.0));
}

TEST_CASE("documented: training in eager mode", "[documented]") {
  // [train]
  ct::dynamic::eager e;
  auto slope = e.parameter(0.0), start = e.parameter(0.0);
  auto const x = e.constant(std::vector<double>{0, 1, 2, 3}), y = e.constant(std::vector<double>{1, 3, 5, 7});
  ct::dynamic::trainer t(ct::adam{.learning_rate = 0.1}, {slope, start});
  for (int k = 0; k < 500; ++k) {
    auto const loss = ct::mean(ct::square(slope * x + start - y));
    t.minimize(e, loss);
  }
  // [/train]
  CHECK(slope.item() == Approx(2).epsilon(1e-3));
  CHECK(start.item() == Approx(1).epsilon(1e-2));
}

} // namespace
