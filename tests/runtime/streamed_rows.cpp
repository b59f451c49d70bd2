// SPDX-License-Identifier: BSL-1.0
// Reductions of rows of tensors that are larger than a cache, whose next block is prefetched.
#include "../catch.hpp"

#include <cotangent/cotangent.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

namespace ct = cotangent;

namespace {
inline constexpr auto lengths = [](auto x) { return ct::sqrt(ct::sum(x * x * x, ct::axes<1>) + 1.0); };
inline constexpr auto fit = [](auto x, auto y, auto w) {
  return ct::mean(ct::square(ct::flatten(ct::matmul(x, ct::reshape<64, 1>(w))) - y));
};
inline constexpr auto weighted_sum = [](auto x, auto w) { return ct::sum(ct::sqrt(ct::sum(x * w, ct::axes<1>) + 50.0)); };
} // namespace
TEST_CASE("rows of tensors larger than a cache have the bits of a few rows") {
  constexpr std::ptrdiff_t rows = 4801; // of 512 bytes: 2.4 MB, and a block that is not full
  std::vector<double> x(static_cast<std::size_t>(rows) * 64);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<double>(k % 23) / 16;
  auto const all = ct::compiled(lengths)(ct::view<double const, "n", 64>(x.data(), rows));
  for (std::ptrdiff_t first : {0, 2400, 4794}) {
    auto const part = ct::compiled(lengths)(ct::view<double const, "n", 64>(x.data() + first * 64, 7));
    for (int r = 0; r < 7; ++r) CHECK(part(r) == all(first + r));
  }
  // gradients: sums over all rows
  std::vector<double> y(static_cast<std::size_t>(rows), 1.0);
  ct::tensor<double, 64> w, wanted{};
  for (int k = 0; k < 64; ++k) w(k) = (k % 5 - 2) / 4.;
  double squares = 0;
  for (std::size_t r = 0; r < y.size(); ++r) {
    double z = -1;
    for (std::size_t k = 0; k < 64; ++k) z += x[r * 64 + k] * w(static_cast<int>(k));
    squares += z * z;
    for (std::size_t k = 0; k < 64; ++k) wanted(static_cast<int>(k)) += 2 * z * x[r * 64 + k];
  }
  auto const [value, slope] =
      ct::value_and_grad<2>(fit)(ct::view<double const, "n", 64>(x.data(), rows), ct::view<double const, "n">(y.data(), rows), w);
  CHECK(std::fabs(value - squares / rows) <= 1e-12 * value);
  for (int k = 0; k < 64; ++k) CHECK(std::fabs(slope(k) - wanted(k) / rows) <= 1e-11 * std::fabs(slope(k)) + 1e-11);
  // one argument along rows, one that all rows share; numbers as sizes
  auto const fixed = std::make_unique<ct::tensor<double, rows, 64>>();
  std::copy(x.begin(), x.end(), fixed->data());
  auto const dw = ct::grad<1>(weighted_sum)(*fixed, w), named = ct::grad<1>(weighted_sum)(ct::view<double const, "n", 64>(x.data(), rows), w);
  CHECK(dw == named);
}
