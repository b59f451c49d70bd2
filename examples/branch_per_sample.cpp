// SPDX-License-Identifier: BSL-1.0
// One branch per sample: the response of a sensor is exponential, logarithmic or linear, depending on its kind. A loop
// iterates over the samples and computes only the selected branch, in the forward and the backward pass. The gradient is
// compared with a hand-written one.
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace ct = cotangent;

int main() {
  std::vector<double> const readings{.3, 1.2, .7, 2.5, .1, 1.9};
  std::vector<std::int32_t> const kinds{0, 1, -1, 1, 0, -1}; // -1: none of the branches
  auto const count = static_cast<std::int64_t>(readings.size());

  // [branch]
  ct::dynamic::graph g;
  auto const reading = g.input<double>("reading", {count});
  auto const kind = g.input<std::int32_t>("kind", {count});
  auto const gain = g.parameter<double>("gain"), offset = g.parameter<double>("offset");

  auto const total = ct::for_loop(
      count,
      [&](auto i, auto sum) {
        auto const at = ct::reshape(i, {1});
        auto const x = ct::sum(ct::gather(reading, at)); // element i
        auto const which = ct::sum(ct::gather(kind, at));
        auto const answer = ct::case_of(
            which, [&](auto s) { return ct::exp(gain * s) - 1.0; },       // 0
            [&](auto s) { return ct::log(1.0 + gain * s) + offset; })(x); // 1; otherwise x is passed through
        return sum + answer * answer;
      },
      g.constant(0.0));
  auto const gradient = g.gradient({total}, {gain, offset});
  // [/branch]

  auto program = g.compile({total, gradient[0], gradient[1]});
  program.bind(reading, readings);
  program.bind(kind, kinds);
  bool right = true;
  for (double const by : {.5, 1.5}) {
    program.bind(gain, double(by));
    program.bind(offset, .25);
    program.run();
    double sum = 0, d_gain = 0, d_offset = 0;
    for (std::size_t k = 0; k < readings.size(); ++k) {
      double const x = readings[k];
      double const y = kinds[k] == 0 ? std::exp(by * x) - 1 : kinds[k] == 1 ? std::log(1 + by * x) + .25 : x;
      sum += y * y;
      if (kinds[k] == 0) d_gain += 2 * y * x * std::exp(by * x);
      if (kinds[k] == 1) {
        d_gain += 2 * y * x / (1 + by * x);
        d_offset += 2 * y;
      }
    }
    double const got[]{program.value(total), program.value(gradient[0]), program.value(gradient[1])};
    std::printf("gain %g: %.12f (%.12f), d gain %.12f (%.12f), d offset %.12f (%.12f)\n", by, got[0], sum,
                got[1], d_gain, got[2], d_offset);
    right = right && std::abs(got[0] - sum) < 1e-12 * sum && std::abs(got[1] - d_gain) < 1e-12 * d_gain &&
            std::abs(got[2] - d_offset) < 1e-12 * d_offset;
  }
  return right ? 0 : 1;
}
