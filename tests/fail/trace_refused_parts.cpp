// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: the shapes of both operands must be equal
// ERRORS: 1
#include <cotangent/cotangent.hpp>

#include <tuple>

namespace ct = cotangent;

inline constexpr auto sums = [](auto x, auto y) { return std::tuple(x + y, x, ct::sum(x)); };
inline constexpr auto total = [](auto x, auto y) { return ct::sum(x + y); };
inline constexpr auto nested = [](auto x, auto y) {
  [[maybe_unused]] auto [sum, left, right] = ct::compiled(sums)(x, y);
  [[maybe_unused]] auto [value, gradients] = ct::value_and_grad<0, 1>(total)(x, y);
  [[maybe_unused]] auto [dx, dy] = gradients;
  [[maybe_unused]] auto [again, back] = ct::vjp<0, 1>(total)(x, y);
  [[maybe_unused]] auto [dx_again, dy_again] = back();
  [[maybe_unused]] auto [both, tangent] = ct::jvp<0, 1>(total)(x, y, x, y);
  return std::tuple(sum + left * right, value + again + both, dx + dx_again, dy + dy_again, tangent);
};

int main() {
#ifdef REFUSED
  ct::tensor<double, 4> y;
#else
  ct::tensor<double, 3> y;
#endif
  ct::tensor<double, 3> x;
  [[maybe_unused]] auto [sum, left, right] = ct::compiled(sums)(x, y);
  auto const several = ct::exact(sums)(x, y);
  auto const first = std::get<0>(several);
  [[maybe_unused]] auto [dx, dy] = ct::grad<0, 1>(total)(x, y);
  [[maybe_unused]] auto [value, gradients] = ct::value_and_grad<0, 1>(total)(x, y);
  [[maybe_unused]] auto [first_gradient, second_gradient] = gradients;
  [[maybe_unused]] auto [again, back] = ct::vjp<0, 1>(total)(x, y);
  [[maybe_unused]] auto [dx_again, dy_again] = back(1.0);
  [[maybe_unused]] auto [both, tangent] = ct::jvp<0, 1>(total)(x, y, x, y);
  [[maybe_unused]] auto [values, tangents] = ct::jvp<0, 1>(sums)(x, y, x, y);
  [[maybe_unused]] auto [t0, t1, t2] = tangents;
  [[maybe_unused]] auto [a, b, c, d, e] = ct::compiled(nested)(x, y);
  using program = ct::program<decltype(sums), decltype(x), decltype(y)>;
  [[maybe_unused]] auto [p, q, r] = program::call(x, y);
  return value == 0 && sum(0) + left(0) + right + first(0) + dx(0) + dy(0) + again + both + tangent == 0 ? 0 : 1;
}
