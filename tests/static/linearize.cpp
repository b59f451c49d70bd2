// SPDX-License-Identifier: BSL-1.0
// Linear maps of tangents, against jvp and closed forms.
#include <cotangent/cotangent.hpp>

#include <tuple>
#include <utility>

namespace ct = cotangent;

namespace {

inline constexpr auto cube = [](auto x) { return x * x * x; };
inline constexpr auto at_two = ct::linearize(cube)(2.0);
static_assert(at_two.first == 8 && at_two.second(1.0) == 12 && at_two.second(-0.5) == -6);
static_assert(ct::linearize(cube)(2.0F).second(1.0F) == 12);

// ---- several positions, trees, results that do not depend on them

inline constexpr auto both = [](auto x, auto y) { return std::tuple(x * y, y * y, x - x + 3.0); };
inline constexpr auto of_both = ct::linearize<0, 1>(both)(2.0, 5.0);
static_assert(of_both.second(1.0, 10.0) == std::tuple(25.0, 100.0, 0.0));
static_assert(of_both.second(ct::absent, 1.0) == std::tuple(2.0, 10.0, 0.0));
inline constexpr auto of_second = ct::linearize<1>(both)(2.0, 5.0);
static_assert(of_second.first == std::tuple(10.0, 25.0, 3.0) && of_second.second(1.0) == std::tuple(2.0, 10.0, 0.0));
inline constexpr auto of_pair = [](auto p) { return p.first * p.second; };
static_assert(ct::linearize(of_pair)(std::pair(2.0, 5.0)).second(std::pair(1.0, 1.0)) == 7);

// ---- in traced functions: two directions share the value; gradients of a tangent

inline constexpr auto two_directions = [](auto x) {
  auto const [y, map] = ct::linearize(cube)(x);
  return y + map(x) + map(2 * x); // x^3 + 3 x^3 + 6 x^3
};
static_assert(ct::compiled(two_directions)(2.0) == 80 && ct::grad(two_directions)(2.0) == 120);
inline constexpr auto slopes = [](auto x, auto directions) {
  auto const map = ct::linearize([](auto z) { return z * z; })(x).second;
  return ct::vmap([&](auto d) { return map(d); })(directions);
};
using two = ct::tensor<double, 2>;
inline constexpr auto jacobian = ct::compiled(slopes)(two{3, 4}, ct::tensor<double, 2, 2>{{1, 0}, {0, 1}});
static_assert(jacobian(0, 0) == 6 && jacobian(0, 1) == 0 && jacobian(1, 1) == 8);

// ---- loops

inline constexpr auto power = [](auto x) { return ct::for_loop(3, [&](auto, auto y) { return y * x; }, x); };
inline constexpr auto of_power = ct::linearize(power)(2.0);
static_assert(of_power.first == 16 && of_power.second(1.0) == 32);

} // namespace
