// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_BENCH_EMIT_FUNCTIONS_HPP
#define COTANGENT_BENCH_EMIT_FUNCTIONS_HPP

#include <cotangent/cotangent.hpp>
#include <cotangent/nn.hpp>

#include <cstdint>
#include <tuple>

// The functions whose programs are emitted, and compared with the static programs.

namespace bench::emitted {

namespace ct = cotangent;

inline constexpr auto rosenbrock = [](auto x) { return ct::square(1 - x(0)) + 100 * ct::square(x(1) - x(0) * x(0)); };
inline constexpr auto log_sum_exp = [](auto x) { return ct::logsumexp(x); };
inline constexpr auto digits = [](auto w1, auto b1, auto w2, auto b2, auto x, auto labels) {
  auto const h = ct::tanh(ct::matmul(x, w1) + b1);
  return ct::mean(ct::cross_entropy(ct::matmul(h, w2) + b2, labels));
};
/// 200 Runge-Kutta steps of a pendulum: the square of its last state.
inline constexpr auto pendulum = [](auto angle, auto speed, auto pull) {
  auto const [a, s] = ct::for_loop(
      200,
      [&](auto, auto q, auto p) {
        auto const force = [&](auto at) { return -pull * ct::sin(at); };
        double const h = 0.01;
        auto const q1 = p, p1 = force(q), q2 = p + 0.5 * h * p1, p2 = force(q + 0.5 * h * q1), q3 = p + 0.5 * h * p2,
                   p3 = force(q + 0.5 * h * q2), q4 = p + h * p3, p4 = force(q + h * q3);
        return std::tuple{q + h / 6 * (q1 + 2 * q2 + 2 * q3 + q4), p + h / 6 * (p1 + 2 * p2 + 2 * p3 + p4)};
      },
      angle, speed);
  return a * a + s * s;
};

using rosenbrock_program = ct::program<decltype(ct::value_and_grad(rosenbrock)), ct::tensor<double, 2>>;
using log_sum_exp_program = ct::program<decltype(ct::value_and_grad(log_sum_exp)), ct::tensor<double, 4096>>;
using digits_program = ct::program<decltype(ct::value_and_grad<0, 1, 2, 3>(digits)), ct::tensor<float, 64, 32>, ct::tensor<float, 32>,
                                   ct::tensor<float, 32, 10>, ct::tensor<float, 10>, ct::tensor<float, 50, 64>, ct::tensor<std::int32_t, 50>>;
using pendulum_program = ct::program<decltype(ct::value_and_grad<0, 1, 2>(pendulum)), double, double, double>;

} // namespace bench::emitted

#endif
