// SPDX-License-Identifier: BSL-1.0
// Forces are gradients of an energy, so a loss on forces needs the gradient of a gradient. The example fits the stiffness and
// the rest length of springs in a chain to measured forces.
#include <cotangent/cotangent.hpp>

#include <cmath>
#include <cstdio>

namespace ct = cotangent;

// [energy]
inline constexpr auto energy = [](auto positions, auto stiffness, auto rest) {
  auto const lengths = positions(ct::range<1>) - positions(ct::range<0, 7>);
  return 0.5 * stiffness * ct::sum(ct::square(lengths - rest));
};
// [/energy]

// [loss]
inline constexpr auto loss = [](auto stiffness, auto rest, auto positions, auto measured) {
  auto const forces = -ct::grad(energy)(positions, stiffness, rest);
  return ct::sum(ct::square(forces - measured));
};
// [/loss]

int main() {
  ct::tensor<double, 8> const positions{0, 0.9, 2.2, 3.1, 4.3, 5.0, 6.2, 7.4};
  ct::tensor<double, 8> const slopes = ct::grad(energy)(positions, 2.5, 1.2); // the parameters to be recovered
  ct::tensor<double, 8> measured;
  for (int i = 0; i < 8; ++i) measured(i) = -slopes(i);

  double stiffness = 1, rest = 1, value = 0;
  for (int step = 0; step < 3000; ++step) {
    auto [now, gradient] = ct::value_and_grad<0, 1>(loss)(stiffness, rest, positions, measured);
    stiffness -= 0.02 * std::get<0>(gradient);
    rest -= 0.02 * std::get<1>(gradient);
    value = now;
  }

  std::printf("stiffness %.4f, rest length %.4f, loss %.2e\n", stiffness, rest, value);
  return std::abs(stiffness - 2.5) < 1e-3 && std::abs(rest - 1.2) < 1e-3 ? 0 : 1;
}
