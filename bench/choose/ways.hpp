// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_BENCH_CHOOSE_WAYS_HPP
#define COTANGENT_BENCH_CHOOSE_WAYS_HPP

#include <cstdint>
#include <functional>
#include <vector>

// The same tasks, computed by a compiled function, a graph at run time and eager mode. Each way is one translation unit,
// so that measure.py can also time its compilation.

namespace choose {

/// The numbers that all ways read.
struct data {
  std::vector<double> w3, x3, w65536, x65536, start1000;
  std::vector<float> w1, b1, w2, b2, images; // a network of 64, 32 and 10 units; 50 images
  std::vector<std::int32_t> labels;
};

/// Runs a task once. Returns a sum of results that all ways must agree on.
using task = std::function<double()>;

struct tasks {
  char const* way;
  task gradient_of_3, gradient_of_65536;
  task training_step;          // updates the weights of this way; returns the loss before
  task loop_of_1, loop_of_1000; // the gradient of 100 iterations
  task build;                  // what precedes the first training step at run time, and that step
};

inline constexpr int iterations = 100;

tasks compiled(data const&);
tasks graph(data const&);
tasks eager(data const&);

} // namespace choose

#endif
