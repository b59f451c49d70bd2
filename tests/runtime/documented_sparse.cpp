// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/sparse.hpp>

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
