// SPDX-License-Identifier: BSL-1.0
// Compiled several times, with UNIT the name of its function: a run-time graph, whose kernels depend on the flags.
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include <cstdint>
#include <vector>

double COTANGENT_UNIT(std::vector<double> const& x);

/// The sum of the gradient of a mean.
double COTANGENT_UNIT(std::vector<double> const& x) {
  namespace ct = cotangent;
  ct::dynamic::graph g;
  auto const in = g.input<double>("x", {static_cast<std::int64_t>(x.size())});
  auto const y = ct::mean(ct::square(ct::tanh(0.7 * in) - 0.5) + ct::exp(in) / (1.0 + in * in));
  auto const dy = ct::sum(g.gradient({y}, {in}).front());
  auto p = g.compile({y, dy});
  p.bind(in, x);
  p.run();
  return p.value(y)() + p.value(dy)();
}
