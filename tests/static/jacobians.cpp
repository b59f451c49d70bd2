// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <array>
#include <tuple>
#include <utility>

namespace ct = cotangent;

namespace {

inline constexpr ct::tensor<double, 3> x{1, 2, 3}, y{1, 0, 2}, v{1, 1, 0}, w{0, 1, 1};
using three = ct::tensor<double, 3>;

inline constexpr auto cube = [](auto a) { return a * a * a; };
inline constexpr auto quartic = [](auto a) { return ct::sum(a * a * a * a); };
inline constexpr auto product = [](auto a, auto b) { return ct::sum(a * a * b * b); };

// ---- products with the Hessian

static_assert(ct::hvp(cube)(2.0, 3.0) == 36);
static_assert(ct::hvp(cube)(2.f, 3.f) == 36);
static_assert(ct::hvp(quartic)(x, v) == three{12, 48, 0});
static_assert(ct::hvp<0>(product)(x, y, v) == three{2, 0, 0});
static_assert(ct::hvp<1>(product)(x, y, v) == three{2, 8, 0});
static_assert(std::get<0>(ct::hvp<0, 1>(product)(x, y, v, w)) == three{2, 0, 24});
static_assert(std::get<1>(ct::hvp<0, 1>(product)(x, y, v, w)) == three{4, 8, 18});

// of trees, of integers beside, of a linear function
inline constexpr auto of_pair = [](auto p, auto k) { return ct::sum(p.first * p.first) * p.second * ct::convert<double>(k); };
inline constexpr auto pair_product = ct::hvp(of_pair)(std::pair(x, 2.0), 3, std::pair(v, 1.0));
static_assert(pair_product.first == three{18, 24, 18} && pair_product.second == 18);
static_assert(ct::hvp([](auto a) { return ct::sum(a); })(x, v) == three{});

// inside of functions, and of itself
inline constexpr auto along = [](auto a, auto b) { return ct::sum(ct::hvp(quartic)(a, b)); };
static_assert(ct::grad(along)(x, v) == three{24, 48, 0});
static_assert(ct::hvp([](auto a) { return ct::sum(ct::hvp(quartic)(a, a)); })(x, v) == three{72, 144, 0});
static_assert(ct::jvp(along)(x, v, v).second == 72);

} // namespace
