// SPDX-License-Identifier: BSL-1.0
// Loops of traced functions, and their derivatives, run by the compiler.
#include "../traced.hpp"

#include <array>
#include <cstdint>
#include <tuple>
#include <utility>

namespace ct = cotangent;
using traced::call;

constexpr bool near(double a, double b) { return a - b < 1e-12 && b - a < 1e-12; }

inline constexpr auto powers = [](auto x) { return ct::for_loop(3, [&](auto, auto p) { return p * x; }, x); };
static_assert(call(ct::compiled(powers))(2.0) == 16);
static_assert(call(ct::grad(powers))(2.0) == 32);
static_assert(call(ct::grad(ct::grad(powers)))(2.0) == 48);
static_assert(call(ct::value_and_grad(powers))(2.0) == std::pair(16.0, 32.0));
static_assert(call(ct::jvp(powers))(2.0, 3.0) == std::pair(16.0, 96.0));
static_assert(call(ct::compiled([](auto x) { return ct::jvp(ct::grad(powers))(x, 1.0).second; }))(2.0) == 48);

// The count: an expression of either integer element, the iteration of a loop around, none, a negative one.
inline constexpr auto counted = [](auto n, auto x) { return ct::for_loop(n, [&](auto, auto p) { return p * x; }, x); };
static_assert(call(ct::compiled(counted))(std::int64_t{3}, 2.0) == 16);
static_assert(call(ct::compiled(counted))(std::int32_t{3}, 2.0) == 16);
static_assert(call(ct::compiled(counted))(std::int64_t{0}, 2.0) == 2);
static_assert(call(ct::compiled(counted))(std::int64_t{-1}, 2.0) == 2);
inline constexpr auto bounded = [](auto n, auto x) {
  return ct::for_loop<ct::loop{.max_iterations = 4}>(n, [&](auto, auto p) { return p * x; }, x);
};
static_assert(call(ct::grad<1>(bounded))(std::int64_t{3}, 2.0) == 32);
static_assert(call(ct::grad<1>(bounded))(std::int32_t{0}, 2.0) == 1);
static_assert(call(ct::compiled(bounded))(std::int64_t{9}, 2.0) == 32);
inline constexpr auto triangle = [](auto n) {
  return ct::for_loop(n, [](auto i, auto sum) { return ct::for_loop(i + 1, [](auto j, auto s) { return s + j; }, sum); },
                      std::int64_t{0});
};
static_assert(call(ct::compiled(triangle))(std::int64_t{4}) == 0 + 1 + 3 + 6);

// The condition depends on data: x doubles beyond 100 x0.
inline constexpr auto beyond = [](auto x) {
  return ct::while_loop<ct::loop{.max_iterations = 20}>([&](auto, auto s) { return s < 100 * x; },
                                                        [&](auto, auto s) { return s * x; }, x);
};
static_assert(call(ct::compiled(beyond))(2.0) == 256);
static_assert(call(ct::compiled(beyond))(1.0) == 1, "20 iterations");
static_assert(call(ct::grad(beyond))(2.0) == 8 * 128);
// [root]
inline constexpr auto root = [](auto a) {
  return ct::while_loop([&](auto i, auto y) { return ct::abs(y * y - a) > 1e-13 && i < 50; },
                        [&](auto, auto y) { return 0.5 * (y + a / y); }, 1.0);
};
// [/root]
static_assert(near(call(ct::compiled(root))(9.0), 3));
static_assert(near(call(ct::grad(root))(9.0), 1.0 / 6));
static_assert(call(ct::compiled(root))(1.0) == 1 && call(ct::grad(root))(1.0) == 0, "no iteration");
inline constexpr auto never = [](auto x) {
  return ct::while_loop<ct::loop{.max_iterations = 3}>([](auto, auto) { return false; }, [](auto, auto s) { return s * s; }, x);
};
static_assert(call(ct::grad(never))(3.0) == 1);

// Initial values: numbers, constants, integers and bools; only the body uses an argument.
inline constexpr auto multiples = [](auto x) { return ct::for_loop(3, [&](auto, auto s) { return s + x; }, 0.0); };
static_assert(call(ct::compiled(multiples))(2.0) == 6 && call(ct::grad(multiples))(2.0) == 3);
inline constexpr auto vectors = [](auto x) {
  return ct::sum(ct::for_loop(3, [&](auto i, auto s) { return s * 2 + x * ct::convert<double>(i); }, ct::zeros<3>()));
};
static_assert(call(ct::compiled(vectors))(ct::tensor<double, 3>{1, 2, 3}) == 6 * (0 * 4 + 1 * 2 + 2));
static_assert(call(ct::grad(vectors))(ct::tensor<double, 3>{1, 2, 3}) == ct::tensor<double, 3>{4, 4, 4});
inline constexpr auto inside_only = [](auto x) {
  return ct::for_loop(2, [&](auto, auto s) { return ct::for_loop(3, [&](auto, auto t) { return t + x; }, 0.0) + s; }, 0.0);
};
static_assert(call(ct::compiled(inside_only))(2.0) == 12 && call(ct::grad(inside_only))(2.0) == 6);
inline constexpr auto flags = [](auto x) {
  auto const [y, steps, went_on] = ct::while_loop([](auto, auto, auto, auto more) { return more; },
                                                  [](auto i, auto v, auto, auto) {
                                                    return std::tuple(v * 2, i + 1, v * 2 < 10);
                                                  },
                                                  x, std::int64_t{0}, true);
  return std::tuple(y, steps, went_on);
};
static_assert(call(ct::compiled(flags))(1.0) == std::tuple(16.0, std::int64_t{4}, false));

// Several values, of which some are exchanged, one stays, and one is never used.
inline constexpr auto fibonacci = [](auto x) {
  auto [a, b, kept, unused] = ct::for_loop(
      5, [](auto, auto p, auto q, auto k, auto u) { return std::tuple(q, p + q, k, u * u); }, 0.0, x, x, x);
  return a + b * kept;
};
static_assert(call(ct::compiled(fibonacci))(3.0) == 5 * 3 + 8 * 9);
static_assert(call(ct::grad(fibonacci))(3.0) == 5 + 8 * 2 * 3);
inline constexpr auto same = [](auto x) { return ct::for_loop(4, [](auto, auto p) { return p; }, x); };
static_assert(call(ct::compiled(same))(3.0) == 3 && call(ct::grad(same))(3.0) == 1);
inline constexpr auto replaced = [](auto x, auto y) { return ct::for_loop(4, [&](auto, auto) { return y; }, x); };
static_assert(call(ct::grad<0, 1>(replaced))(3.0, 5.0) == std::tuple(0.0, 1.0), "a captured value is the result");
inline constexpr auto constant = [](auto x) { return ct::for_loop(4, [](auto, auto) { return 7; }, x); };
static_assert(call(ct::compiled(constant))(3.0) == 7 && call(ct::grad(constant))(3.0) == 0);

// Trees.
template <template <class, ct::extent...> class Tensor> struct body_state {
  BOOST_HANA_DEFINE_STRUCT(body_state, (Tensor<double, 2>, position), (Tensor<double, 2>, velocity));
};
inline constexpr auto fall = [](auto state, auto step) {
  return ct::for_loop(
      10,
      [&](auto, auto s) {
        s.velocity = s.velocity - step * s.position;
        s.position = s.position + step * s.velocity;
        return s;
      },
      state);
};
constexpr std::pair<double, double> fallen(double p, double v, double step) {
  for (int k = 0; k < 10; ++k) {
    v = v - step * p;
    p = p + step * v;
  }
  return {p, v};
}
inline constexpr body_state<ct::tensor> start{{1, 0}, {0, 2}};
inline constexpr auto landed = call(ct::compiled(fall))(start, 0.125);
static_assert(landed.position(0) == fallen(1, 0, 0.125).first && landed.velocity(1) == fallen(0, 2, 0.125).second);
inline constexpr auto energy = [](auto state, auto step) {
  auto const end = fall(state, step);
  return ct::sum(end.position * end.position);
};
inline constexpr auto slopes = call(ct::grad(energy))(start, 0.125);
static_assert(near(slopes.position(0), 2 * fallen(1, 0, 0.125).first * fallen(1, 0, 0.125).first));
static_assert(near(slopes.velocity(0), 2 * fallen(1, 0, 0.125).first * fallen(0, 1, 0.125).first));

inline constexpr auto nested_tree = [](auto x, auto y) {
  auto const [both, last] = ct::for_loop(
      3,
      [](auto, auto pair, auto row) {
        auto [a, b] = pair;
        return std::pair(std::pair(b, a + b), std::array{row[1], row[0] * a});
      },
      std::pair(x, 1.0), std::array{y, x});
  return both.first * both.second + last[0] + last[1];
};
constexpr double nested_by_hand(double x, double y) {
  double a = x, b = 1, r = y, s = x;
  for (int k = 0; k < 3; ++k) {
    double const p = a, q = r;
    a = b;
    b = p + b;
    r = s;
    s = q * p;
  }
  return a * b + r + s;
}
static_assert(call(ct::compiled(nested_tree))(2.0, 3.0) == nested_by_hand(2, 3));
static_assert(near(call(ct::grad(nested_tree))(2.0, 3.0) * 2e-4,
                   nested_by_hand(2 + 1e-4, 3) - nested_by_hand(2 - 1e-4, 3)));

// Captures from two levels out, also of the values of the loop around.
inline constexpr auto captures = [](auto x, auto y) {
  auto const z = x * y;
  return ct::for_loop(
      2,
      [&](auto i, auto s) {
        auto const w = s * y;
        return ct::for_loop(3, [&](auto j, auto t) { return t * w + z + x * ct::convert<double>(i * 3 + j); }, s);
      },
      x);
};
constexpr double captured_by_hand(double x, double y) {
  double s = x;
  for (int i = 0; i < 2; ++i) {
    double const w = s * y;
    for (int j = 0; j < 3; ++j) s = s * w + x * y + x * (i * 3 + j);
  }
  return s;
}
static_assert(near(call(ct::compiled(captures))(0.5, 0.25), captured_by_hand(0.5, 0.25)));
inline constexpr auto slope_of_captures = call(ct::grad<0, 1>(captures))(0.5, 0.25);
constexpr double difference(double dx, double dy) {
  return (captured_by_hand(0.5 + dx, 0.25 + dy) - captured_by_hand(0.5 - dx, 0.25 - dy)) / 2e-5;
}
constexpr bool close(double a, double b) { return a - b < 1e-7 && b - a < 1e-7; }
static_assert(close(std::get<0>(slope_of_captures), difference(1e-5, 0)));
static_assert(close(std::get<1>(slope_of_captures), difference(0, 1e-5)));
inline constexpr auto pushed = call(ct::jvp<0, 1>(captures))(0.5, 0.25, 1.0, 2.0);
static_assert(near(pushed.second, std::get<0>(slope_of_captures) + 2 * std::get<1>(slope_of_captures)));

// A gradient in a body, with respect to a carried and to a captured value.
inline constexpr auto descent = [](auto target, auto x) {
  auto const loss = [&](auto z) { return ct::sum((z - target) * (z - target)); };
  return ct::sum(ct::for_loop(5, [&](auto, auto z) { return z - 0.25 * ct::grad(loss)(z); }, x));
};
static_assert(call(ct::compiled(descent))(ct::tensor<double, 2>{4, 8}, ct::tensor<double, 2>{36, 40}) == 14);
static_assert(call(ct::grad<0, 1>(descent))(ct::tensor<double, 2>{4, 8}, ct::tensor<double, 2>{36, 40}) ==
              std::tuple(ct::tensor<double, 2>{0.96875, 0.96875}, ct::tensor<double, 2>{0.03125, 0.03125}));
inline constexpr auto captured_slope = [](auto x) {
  auto const y = x * x;
  return ct::for_loop(3, [&](auto, auto s) { return s + ct::grad([&](auto z) { return z * z * x; })(y); }, 0.0);
};
static_assert(call(ct::compiled(captured_slope))(2.0) == 3 * 16 && call(ct::grad(captured_slope))(2.0) == 3 * 6 * 4);
inline constexpr auto loop_in_gradient_in_loop = [](auto x) {
  return ct::for_loop(2, [](auto, auto s) { return ct::grad(powers)(s) / 8; }, x);
};
static_assert(call(ct::compiled(loop_in_gradient_in_loop))(2.0) == 32, "4 x^3 / 8, twice");
static_assert(call(ct::grad(loop_in_gradient_in_loop))(2.0) == 9 * 32 / 2.0);

// A pullback of a value outside of the loop, called in its body.
inline constexpr auto pulled = [](auto x) {
  auto const made = ct::vjp([](auto z) { return ct::for_loop(2, [&](auto, auto s) { return s * z; }, z); })(x);
  return ct::for_loop(3, [&](auto, auto s) { return made.second(s) + made.first; }, x);
};
constexpr double pulled_by_hand(double x) {
  double s = x;
  for (int k = 0; k < 3; ++k) s = 3 * x * x * s + x * x * x;
  return s;
}
static_assert(near(call(ct::compiled(pulled))(0.5), pulled_by_hand(0.5)));
static_assert(close(call(ct::grad(pulled))(0.5), (pulled_by_hand(0.5 + 1e-5) - pulled_by_hand(0.5 - 1e-5)) / 2e-5));

// Checkpoints around a loop and in it.
inline constexpr auto around = [](auto x) { return ct::checkpoint(powers)(x) * x; };
static_assert(call(ct::grad(around))(2.0) == 5 * 16);
inline constexpr auto within = [](auto x) {
  return ct::for_loop(3, [](auto, auto s) { return ct::checkpoint([](auto t) { return ct::exp(t * t) - t; })(s); }, x);
};
inline constexpr auto without = [](auto x) {
  return ct::for_loop(3, [](auto, auto t) { return ct::exp(t * t) - t; }, x);
};
static_assert(near(call(ct::grad(within))(0.25), call(ct::grad(without))(0.25)));

// One loop after another, whose count the first one gives; and assignments to parts in a body.
inline constexpr auto two_loops = [](auto x) {
  auto const [y, n] = ct::while_loop([](auto i, auto v, auto) { return v < 10.0 && i < 8; },
                                     [](auto i, auto v, auto) { return std::pair(v * 2, i + 1); }, x, std::int64_t{0});
  return ct::for_loop(n, [end = y](auto, auto s) { return s + end; }, x);
};
static_assert(call(ct::compiled(two_loops))(1.0) == 1 + 4 * 16 && call(ct::grad(two_loops))(1.0) == 65);
inline constexpr auto parts = [](auto x) {
  auto const end = ct::for_loop(3, [](auto, auto v) {
    v(0) = v(0) + v(1);
    v(1) *= 2;
    return v;
  }, x);
  return end(0) * end(1);
};
static_assert(call(ct::compiled(parts))(ct::tensor<double, 2>{1, 2}) == 15 * 16);
static_assert(call(ct::grad(parts))(ct::tensor<double, 2>{1, 2}) == ct::tensor<double, 2>{16, 7 * 16 + 15 * 8});

// Empty tensors.
inline constexpr auto empty = [](auto x) { return ct::sum(ct::for_loop(3, [](auto, auto v) { return v * v; }, x)); };
static_assert(call(ct::compiled(empty))(ct::tensor<double, 0>{}) == 0);

// A body that starts from a constant, whose captures are used only in functions that it differentiates.
using numbers = ct::tensor<double, 2>;
inline constexpr auto inner_gradient = [](auto t) {
  return ct::for_loop(2, [&](auto i, auto s) { return s - 0.5 * ct::grad([&](auto y) { return y * y * t(i); })(s); }, 1.0);
};
static_assert(call(ct::compiled(inner_gradient))(numbers{.5, .25}) == .5 * .75);
static_assert(call(ct::grad(inner_gradient))(numbers{.5, .25}) == numbers{-.75, -.5});
inline constexpr auto inner_value = [](auto t) {
  return ct::for_loop(2, [&](auto, auto s) { return ct::value_and_grad([&](auto y) { return y * t(0); })(s).first; }, 1.0);
};
static_assert(call(ct::compiled(inner_value))(numbers{3, 0}) == 9);
inline constexpr auto inner_tangent = [](auto t) {
  return ct::for_loop(2, [&](auto, auto s) { return ct::jvp([&](auto y) { return y * y * t(0); })(s, 1.0).second; }, 1.0);
};
static_assert(call(ct::compiled(inner_tangent))(numbers{3, 0}) == 36);
inline constexpr auto inner_jacobian = [](auto t) {
  return ct::for_loop(2, [&](auto, auto s) { return ct::jacobian([&](auto y) { return y * y * t(0); })(s); }, 1.0);
};
static_assert(call(ct::compiled(inner_jacobian))(numbers{3, 0}) == 36);
inline constexpr auto inner_pullback = [](auto t) {
  return ct::for_loop(2, [&](auto, auto s) { return ct::vjp([&](auto y) { return y * y * t(0); })(s).second(1.0); }, 1.0);
};
static_assert(call(ct::compiled(inner_pullback))(numbers{3, 0}) == 36);
inline constexpr auto inner_branch = [](auto t) {
  return ct::for_loop(
      2,
      [&](auto, auto s) {
        auto const inner = [&](auto y) { return ct::grad([&](auto z) { return z * z * t(0); })(y); };
        return ct::cond(s > 0.0, inner, [](auto y) { return y; })(s);
      },
      1.0);
};
static_assert(call(ct::compiled(inner_branch))(numbers{3, 0}) == 36);
inline constexpr auto inner_batch = [](auto t) {
  return ct::sum(ct::for_loop(2, [&](auto, auto v) { return ct::vmap([&](auto y) { return y * t(0); })(v); }, ct::ones<3>()));
};
static_assert(call(ct::compiled(inner_batch))(numbers{3, 0}) == 27);

// A bound and a reverse loop: the first iterations are the last ones all the same. With the digits of the iterations that ran:
template <int Bound, class Count>
inline constexpr auto downward_digits = [](auto count) {
  return ct::for_loop<ct::loop{.max_iterations = Bound, .reverse = true}>(
      ct::convert<Count>(count), [](auto i, auto s) { return s * 10 + i; }, std::int64_t{1});
};
inline constexpr auto downward_five = [](auto x) {
  return ct::for_loop<ct::loop{.max_iterations = 2, .reverse = true}>(5, [&](auto i, auto s) { return s * x + ct::convert<double>(i); }, 0.0);
};
static_assert(call(ct::compiled(downward_digits<2, std::int64_t>))(std::int64_t{5}) == 143);
static_assert(call(ct::compiled(downward_digits<2, std::int32_t>))(std::int64_t{1}) == 10);
static_assert(call(ct::compiled(downward_digits<2, std::int64_t>))(std::int64_t{-3}) == 1);
static_assert(call(ct::compiled(downward_digits<9, std::int64_t>))(std::int64_t{3}) == 1210);
static_assert(call(ct::compiled(downward_five))(2.0) == 4 * 2 + 3);
static_assert(call(ct::grad(downward_five))(2.0) == 4);
