// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_BENCH_GRADBENCH_DESCENT_HPP
#define COTANGENT_BENCH_GRADBENCH_DESCENT_HPP

#include <array>
#include <cmath>
#include <cstddef>

namespace gradbench {

template <std::size_t N> struct point_of_descent {
  double value;
  std::array<double, N> gradient;
};

/// Gradient descent from x, as the suite defines it. `f` returns the value and the gradient at a point.
template <std::size_t N, class F> std::array<double, N> minimize(F const& f, std::array<double, N> x) {
  auto const length = [](std::array<double, N> const& v) {
    double sum = 0;
    for (double const c : v) sum += c * c;
    return std::sqrt(sum);
  };
  point_of_descent<N> here = f(x);
  double eta = 1e-5;
  int improved = 0;
  while (length(here.gradient) > 1e-5) {
    if (improved == 10) eta *= 2, improved = 0;
    std::array<double, N> next, step;
    for (std::size_t k = 0; k < N; ++k) next[k] = x[k] - eta * here.gradient[k], step[k] = x[k] - next[k];
    if (!(length(step) > 1e-5)) break;
    if (point_of_descent<N> const there = f(next); there.value < here.value) x = next, here = there, ++improved;
    else eta /= 2, improved = 0;
  }
  return x;
}

} // namespace gradbench

#endif
