// SPDX-License-Identifier: BSL-1.0
// Roots by Newton's method and their implicit derivatives, against closed forms.
#include <cotangent/cotangent.hpp>
#include <cotangent/linalg.hpp>

#include <tuple>

namespace ct = cotangent;

namespace {

constexpr bool near(double a, double b, double tolerance = 1e-12) { return a - b < tolerance && b - a < tolerance; }

// ---- numbers

inline constexpr auto square_root = [](auto a) { return ct::root([](auto x, auto c) { return x * x - c; }, 1.0, a); };
static_assert(near(ct::compiled(square_root)(9.0), 3) && near(ct::grad(square_root)(9.0), 1. / 6));
static_assert(near(ct::jvp(square_root)(9.0, 2.0).second, 1. / 3) && near(ct::grad(ct::grad(square_root))(9.0), -1. / 108));
static_assert(near(ct::hvp(square_root)(9.0, 1.0), -1. / 108));
inline constexpr auto short_root = [](auto a) { return ct::root([](auto x, auto c) { return x * x - c; }, 1.f, a); };
static_assert(near(ct::compiled(short_root)(9.f), 3, 1e-6) && near(ct::grad(short_root)(9.f), 1. / 6, 1e-6));

// Kepler's equation: dE/dM = 1 / (1 - e cos E), dE/de = sin E / (1 - e cos E)
// [kepler]
inline constexpr auto anomaly = [](auto m, auto e) {
  return ct::root([](auto angle, auto mean, auto c) { return angle - c * ct::sin(angle) - mean; }, m, m, e);
};
// [/kepler]
constexpr double E = ct::compiled(anomaly)(1.0, 0.5);
static_assert(near(E, 1.4987011335178482));
constexpr auto slopes = ct::grad<0, 1>(anomaly)(1.0, 0.5);
static_assert(near(std::get<0>(slopes), 1.037362021893646) && near(std::get<1>(slopes), 1.0346672323734563));

// a captured expression is a constant to derivatives; an argument is not
inline constexpr auto captured = [](auto a, auto b) { return ct::root([&](auto x, auto c) { return x * x * x - c * b; }, 1.0, a); };
static_assert(near(ct::compiled(captured)(4.0, 2.0), 2) && near(ct::grad(captured)(4.0, 2.0), 1. / 6));
inline constexpr auto only_captured = [](auto a) { return ct::root([&](auto x) { return x * x - a; }, 1.0); };
static_assert(near(ct::compiled(only_captured)(9.0), 3) && ct::grad(only_captured)(9.0) == 0 && ct::jvp(only_captured)(9.0, 1.0).second == 0);
static_assert(near(ct::compiled(ct::vmap(only_captured))(ct::tensor<double, 2>{4, 9})(1), 3));
inline constexpr auto from_vector = [](auto a) { return ct::sum(a * ct::root([&](auto x) { return x * x - a; }, a * 0 + 1)); };
static_assert(near(ct::grad(from_vector)(ct::tensor<double, 2>{4, 9})(1), 3));

// ---- vectors: x + y = a, x y = b; dx/da = x / (x - y), dx/db = -1 / (x - y)

using two = ct::tensor<double, 2>;
inline constexpr auto pair = [](auto c) {
  return ct::root([](auto z, auto d) { return ct::expr<double, 2>{z(0) + z(1) - d(0), z(0) * z(1) - d(1)}; }, c * 0 + ct::iota<double, 2>(3, -2), c);
};
constexpr auto found = ct::compiled(pair)(two{7, 10});
static_assert(near(found(0), 5) && near(found(1), 2));
constexpr auto down = ct::vjp(pair)(two{7, 10}, two{1, 0}).second;
static_assert(near(down(0), 5. / 3) && near(down(1), -1. / 3));
constexpr auto along = ct::jvp(pair)(two{7, 10}, two{0, 1}).second;
static_assert(near(along(0), -1. / 3) && near(along(1), 1. / 3));

// ---- the gradient has no record of the iterations

using vector = ct::tensor<double, 3>;
template <std::int64_t Most> inline constexpr auto loss = [](auto a) {
  return ct::sum(ct::root<ct::solver{.max_iterations = Most}>([](auto x, auto c) { return x * x * x - c; }, a * 0 + 1, a));
};
template <std::int64_t Most> inline constexpr std::int64_t bytes = ct::program<decltype(ct::grad(loss<Most>)), vector>::workspace_bytes;
static_assert(bytes<10> == bytes<100000>);

} // namespace

int main() {}
