// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <array>
#include <tuple>
#include <type_traits>
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

// ---- Jacobians: [outputs..., inputs...]

using square = ct::tensor<double, 3, 3>;
inline constexpr auto scaled = [](auto a) { return a * a * ct::sum(a); };
inline constexpr square of_scaled{{13, 1, 1}, {4, 28, 4}, {9, 9, 45}};
static_assert(ct::jacfwd(scaled)(x) == of_scaled);
static_assert(ct::jacrev(scaled)(x) == of_scaled);
static_assert(ct::jacobian(scaled)(x) == of_scaled);
static_assert(ct::jacobian(scaled)(ct::tensor<float, 3>{1, 2, 3})(2, 2) == 45);
static_assert(ct::jacobian(cube)(2.0) == 12);
static_assert(ct::jacobian(quartic)(x) == three{4, 32, 108});
static_assert(ct::jacobian(scaled)(ct::tensor<double, 1>{2}) == ct::tensor<double, 1, 1>{{12}});
static_assert(ct::jacobian(scaled)(ct::tensor<double, 0>{}).size() == 0);

// axes of the output first, by both modes
inline constexpr auto outer = [](auto a, auto b) { return ct::matmul(ct::reshape<2, 1>(a), ct::reshape<1, 3>(b)); };
inline constexpr ct::tensor<double, 2> two{5, 7};
inline constexpr auto by_a = [](auto jacobian) {
  auto const j = jacobian(outer)(two, x);
  for (int r = 0; r < 2; ++r)
    for (int c = 0; c < 3; ++c)
      for (int k = 0; k < 2; ++k)
        if (j(r, c, k) != (k == r ? x(c) : 0)) return false;
  return true;
};
inline constexpr auto by_b = [](auto jacobian) {
  auto const j = jacobian(outer)(two, x);
  for (int r = 0; r < 2; ++r)
    for (int c = 0; c < 3; ++c)
      for (int k = 0; k < 3; ++k)
        if (j(r, c, k) != (k == c ? two(r) : 0)) return false;
  return true;
};
static_assert(by_a([](auto f) { return ct::jacfwd<0>(f); }) && by_a([](auto f) { return ct::jacrev<0>(f); }));
static_assert(by_b([](auto f) { return ct::jacfwd<1>(f); }) && by_b([](auto f) { return ct::jacrev<1>(f); }));

// numbers and trees: like the output, with a tree like the arguments for each leaf
inline constexpr auto numbers = [](auto a, auto b) { return std::tuple(a * b, a + 2, a * a * b); };
template <class Jacobian> constexpr bool is_right(Jacobian const& j) {
  auto const [p, q, r] = j;
  return p == std::tuple(3., 2.) && q == std::tuple(1., 0.) && r == std::tuple(12., 4.);
}
static_assert(is_right(ct::jacfwd<0, 1>(numbers)(2.0, 3.0)) && is_right(ct::jacrev<0, 1>(numbers)(2.0, 3.0)));
inline constexpr auto of_parts = ct::jacobian([](auto p, auto k) { return std::array{p.first * p.second * k, p.first}; })(
    std::pair(x, 2.0), 3.0);
static_assert(of_parts[0].first == square{{6, 0, 0}, {0, 6, 0}, {0, 0, 6}} && of_parts[0].second == three{3, 6, 9});
static_assert(of_parts[1].first == square{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}} && of_parts[1].second == three{});

template <template <class, ct::extent...> class Tensor> struct line {
  BOOST_HANA_DEFINE_STRUCT(line, (Tensor<double, 3>, slope), (Tensor<double>, shift));
};
inline constexpr auto at = [](auto const& l, auto a) { return l.slope * a + l.shift; };
inline constexpr auto both = [](auto const& l, auto a) {
  using T = std::remove_cvref_t<decltype(l)>;
  return T{l.slope * a * l.shift, ct::sum(l.slope * l.slope)};
};
inline constexpr line<ct::tensor> l{{1, 2, 3}, 2.0};
static_assert(ct::jacobian(at)(l, x).slope == square{{1, 0, 0}, {0, 2, 0}, {0, 0, 3}});
static_assert(ct::jacobian(at)(l, x).shift == three{1, 1, 1});
inline constexpr auto of_line = ct::jacobian(both)(l, x);
static_assert(of_line.slope.slope == square{{2, 0, 0}, {0, 4, 0}, {0, 0, 6}} && of_line.slope.shift == three{1, 4, 9});
static_assert(of_line.shift.slope == three{2, 4, 6} && of_line.shift.shift == 0);
inline constexpr auto at_squared = [](auto const& m, auto a) { return ct::sum(at(m, a) * at(m, a)); };
static_assert(ct::hessian(at_squared)(l, x).shift.slope == three{2, 4, 6});
static_assert(ct::hessian(at_squared)(l, x).slope.shift == three{2, 4, 6});

// ---- Hessians

static_assert(ct::hessian(quartic)(x) == square{{12, 0, 0}, {0, 48, 0}, {0, 0, 108}});
static_assert(ct::hessian(cube)(2.f) == 12);
inline constexpr auto blocks = ct::hessian<0, 1>(product)(x, y);
static_assert(std::get<0>(std::get<1>(blocks)) == square{{4, 0, 0}, {0, 0, 0}, {0, 0, 24}});
static_assert(std::get<0>(std::get<0>(blocks)) == square{{2, 0, 0}, {0, 0, 0}, {0, 0, 8}});
// a third derivative
static_assert(ct::jacobian(ct::hessian(quartic))(two) == ct::tensor<double, 2, 2, 2>{{{120, 0}, {0, 0}}, {{0, 0}, {0, 168}}});

// ---- the diagonal of the Hessian

static_assert(ct::diagonal_hessian(quartic)(x) == three{12, 48, 108});
static_assert(ct::diagonal_hessian(cube)(3.0) == 18 && ct::diagonal_hessian(cube)(3.f) == 18);
inline constexpr auto joined = [](auto a, auto b) { return ct::sum(a) * ct::sum(a) * ct::sum(b * b); };
static_assert(ct::diagonal_hessian<0, 1>(joined)(x, ct::tensor<double, 2>{1, 2}) == std::tuple(three{10, 10, 10}, ct::tensor<double, 2>{72, 72}));
static_assert(ct::diagonal_hessian<1>(joined)(x, ct::tensor<double, 2>{1, 2}) == ct::tensor<double, 2>{72, 72});
static_assert(ct::diagonal_hessian([](auto p) { return ct::sum(p.first * p.first) * p.second * p.second; })(std::pair(x, 2.0)) == std::pair(three{8, 8, 8}, 28.0));
static_assert(ct::diagonal_hessian([](auto a) { return ct::sum(a); })(x) == three{} && ct::diagonal_hessian(quartic)(ct::tensor<double, 0>{}).size() == 0);
static_assert(ct::diagonal_hessian(quartic)(ct::tensor<double, 1, 2>{{1, 2}}) == ct::tensor<double, 1, 2>{{12, 48}});
static_assert(ct::grad([](auto a) { return ct::sum(ct::diagonal_hessian(quartic)(a)); })(x) == three{24, 48, 72});

// ---- vmap

inline constexpr ct::tensor<double, 2, 3> rows{{1, 2, 3}, {1, 1, 1}};
inline constexpr ct::tensor<double, 2, 3> of_rows{{6, 24, 54}, {3, 3, 3}};
static_assert(ct::vmap(scaled)(rows) == of_rows);
static_assert(ct::vmap<1>(scaled)(ct::tensor<double, 3, 2>{{1, 1}, {2, 1}, {3, 1}}) == of_rows);
static_assert(ct::vmap<-1>(scaled)(ct::tensor<double, 3, 2>{{1, 1}, {2, 1}, {3, 1}}) == of_rows);
static_assert(ct::vmap<ct::unmapped, 0>(product)(x, rows) == ct::tensor<double, 2>{98, 14});
static_assert(ct::vmap(cube)(three{1, 2, 3}) == three{1, 8, 27});
static_assert(ct::vmap([](auto) { return ct::full<2>(3.0); })(x) == ct::tensor<double, 3, 2>{{3, 3}, {3, 3}, {3, 3}});
static_assert(ct::vmap<ct::unmapped, 0>([](auto a, auto) { return a; })(two, x) ==
              ct::tensor<double, 3, 2>{{5, 7}, {5, 7}, {5, 7}});
static_assert(ct::vmap(scaled)(ct::tensor<double, 0, 3>{}).size() == 0);
static_assert(ct::vmap([](auto p) { return std::pair(p.first * p.second, p.second); })(std::pair(rows, two)).first == ct::tensor<double, 2, 3>{{5, 10, 15}, {7, 7, 7}});

// under and over the others
static_assert(ct::vmap(ct::grad(quartic))(rows) == ct::tensor<double, 2, 3>{{4, 32, 108}, {4, 4, 4}});
inline constexpr auto sum_of_rows = [](auto a) { return ct::sum(ct::vmap(quartic)(a)); };
static_assert(ct::grad(sum_of_rows)(rows) == ct::tensor<double, 2, 3>{{4, 32, 108}, {4, 4, 4}});
inline constexpr auto jacobians = [](auto a) { return ct::vmap(ct::jacobian(scaled))(a)(0); };
static_assert(ct::compiled(jacobians)(rows) == of_scaled);
inline constexpr auto cross = [](auto a) { return ct::jacobian(ct::vmap(scaled))(a)(0, ct::all, 0); };
static_assert(ct::compiled(cross)(rows) == of_scaled);
inline constexpr auto between = [](auto a) { return ct::jacobian(ct::vmap(scaled))(a)(0, ct::all, 1); };
static_assert(ct::compiled(between)(rows) == square{});
static_assert(ct::vmap(ct::vmap(cube))(rows) == ct::tensor<double, 2, 3>{{1, 8, 27}, {1, 1, 1}});
static_assert(ct::vmap<0, ct::unmapped>(ct::vmap<ct::unmapped, 0>([](auto a, auto b) { return a * b; }))(two, x) ==
              ct::tensor<double, 2, 3>{{5, 10, 15}, {7, 14, 21}});
inline constexpr auto first_hessian = [](auto a) { return ct::vmap(ct::hessian(quartic))(a)(0); };
static_assert(ct::compiled(first_hessian)(rows) == square{{12, 0, 0}, {0, 48, 0}, {0, 0, 108}});
static_assert(ct::vmap<0, ct::unmapped>(ct::hvp(quartic))(rows, v) == ct::tensor<double, 2, 3>{{12, 48, 0}, {12, 12, 0}});
static_assert(ct::jvp(ct::vmap(quartic))(rows, rows).second == ct::tensor<double, 2>{392, 12});
static_assert(ct::vjp(ct::vmap(quartic))(rows, two).second == ct::tensor<double, 2, 3>{{20, 160, 540}, {28, 28, 28}});
static_assert(ct::vmap<0, ct::unmapped>(ct::jvp(scaled))(rows, v).second == ct::tensor<double, 2, 3>{{14, 32, 18}, {8, 8, 2}});

// functions with captures, and values that are equal in all rows
inline constexpr auto closing = [](auto a, auto b) {
  return ct::vmap([&](auto number) { return ct::grad([&](auto z) { return ct::sum(z * z * number * b); })(a); })(b);
};
static_assert(ct::compiled(closing)(x, three{1, 0, 2}) == square{{2, 0, 12}, {0, 0, 0}, {4, 0, 24}});

// each in each
static_assert(ct::jacrev(ct::jacfwd(quartic))(two) == ct::tensor<double, 2, 2>{{300, 0}, {0, 588}});
static_assert(ct::jacfwd(ct::jacrev(quartic))(two) == ct::tensor<double, 2, 2>{{300, 0}, {0, 588}});
static_assert(ct::jacobian<0>(ct::hvp(quartic))(x, v) == square{{24, 0, 0}, {0, 48, 0}, {0, 0, 0}});
static_assert(ct::jacobian<1>(ct::hvp(quartic))(x, v) == square{{12, 0, 0}, {0, 48, 0}, {0, 0, 108}});
static_assert(ct::jvp(ct::jacobian(scaled))(x, v).second == ct::tensor<double, 3, 3>{{18, 2, 2}, {4, 24, 4}, {0, 0, 12}});
static_assert(ct::vjp(ct::jacobian(scaled))(x, square{{1, 0, 0}, {0, 0, 0}, {0, 0, 0}}).second == three{16, 2, 2});
static_assert(ct::hvp(sum_of_rows)(rows, rows) == ct::tensor<double, 2, 3>{{12, 96, 324}, {12, 12, 12}});
inline constexpr auto of_sum = [](auto a) { return ct::hessian(sum_of_rows)(a)(0, 1); };
static_assert(ct::compiled(of_sum)(rows) == ct::tensor<double, 2, 3>{{0, 48, 0}, {0, 0, 0}});
static_assert(ct::vmap(ct::value_and_grad(quartic))(rows).first == ct::tensor<double, 2>{98, 3});
inline constexpr auto pulled = [](auto a, auto b) { return ct::vmap<0, ct::unmapped>(ct::vjp(scaled))(a, b).second; };
static_assert(ct::compiled(pulled)(rows, x)(1, 0) == 12);
static_assert(ct::vmap(ct::checkpoint(scaled))(rows) == of_rows && ct::checkpoint(ct::vmap(scaled))(rows) == of_rows);
static_assert(ct::grad([](auto a) { return ct::sum(ct::vmap(ct::checkpoint(quartic))(a)); })(rows)(0, 2) == 108);

// in bodies of loops: Newton's method, and its derivative
inline constexpr auto residual = [](auto a, auto c) {
  return ct::expr<double, 2>{a(0) * a(0) + a(1) - c, a(0) - a(1) * a(1)};
};
inline constexpr auto newton = [](auto c) {
  return ct::for_loop(
      8,
      [&](auto, auto a) {
        auto const j = ct::jacobian(residual)(a, c);
        auto const r = residual(a, c);
        auto const det = j(0, 0) * j(1, 1) - j(0, 1) * j(1, 0);
        return ct::expr<double, 2>{a(0) - (j(1, 1) * r(0) - j(0, 1) * r(1)) / det,
                                   a(1) - (j(0, 0) * r(1) - j(1, 0) * r(0)) / det};
      },
      c * 0 + ct::full<2>(2.0));
};
constexpr bool near(double a, double b) { return a - b < 1e-12 && b - a < 1e-12; }
inline constexpr auto solved = ct::compiled(newton)(2.0), by_c = ct::jacobian(newton)(2.0);
static_assert(near(solved(0), 1) && near(solved(1), 1) && near(by_c(0), 0.4) && near(by_c(1), 0.2));
inline constexpr auto rows_in_loop = [](auto a, auto b) {
  return ct::for_loop(
      2, [&](auto, auto c) { return ct::vmap<0, 0>([&](auto p, auto q) { return (p * p * p * q + b(0)) / 8; })(c, b); }, a);
};
static_assert(ct::compiled(rows_in_loop)(ct::tensor<double, 2>{2, 4}, ct::tensor<double, 2>{1, 2}) ==
              ct::tensor<double, 2>{(1.125 * 1.125 * 1.125 + 1) / 8, (16.125 * 16.125 * 16.125 * 2 + 1) / 8});

} // namespace
