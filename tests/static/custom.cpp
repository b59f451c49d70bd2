// SPDX-License-Identifier: BSL-1.0
// Functions with derivative rules of their own: the rule is used, nested, batched, and in bodies of loops and branches.
#include <cotangent/cotangent.hpp>

#include <tuple>
#include <utility>

namespace ct = cotangent;

namespace {

using three = ct::tensor<double, 3>;
inline constexpr three x{1, 2, 3}, v{1, 1, 0};

// ---- the rule, not the derivative of the function

// x^2, with the derivative 10 x instead of 2 x
inline constexpr auto square = [](auto a) { return a * a; };
inline constexpr auto backward = [](auto a, auto, auto dy) { return 10 * a * dy; };
inline constexpr auto reverse = ct::custom_vjp(square, backward);
inline constexpr auto tangent = [](auto a, auto da) { return 10 * a * da; };
inline constexpr auto forward = ct::custom_jvp(square, tangent);

static_assert(reverse(3.0) == 9 && forward(3.0) == 9 && reverse(3.f) == 9);
static_assert(ct::grad(reverse)(3.0) == 30 && ct::grad(forward)(3.0) == 30 && ct::grad(forward)(3.f) == 30);
static_assert(ct::jvp(forward)(3.0, 2.0) == std::pair(9.0, 60.0));
static_assert(ct::vjp(reverse)(3.0, 2.0).second == 60 && ct::vjp(forward)(3.0, 2.0).second == 60);
// second derivatives differentiate the rule
static_assert(ct::grad(ct::grad(reverse))(3.0) == 10 && ct::grad(ct::grad(forward))(3.0) == 10);
static_assert(ct::hvp(reverse)(3.0, 1.0) == 10 && ct::hvp(forward)(3.0, 2.0) == 20);
static_assert(ct::grad([](auto a) { return ct::jvp(forward)(a, a).second; })(3.0) == 60);
// forward mode transposes a rule that is linear in the cotangent
static_assert(ct::jvp(reverse)(3.0, 2.0) == std::pair(9.0, 60.0));
static_assert(ct::grad([](auto a) { return ct::jvp(reverse)(a, a).second; })(3.0) == 60);

// ---- the rule reads the result, whose derivative is the rule's, too

inline constexpr auto exponential =
    ct::custom_vjp([](auto a) { return ct::exp(a); }, [](auto, auto y, auto dy) { return 2 * y * dy; });
static_assert(ct::grad(exponential)(0.0) == 2 && ct::grad(ct::grad(exponential))(0.0) == 4);
static_assert(ct::grad(ct::grad(ct::grad(exponential)))(0.0) == 8);
static_assert(ct::jvp(exponential)(0.0, 3.0).second == 6 && ct::hvp(exponential)(0.0, 3.0) == 12 && ct::hessian(exponential)(0.0) == 4);

// ---- tensors, sums, other uses of the same expression

inline constexpr auto summed = [](auto a) { return ct::sum(reverse(a) * a) + ct::sum(a); };
static_assert(ct::grad(summed)(x) == three{12, 45, 100}); // 10 a a + a a + 1
static_assert(ct::grad([](auto a) { return ct::sum(forward(a) * a) + ct::sum(a); })(x) == three{12, 45, 100});
static_assert(ct::jacrev(reverse)(x) == ct::tensor<double, 3, 3>{{10, 0, 0}, {0, 20, 0}, {0, 0, 30}});
static_assert(ct::jacfwd(reverse)(x) == ct::jacrev(reverse)(x) && ct::jacobian(forward)(x) == ct::jacrev(reverse)(x) && ct::jacrev(forward)(x) == ct::jacobian(forward)(x));
static_assert(ct::hessian([](auto a) { return ct::sum(reverse(a)); })(x) == ct::tensor<double, 3, 3>{{10, 0, 0}, {0, 10, 0}, {0, 0, 10}});
static_assert(ct::hvp(summed)(x, v) == three{30, 60, 0}); // the gradient reads the result
static_assert(ct::grad(summed)(ct::tensor<double, 0>{}).size() == 0);

// ---- vmap

inline constexpr ct::tensor<double, 2, 3> rows{{1, 2, 3}, {1, 1, 1}};
static_assert(ct::vmap(summed)(rows) == ct::tensor<double, 2>{42, 6});
static_assert(ct::vmap(ct::grad(summed))(rows) == ct::tensor<double, 2, 3>{{12, 45, 100}, {12, 12, 12}});
static_assert(ct::grad([](auto a) { return ct::sum(ct::vmap(summed)(a)); })(rows) == ct::tensor<double, 2, 3>{{12, 45, 100}, {12, 12, 12}});
static_assert(ct::jvp(ct::vmap(forward))(rows, rows).second == ct::tensor<double, 2, 3>{{10, 40, 90}, {10, 10, 10}});
static_assert(ct::jvp(ct::vmap(reverse))(rows, rows).second == ct::tensor<double, 2, 3>{{10, 40, 90}, {10, 10, 10}});
static_assert(ct::vjp(ct::vmap(forward))(rows, rows).second == ct::tensor<double, 2, 3>{{10, 40, 90}, {10, 10, 10}});
inline constexpr auto product = ct::custom_vjp([](auto a, auto b) { return a * b; },
                                               [](auto a, auto b, auto, auto dy) { return std::tuple(3 * b * dy, 5 * a * dy); });
static_assert(ct::grad<0, 1>(product)(2.0, 7.0) == std::tuple(21.0, 10.0) && ct::grad<1>(product)(2.0, 7.0) == 10);
// (the unmapped argument gets the sum over all rows)
inline constexpr auto mapped = [](auto a, auto b) { return ct::sum(ct::vmap<0, ct::unmapped>(product)(a, b)); };
static_assert(ct::grad<0, 1>(mapped)(x, 2.0) == std::tuple(three{6, 6, 6}, 30.0));

// ---- several results, trees, integers, mixed elements

inline constexpr auto both = ct::custom_vjp(
    [](auto p, auto n) { return std::tuple(p.first * p.second, ct::argmax<0>(p.first), ct::sum(p.first) * ct::convert<double>(n)); },
    [](auto p, auto n, auto y, auto dy) {
      return std::tuple(std::pair(std::get<0>(dy) * p.second + std::get<2>(dy), std::get<0>(y) * std::get<0>(dy)), n);
    });
inline constexpr auto of_both = [](auto p, auto n) {
  auto const [a, i, s] = both(p, n);
  return ct::sum(a) + 100 * s + ct::convert<double>(i);
};
static_assert(ct::compiled(of_both)(std::pair(x, three{2, 2, 2}), 3) == 12 + 1800 + 2);
static_assert(ct::grad(of_both)(std::pair(x, three{2, 2, 2}), 3) == std::pair(three{102, 102, 102}, three{2, 4, 6}));
inline constexpr auto mixed = ct::custom_jvp([](auto a, auto b) { return std::pair(a * a, b * b); },
                                             [](auto a, auto b, auto da, auto db) { return std::pair(3 * a * da, 4 * b * db); });
static_assert(ct::jvp<0, 1>(mixed)(2.0, 3.f, 1.0, 1.f).second == std::pair(6.0, 12.f));
static_assert(ct::vjp<0, 1>(mixed)(2.0, 3.f, std::pair(1.0, 2.f)).second == std::tuple(6.0, 24.f));
static_assert(ct::vjp<1>(mixed)(2.0, 3.f, std::pair(1.0, 2.f)).second == 24.f);

// ---- a rule that is not linear in the cotangent: gradients are clipped, with the norm of all of them

inline constexpr auto clipped = ct::custom_vjp([](auto a) { return a; }, [](auto, auto, auto dy) { return dy / ct::sqrt(ct::sum(dy * dy)); });
static_assert(ct::grad([](auto a, auto w) { return ct::sum(clipped(a) * w); })(x, three{0, -4, 0}) == three{0, -1, 0});

// ---- captures, rules with gradients, a rule inside of a rule

inline constexpr auto closing = [](auto a, auto b) {
  auto const scaled = ct::custom_vjp([&](auto z) { return z * b; }, [&](auto, auto, auto dy) { return dy * b * b; });
  return scaled(a);
};
static_assert(ct::grad(closing)(3.0, 5.0) == 25 && ct::grad<1>(closing)(3.0, 5.0) == 0); // what f captures is a constant
static_assert(ct::grad<1>(ct::grad(closing))(3.0, 5.0) == 10);
inline constexpr auto cube = [](auto a) { return a * a * a; };
inline constexpr auto with_gradient = ct::custom_vjp(cube, [](auto a, auto, auto dy) { return ct::grad(cube)(a) * dy; });
static_assert(ct::grad(with_gradient)(2.0) == 12 && ct::grad(ct::grad(with_gradient))(2.0) == 12 &&
              ct::grad(ct::grad(ct::grad(with_gradient)))(2.0) == 6);
inline constexpr auto outer = ct::custom_vjp([](auto a) { return reverse(a); }, [](auto a, auto, auto dy) { return reverse(a) * dy; });
static_assert(outer(3.0) == 9 && ct::grad(outer)(3.0) == 9 && ct::grad(ct::grad(outer))(3.0) == 30);
inline constexpr auto inner = ct::custom_jvp([](auto a) { return a * forward(a); }, [](auto a, auto da) { return forward(a) * da; });
static_assert(ct::grad(inner)(3.0) == 9 && ct::grad(ct::grad(inner))(3.0) == 30 && ct::hvp(inner)(3.0, 1.0) == 30);
static_assert(ct::grad(ct::checkpoint(summed))(x) == three{12, 45, 100});

// ---- in bodies of loops and branches, and loops in rules

inline constexpr auto powers = [](auto a) { return ct::for_loop(2, [](auto, auto y) { return reverse(y); }, a); };
static_assert(ct::compiled(powers)(2.0) == 16 && ct::grad(powers)(2.0) == 10 * 4 * 10 * 2);
inline constexpr auto powers_forward = [](auto a) { return ct::for_loop(2, [](auto, auto y) { return forward(y); }, a); };
static_assert(ct::jvp(powers_forward)(2.0, 1.0) == std::pair(16.0, 800.0) && ct::grad(powers_forward)(2.0) == 800);
static_assert(ct::jvp(powers)(2.0, 1.0) == std::pair(16.0, 800.0) && ct::hvp(powers)(2.0, 1.0) == ct::grad(ct::grad(powers))(2.0));
static_assert(ct::grad(ct::grad(powers_forward))(2.0) == ct::grad(ct::grad(powers))(2.0));
inline constexpr auto captured = [](auto a) {
  return ct::for_loop(3, [&](auto, auto y) { return y + product(a, a * 2); }, 0.0);
};
static_assert(ct::grad(captured)(2.0) == 3 * (3 * 4 + 2 * 5 * 2));
inline constexpr auto branch = [](auto a) { return ct::cond(a > 0, reverse, [](auto b) { return b; })(a); };
static_assert(ct::grad(branch)(3.0) == 30 && ct::grad(branch)(-3.0) == 1);
static_assert(ct::grad(ct::grad(branch))(3.0) == 10 && ct::hvp(branch)(3.0, 1.0) == 10);
inline constexpr auto looping = ct::custom_vjp(square, [](auto a, auto, auto dy) {
  return ct::for_loop(3, [&](auto, auto w) { return w * a + dy; }, dy); // dy (a^3 + a^2 + a + 1)
});
static_assert(ct::jvp(looping)(2.0, 2.0).second == 30 && ct::hvp(looping)(2.0, 1.0) == 17);
static_assert(ct::grad(looping)(2.0) == 15 && ct::grad(ct::grad(looping))(2.0) == 17);
inline constexpr auto loop_of_looping = [](auto a) { return ct::for_loop(2, [](auto, auto y) { return looping(y); }, a); };
static_assert(ct::grad(loop_of_looping)(2.0) == 15 * 85);
static_assert(ct::jvp(loop_of_looping)(2.0, 1.0).second == 15 * 85);
inline constexpr auto none_at_all = [](auto a) { return ct::for_loop(0, [](auto, auto y) { return reverse(y); }, a); };
static_assert(ct::grad(none_at_all)(2.0) == 1);

// ---- a rule that no derivative needs leaves no node

inline constexpr auto plain = [](auto a) { return ct::sum(a * a); };
inline constexpr auto ruled = [](auto a) { return ct::sum(reverse(a)); };
static_assert(ct::program<decltype(ruled), three>::graph.node_count == ct::program<decltype(plain), three>::graph.node_count);

} // namespace
