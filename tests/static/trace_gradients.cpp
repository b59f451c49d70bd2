// SPDX-License-Identifier: BSL-1.0
// Gradients in constant evaluations: transformations compose with each other and with functions.
#include <cotangent/cotangent.hpp>

#include <array>
#include <tuple>

namespace ct = cotangent;

inline constexpr auto cube = [](auto x) { return x * x * x; };
static_assert(ct::compiled(cube)(2.0) == 8.0);
static_assert(ct::grad(cube)(2.0) == 12.0);
static_assert(ct::grad(ct::grad(cube))(2.0) == 12.0);
static_assert(ct::grad(ct::grad(ct::grad(cube)))(2.0) == 6.0);
static_assert(ct::value_and_grad(cube)(2.0f).first == 8.0f);
static_assert(ct::grad(ct::compiled(cube))(2.0) == 12.0 && ct::grad(ct::exact(cube))(2.0) == 12.0);

// Several positions, in any order.
inline constexpr auto product = [](auto x, auto y) { return x * x * y; };
static_assert(ct::grad<1>(product)(3.0, 5.0) == 9.0);
static_assert(ct::grad<1, 0>(product)(3.0, 5.0) == std::tuple(9.0, 30.0));

// What a function captures from the outside does not count: d/dx (x d/dx (x x)) where the inner x is fresh.
inline constexpr auto captured = [](auto x) {
  auto inner = ct::grad([&](auto z) { return z * x; })(x);
  return x * inner;
};
static_assert(ct::compiled(captured)(3.0) == 9.0 && ct::grad(captured)(3.0) == 6.0);
inline constexpr auto nested_captures = [](auto x) {
  return ct::grad([&](auto y) { return y * ct::grad([&](auto z) { return z * y; })(y); })(x);
};
static_assert(ct::compiled(nested_captures)(3.0) == 6.0, "d/dy (y y), where the inner derivative is y");

// A gradient inside a loss.
inline constexpr auto energy = [](auto x) { return ct::sum(x * x * x); };
inline constexpr auto force_loss = [](auto x) {
  auto const force = ct::grad(energy)(x);
  return ct::sum(force * force);
};
static_assert(ct::grad(force_loss)(ct::tensor<double, 2>{1, 2})(1) == 36 * 8, "d/dx 9 x^4");
inline constexpr auto both = [](auto x) {
  auto const [value, force] = ct::value_and_grad(energy)(x);
  return value + ct::sum(force);
};
static_assert(ct::compiled(both)(ct::tensor<double, 2>{1, 2}) == 9 + 3 + 12);

inline constexpr auto stopped = [](auto x) { return x * ct::stop_gradient(x); };
static_assert(ct::grad(stopped)(3.0) == 3.0);
inline constexpr auto four = [](auto) { return 4.0; };
static_assert(ct::compiled(four)(1.0) == 4.0 && ct::grad(four)(1.0) == 0.0);

// Forward and reverse products, and a Hessian-vector product from both.
static_assert(ct::jvp<0, 1>(product)(3.0, 5.0, 1.0, 2.0) == std::pair(45.0, 48.0));
static_assert(ct::vjp<0, 1>(product)(3.0, 5.0, 2.0) == std::pair(45.0, std::tuple(60.0, 18.0)));
inline constexpr auto hessian_times = [](auto x, auto v) { return ct::jvp(ct::grad(energy))(x, v).second; };
static_assert(ct::compiled(hessian_times)(ct::tensor<double, 2>{1, 2}, ct::tensor<double, 2>{1, 1})(1) == 12);

// A small network.
inline constexpr auto network = [](auto w, auto v, auto x) {
  auto const h = ct::relu(ct::matmul(ct::reshape<1, 2>(x), w));
  return ct::sum(ct::matmul(h, v));
};
inline constexpr ct::tensor<double, 2, 3> weights{{1, -1, 2}, {0.5, 1, -1}};
inline constexpr ct::tensor<double, 3, 1> second_weights{{2}, {3}, {4}};
inline constexpr ct::tensor<double, 2> point{2, 4};
inline constexpr auto value_and_gradients = ct::value_and_grad<0, 1>(network)(weights, second_weights, point);
static_assert(value_and_gradients.first == 4 * 2 + 2 * 3 + 0 * 4);
static_assert(std::get<0>(value_and_gradients.second) == ct::tensor<double, 2, 3>{{4, 6, 0}, {8, 12, 0}});
static_assert(std::get<1>(value_and_gradients.second)(0, 0) == 4);

// Arrays as arguments.
static_assert(ct::grad(energy)(std::array{1.0, 2.0}) == std::array{3.0, 12.0});

// An unused [&] captures nothing.
constexpr double with_default_capture() {
  return ct::grad([&](auto z) { return z * z; })(3.0);
}
static_assert(with_default_capture() == 6);
