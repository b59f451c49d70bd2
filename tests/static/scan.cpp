// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

// Scans, their gradients where elements are 0, and second derivatives.

namespace {

constexpr auto weighted = [](auto x) { return ct::sum(ct::cumprod(x) * ct::iota<double, 4>(1, 1)); };
constexpr auto slope = ct::grad(weighted)(ct::tensor<double, 4>{2, 0, 3, 4});
// The products are 2, 0, 0 and 0; toward the 0: 2 2 + 3 6 + 4 24.
static_assert(slope(0) == 1 && slope(1) == 118 && slope(2) == 0 && slope(3) == 0);

constexpr auto sums = [](auto x) { return ct::sum(ct::cumsum(x) * ct::iota<double, 3>(1, 1)); };
static_assert(ct::grad(sums)(ct::tensor<double, 3>{2, 0, 3})(1) == 5);

// a + a b + a b c, differentiated toward b, then toward all.
constexpr auto total = [](auto x) { return ct::sum(ct::cumprod(x)); };
constexpr auto toward_second = [](auto x) { return ct::grad(total)(x)(1); };
constexpr auto second = ct::grad(toward_second)(ct::tensor<double, 3>{2, 0, 3});
static_assert(second(0) == 4 && second(1) == 0 && second(2) == 2);

constexpr auto columns = ct::compiled([](auto x) { return ct::cumsum<0>(x) + ct::cumprod(x, 0); })(
    ct::tensor<int, 2, 2>{{1, 2}, {3, 4}});
static_assert(columns(0, 0) == 2 && columns(0, 1) == 4 && columns(1, 0) == 7 && columns(1, 1) == 14);

// Any number of rows, forward and backward: four are scanned side by side, then the rest.
template <int Rows> consteval bool rows_are_right() {
  ct::tensor<int, Rows, 3> x;
  for (int r = 0; r < Rows; ++r)
    for (int k = 0; k < 3; ++k) x(r, k) = 5 * r - 2 * k;
  auto const y = ct::compiled([](auto t) { return ct::cumsum(t); })(x);
  auto const dx = ct::grad([](auto t) { return ct::sum(ct::cumsum(ct::convert<double>(t)) * t); })(
      ct::compiled([](auto t) { return ct::convert<double>(t); })(x));
  for (int r = 0; r < Rows; ++r)
    for (int k = 0; k < 3; ++k) {
      int before = 0, after = 0; // both with x(r, k)
      for (int j = 0; j < 3; ++j) before += j <= k ? x(r, j) : 0, after += j >= k ? x(r, j) : 0;
      if (y(r, k) != before || dx(r, k) != before + after) return false;
    }
  return true;
}
static_assert(rows_are_right<1>() && rows_are_right<4>() && rows_are_right<6>() && rows_are_right<9>());

} // namespace
