// SPDX-License-Identifier: BSL-1.0
// An extended Kalman filter over a window of measurements, and the noise of the sensor and of the model, fitted by the gradient of the
// likelihood through the filter. The size of its memory is a constant, as microcontrollers need it.
#include <cotangent/cotangent.hpp>

#include <cmath>
#include <cstdio>
#include <random>
#include <tuple>
#include <utility>

namespace ct = cotangent;

// [filter]
inline constexpr int window = 200;
using measurements = ct::tensor<double, window>;

/// The next angle and angular velocity of a damped pendulum, after 0.05 s.
inline constexpr auto dynamics = [](auto x) {
  auto const speed = x(1) - 0.05 * (9.81 * ct::sin(x(0)) + 0.1 * x(1));
  return ct::stack<0>(x(0) + 0.05 * speed, speed);
};

/// Minus the logarithm of the likelihood of measured angles, and the filtered angles. `log_noise`: logarithms of the variances of
/// the model and of the sensor.
inline constexpr auto filter = [](auto measured, auto log_noise) {
  auto const model = ct::exp(log_noise(0)), sensor = ct::exp(log_noise(1));
  auto const unit = ct::eye<double, 2>();
  auto const step = [=](auto carry, auto z) {
    auto const [x, p, total] = carry;
    auto const f = ct::jacobian(dynamics)(x);
    auto const predicted = dynamics(x);
    auto const spread = ct::matmul(ct::matmul(f, p), ct::transpose(f)) + model * unit;
    auto const innovation = z - predicted(0), variance = spread(0, 0) + sensor;
    auto const gain = spread(ct::all, 0) / variance;
    auto const next = predicted + gain * innovation;
    auto const rest = spread - ct::outer(gain, spread(0));
    return std::pair(std::tuple(next, rest, total + 0.5 * (ct::log(variance) + ct::square(innovation) / variance)), next(0));
  };
  auto const [last, angles] = ct::scan(step, std::tuple(ct::stack<0>(measured(0), 0.0), unit, 0.0), measured);
  return std::pair(std::get<2>(last), angles);
};
inline constexpr auto loss = [](auto measured, auto log_noise) { return filter(measured, log_noise).first; };

using program = ct::program<decltype(ct::value_and_grad<1>(loss)), measurements, ct::tensor<double, 2>>;
static_assert(program::workspace_bytes <= 64 * 1024, "the records of 200 steps");
// [/filter]

int main() {
  std::mt19937 random(1);
  std::normal_distribution<double> noise;
  constexpr double sensor = 0.1, model = 1e-3; // standard deviations
  measurements measured, truth;
  double angle = 1, speed = 0;
  for (int k = 0; k < window; ++k) {
    speed -= 0.05 * (9.81 * std::sin(angle) + 0.1 * speed) + model * noise(random);
    angle += 0.05 * speed + model * noise(random);
    truth(k) = angle;
    measured(k) = angle + sensor * noise(random);
  }

  program::workspace memory;
  ct::tensor<double, 2> fitted{std::log(1e-2), std::log(1e-1)}, slope;
  double value = 0, first = 0;
  for (int k = 0; k < 300; ++k) {
    if (program::run(memory, std::tie(measured, fitted), std::tie(value, slope)) != ct::status::ok) return 1;
    if (k == 0) first = value;
    double const length = std::hypot(slope(0), slope(1)), step = length > 10 ? 0.2 / length : 0.02;
    for (int j = 0; j < 2; ++j) fitted(j) -= step * slope(j);
  }

  auto const angles = ct::compiled(filter)(measured, fitted).second;
  double raw = 0, filtered = 0;
  for (int k = 20; k < window; ++k) {
    raw += (measured(k) - truth(k)) * (measured(k) - truth(k));
    filtered += (angles(k) - truth(k)) * (angles(k) - truth(k));
  }
  double const found = std::exp(0.5 * fitted(1));
  std::printf("%zu bytes of workspace; likelihood %.1f -> %.1f; noise of the sensor %.3f (%.3f); error %.4f, without the filter %.4f\n",
              program::workspace_bytes, first, value, found, sensor, std::sqrt(filtered / (window - 20)), std::sqrt(raw / (window - 20)));
  return std::abs(found - sensor) < 0.02 && filtered < 0.25 * raw && value < first ? 0 : 1;
}
