// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_BENCH_RUN_STATISTICS_HPP
#define COTANGENT_BENCH_RUN_STATISTICS_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace bench {

/// A median and the interval that holds the true one in 95 of 100 runs.
struct estimate {
  double median = 0, low = 0, high = 0;
};

/// Order statistics: the ranks come from the binomial distribution, so nothing is assumed about the noise.
inline estimate estimate_median(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  auto const n = static_cast<double>(values.size());
  double const reach = 0.98 * std::sqrt(n); // 1.96 standard deviations of B(n, 1/2)
  auto const at = [&](double rank) { return values[static_cast<std::size_t>(std::clamp(rank, 0.0, n - 1))]; };
  double const middle = (n - 1) / 2;
  return {(at(std::floor(middle)) + at(std::ceil(middle))) / 2, at(std::floor(n / 2 - reach)),
          at(std::ceil(n / 2 + reach))};
}

inline double geometric_mean(std::vector<double> const& values) {
  double sum = 0;
  for (double v : values) sum += std::log(v);
  return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
}

} // namespace bench

#endif
