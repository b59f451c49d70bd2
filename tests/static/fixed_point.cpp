// SPDX-License-Identifier: BSL-1.0
// Fixed points and their derivatives, against closed forms.
#include <cotangent/cotangent.hpp>

#include <tuple>

namespace ct = cotangent;

namespace {

constexpr bool near(double a, double b, double tolerance = 1e-12) { return a - b < tolerance && b - a < tolerance; }

// ---- the square root by Newton's method, whose step does not move with x at the solution

inline constexpr auto root = [](auto a) { return ct::fixed_point([](auto x, auto c) { return (x + c / x) / 2; }, 1.0, a); };
static_assert(near(ct::compiled(root)(9.0), 3) && near(ct::grad(root)(9.0), 1. / 6));
static_assert(near(ct::jvp(root)(9.0, 2.0).second, 1. / 3) && near(ct::grad(ct::grad(root))(9.0), -1. / 108));
static_assert(near(ct::hvp(root)(9.0, 1.0), -1. / 108));

// ---- a linear contraction: x = a x + b

inline constexpr auto linear = [](auto a, auto b) { return ct::fixed_point([](auto x, auto c, auto d) { return c * x + d; }, 0.0, a, b); };
static_assert(near(ct::compiled(linear)(0.5, 3.0), 6) && near(ct::compiled(linear)(-0.5, 3.0), 2));
inline constexpr auto of_linear = ct::grad<0, 1>(linear)(0.5, 3.0); // b / (1 - a)^2, 1 / (1 - a)
static_assert(near(std::get<0>(of_linear), 12) && near(std::get<1>(of_linear), 2));
static_assert(near(ct::jvp<0, 1>(linear)(0.5, 3.0, 1.0, 1.0).second, 14));
// a start at the solution changes nothing
inline constexpr auto at_once = [](auto a, auto b) { return ct::fixed_point([](auto x, auto c, auto d) { return c * x + d; }, 6.0, a, b); };
static_assert(near(ct::grad(at_once)(0.5, 3.0), 12));
inline constexpr auto short_root = [](auto a) { return ct::fixed_point([](auto x, auto c) { return (x + c / x) / 2; }, 1.f, a); };
static_assert(near(ct::compiled(short_root)(9.f), 3, 1e-6) && near(ct::grad(short_root)(9.f), 1. / 6, 1e-6));

// ---- captured expressions are constants to derivatives

inline constexpr auto captured = [](auto a) { return a * ct::fixed_point([&](auto x) { return (x + a / x) / 2; }, 1.0); };
static_assert(near(ct::compiled(captured)(9.0), 27) && near(ct::grad(captured)(9.0), 3) && near(ct::jvp(captured)(9.0, 1.0).second, 3));

// ---- vectors, and their Jacobian

using two = ct::tensor<double, 2>;
inline constexpr auto coupled = [](auto a) {
  return ct::fixed_point([](auto x, auto c) { return ct::expr<double, 2>{x(1) / 4 + c(0), x(0) / 2 + c(1)}; }, a * 0, a);
};
inline constexpr auto solved = ct::compiled(coupled)(two{7, 14}), down = ct::vjp(coupled)(two{7, 14}, two{1, 0}).second;
static_assert(near(solved(0), 12) && near(solved(1), 20) && near(down(0), 8. / 7) && near(down(1), 2. / 7));
inline constexpr auto along = ct::jvp(coupled)(two{7, 14}, two{0, 1}).second;
static_assert(near(along(0), 2. / 7) && near(along(1), 8. / 7));

// ---- the workspace does not grow with the iterations

template <std::int64_t Most> inline constexpr auto loss = [](auto a) {
  return ct::sum(ct::fixed_point<ct::solver{.max_iterations = Most}>([](auto x, auto c) { return ct::cos(x) / 2 + c; }, a * 0, a));
};
using vector = ct::tensor<double, 300>;
template <std::int64_t Most> inline constexpr std::int64_t bytes = ct::program<decltype(ct::grad(loss<Most>)), vector>::workspace_bytes;
static_assert(bytes<10> == bytes<100000>);

// ---- in the body of a loop

inline constexpr auto roots = [](auto a) { return ct::for_loop(2, [](auto, auto y) { return root(y); }, a); };
static_assert(near(ct::compiled(roots)(16.0), 2) && near(ct::grad(roots)(16.0), 1. / 32) && near(ct::jvp(roots)(16.0, 1.0).second, 1. / 32));

} // namespace
