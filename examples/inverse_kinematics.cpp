// SPDX-License-Identifier: BSL-1.0
// Moves the hand of a robot arm with six joints to a position, by Gauss-Newton steps with the Jacobian of the arm.
#include <cotangent/cotangent.hpp>

#include <cmath>
#include <cstdio>

namespace ct = cotangent;

// [arm]
inline constexpr int joints = 6;
using angles = ct::tensor<double, joints>;
using point = ct::tensor<double, 3>;

/// The position of the hand: joints about the vertical axis and about a horizontal one, by turns, each with a link behind it.
inline constexpr auto hand = [](auto q) {
  ct::expr<double> x = 0.0, y = 0.0, z = 0.0, yaw = 0.0, pitch = 0.0;
  for (int k = 0; k < joints; ++k) {
    (k % 2 == 0 ? yaw : pitch) += q(k);
    double const length = 0.5 - 0.05 * k;
    x += length * ct::cos(pitch) * ct::cos(yaw);
    y += length * ct::cos(pitch) * ct::sin(yaw);
    z += length * ct::sin(pitch);
  }
  return ct::expr<double, 3>{x, y, z};
};
// [/arm]

/// One step of the damped method: q - J' (J J' + damping I)^-1 r. The columns of the inverse of a 3 x 3 matrix are cross products.
inline constexpr auto step = [](auto q, auto target, double damping) {
  auto const r = hand(q) - target;
  auto const j = ct::jacobian(hand)(q);
  auto const m = ct::matmul(j, ct::transpose(j)) + damping * ct::eye<3>();
  auto const cross = [](auto a, auto b) {
    return ct::expr<double, 3>{a(1) * b(2) - a(2) * b(1), a(2) * b(0) - a(0) * b(2), a(0) * b(1) - a(1) * b(0)};
  };
  auto const c0 = cross(m(1), m(2)), c1 = cross(m(2), m(0)), c2 = cross(m(0), m(1));
  auto const s = (c0 * r(0) + c1 * r(1) + c2 * r(2)) / ct::dot(m(0), c0); // m^-1 r
  return q - (s(0) * j(0) + s(1) * j(1) + s(2) * j(2));
};

/// Steps until the hand is there, fifty at most; and the number of them.
inline constexpr auto reach = [](auto q, auto target) {
  auto const off = [=](auto a) { return ct::sum(ct::square(hand(a) - target)); };
  return ct::while_loop([=](auto i, auto a, auto) { return off(a) > 1e-20 && i < 50; },
                        [=](auto i, auto a, auto) { return std::tuple(step(a, target, 1e-4), i + 1); }, q, std::int64_t{0});
};
// [step]

int main() {
  angles const start{0.2, 0.4, -0.3, 0.2, 0.5, -0.1};
  double worst = 0;
  for (point const& target : {point{1, 0.5, 0.8}, point{-0.6, 0.9, -0.4}, point{0.3, -0.7, 1.2}}) {
    auto const [q, steps] = ct::compiled(reach)(start, target);
    point const at = ct::compiled(hand)(q);
    double const off = std::hypot(at(0) - target(0), at(1) - target(1), at(2) - target(2));
    std::printf("hand at (%.3f, %.3f, %.3f) after %d steps, off by %.1g\n", at(0), at(1), at(2), static_cast<int>(steps), off);
    if (!(off <= worst)) worst = off;
    if (steps >= 20) return 1;
  }
  return worst < 1e-9 ? 0 : 1;
}
