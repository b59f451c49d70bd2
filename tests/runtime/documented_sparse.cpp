// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/sparse.hpp>

#include <cotangent/dynamic.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

namespace ct = cotangent;

namespace {
// [chain]
inline constexpr auto chain = [](auto x) {
  auto a = x(ct::range<0, -1>), b = x(ct::range<1>);
  return ct::sum(100 * ct::square(b - a * a) + ct::square(1 - a));
};
// [/chain]
} // namespace

TEST_CASE("the documented sparse Hessian is that of differences of gradients") {
  ct::tensor<double, 1000> x;
  for (int k = 0; k < 1000; ++k) x(k) = 0.5 + 0.001 * k;
  // [hessian]
  auto h = ct::sparse_hessian(chain)(x); // x: ct::tensor<double, 1000>
  static_assert(h.elements == 2998 && h.colors == 3);
  double first = h.values(0); // at row h.row_indices[0], column h.column_indices[0]
  // [/hessian]
  CHECK(first == Approx(2 + 1200 * 0.25 - 400 * 0.501));
  for (int k = 0; k < h.elements; k += 97) {
    auto const row = h.row_indices[static_cast<std::size_t>(k)], column = h.column_indices[static_cast<std::size_t>(k)];
    ct::tensor<double, 1000> more = x, less = x;
    more(column) += 1e-6;
    less(column) -= 1e-6;
    CHECK(h.values(k) == Approx((ct::grad(chain)(more)(row) - ct::grad(chain)(less)(row)) / 2e-6).epsilon(1e-5).margin(1e-4));
  }
}

TEST_CASE("the documented Hessian of springs is that of each spring") {
  std::int64_t const points = 50;
  std::vector<std::int64_t> first_ends, second_ends;
  for (std::int64_t k = 0; k < 70; ++k) {
    first_ends.push_back(k * 17 % points);
    second_ends.push_back((k * k + 3) % points);
  }
  // [springs]
  ct::dynamic::graph g;
  auto x = g.input<double>("x", {points});
  auto from = g.constant(first_ends), to = g.constant(second_ends); // std::vector<std::int64_t>
  auto energy = [&](auto y) {
    auto stretch = ct::gather(y, to) - ct::gather(y, from) - 1.0;
    return ct::sum(ct::square(ct::square(stretch)));
  };
  auto h = ct::sparse_hessian(energy)(x); // h.row_starts, h.column_indices: std::vector<std::int32_t>
  auto program = g.compile({h.values, ct::grad(energy)(x)});
  // [/springs]
  std::vector<double> at, values(h.row_indices.size()), wanted(2500), found(2500);
  for (int k = 0; k < 50; ++k) at.push_back(std::sin(0.1 * k));
  program.bind(x, at);
  program.bind(h.values, values);
  program.run();
  for (std::size_t k = 0; k < 70; ++k) {
    auto const i = static_cast<std::size_t>(first_ends[k]), j = static_cast<std::size_t>(second_ends[k]);
    double const d = at[j] - at[i] - 1, second = 12 * d * d;
    wanted[50 * i + i] += second;
    wanted[50 * j + j] += second;
    wanted[50 * i + j] -= second;
    wanted[50 * j + i] -= second;
  }
  CHECK(h.elements < 200);
  for (std::size_t k = 0; k < values.size(); ++k)
    found[static_cast<std::size_t>(50 * h.row_indices[k] + h.column_indices[k])] = values[k];
  for (std::size_t k = 0; k < 2500; ++k) CHECK(found[k] == Approx(wanted[k]).margin(1e-12));
}
