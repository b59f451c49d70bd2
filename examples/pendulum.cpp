// SPDX-License-Identifier: BSL-1.0
// Swings a pendulum up with a motor that is too weak to lift it at once. The gradient of the simulation with respect to
// the torque of each step goes backward through the integrator.
#include <cotangent/cotangent.hpp>

#include <cmath>
#include <cstdio>
#include <tuple>

namespace ct = cotangent;

// [rollout]
inline constexpr int steps = 120;
using torques = ct::tensor<double, steps>;

/// The next angle (0: hanging) and angular velocity after `h` seconds, by the classical Runge-Kutta method.
inline constexpr auto rk4 = [](auto angle, auto speed, auto torque, double h) {
  auto const acceleration = [&](auto a, auto v) { return torque - ct::sin(a) - 0.05 * v; };
  auto const v1 = speed, a1 = acceleration(angle, v1);
  auto const v2 = speed + h / 2 * a1, a2 = acceleration(angle + h / 2 * v1, v2);
  auto const v3 = speed + h / 2 * a2, a3 = acceleration(angle + h / 2 * v2, v3);
  auto const v4 = speed + h * a3, a4 = acceleration(angle + h * v3, v4);
  return std::tuple(angle + h / 6 * (v1 + 2 * v2 + 2 * v3 + v4), speed + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4));
};

inline constexpr auto rollout = [](auto u) {
  return ct::for_loop(
      steps, [=](auto i, auto angle, auto speed) { return rk4(angle, speed, 0.5 * ct::tanh(u(i)), 0.1); }, 0.0, 0.0);
};

/// Zero where the pendulum ends upright and at rest.
inline constexpr auto loss = [](auto u) {
  auto const [angle, speed] = rollout(u);
  return 1 + ct::cos(angle) + 0.5 * ct::square(speed) + 1e-7 * ct::sum(u * u);
};
// [/rollout]

// [program]
using program = ct::program<decltype(ct::value_and_grad(loss)), torques>;
static_assert(program::workspace_bytes <= 16 * 1024, "the records of 120 steps");
// [/program]

int main() {
  torques u;
  for (int k = 0; k < steps; ++k) u(k) = 0.1 * std::sin(0.1 * k); // about the natural frequency

  program::workspace memory;
  torques slope, momentum;
  double error = 0;
  int iterations = 0;
  for (; iterations < 2000; ++iterations) {
    if (program::run(memory, std::tie(u), std::tie(error, slope)) != ct::status::ok) return 1;
    if (error < 1e-3) break;
    for (int k = 0; k < steps; ++k) {
      momentum(k) = 0.95 * momentum(k) - 0.05 * slope(k);
      u(k) += momentum(k);
    }
  }

  auto const [angle, speed] = ct::compiled(rollout)(u);
  std::printf("%zu bytes of workspace; after %d iterations: height %.4f of 1, angular velocity %.4f, loss %.5f\n",
              program::workspace_bytes, iterations, -std::cos(angle), speed, error);
  return -std::cos(angle) > 0.998 && std::abs(speed) < 0.05 ? 0 : 1;
}
