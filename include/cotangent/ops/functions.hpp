// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_FUNCTIONS_HPP
#define COTANGENT_OPS_FUNCTIONS_HPP

#include <cotangent/core/math/elementary.hpp>
#include <cotangent/ops/broadcast.hpp>
#include <cotangent/ops/function.hpp>

#include <source_location>

// Elementwise elementary functions of one or two operands.

namespace cotangent {
namespace op {

/// Value: 1 ulp (1.2 without FMA)
/// Adjoint: dy y
/// Edges: overflows to infinity, underflows to 0
/// Example: for `x = {0, 1}`, `ct::exp(x)` is `{1, 2.71828}`; the gradient of its sum is `{1, 2.71828}`
struct exp : extend::elementwise<1> {
  static constexpr char const* name = "exp";
  static constexpr float cost = 12;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::exp(x); }
  static constexpr term partial(auto const& r, int) { return r.y(); }
};

/// Value: 1 ulp
/// Adjoint: dy / x
/// Edges: -infinity at 0, NaN below
/// Example: for `x = {1, 2}`, `ct::log(x)` is `{0, 0.693147}`; the gradient of its sum is `{1, 0.5}`
struct log : extend::elementwise<1> {
  static constexpr char const* name = "log";
  static constexpr float cost = 14;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::log(x); }
  static constexpr void adjoint(auto& r) { r.give(0, r.dy() / r.x()); }
  static constexpr void tangent(auto& r) { r.give(r.dx() / r.x()); }
};

/// Value: the square root, correctly rounded
/// Adjoint: dy / (2 y)
/// Edges: the adjoint is infinite at 0; NaN for x < 0
/// Example: for `x = {4, 9}`, `ct::sqrt(x)` is `{2, 3}`; the gradient of its sum is `{0.25, 0.166667}`
struct sqrt : extend::elementwise<1> {
  static constexpr char const* name = "sqrt";
  static constexpr float cost = 5;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::sqrt(x); }
  static constexpr void adjoint(auto& r) { r.give(0, 0.5 * r.dy() / r.y()); }
  static constexpr void tangent(auto& r) { r.give(0.5 * r.dx() / r.y()); }
};

/// Value: x x
/// Adjoint: 2 x dy
/// Elements: any numbers
/// Example: for `x = {2, -3}`, `ct::square(x)` is `{4, 9}`; the gradient of its sum is `{4, -6}`
struct square : extend::elementwise<1> {
  static constexpr char const* name = "square";
  static constexpr extend::takes operands = extend::takes::numbers;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::mul(x, x); }
  static constexpr term partial(auto const& r, int) { return 2 * r.x(); }
};

/// Value: 1 / x
/// Adjoint: -dy y y
/// Edges: infinite at 0
/// Example: for `x = {2, -4}`, `ct::reciprocal(x)` is `{0.5, -0.25}`; the gradient of its sum is `{-0.25, -0.0625}`
struct reciprocal : extend::elementwise<1> {
  static constexpr char const* name = "reciprocal";
  static constexpr float cost = 4;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return static_cast<V>(math::broadcast<V>(1) / x); }
  // Not dy (y y), which overflows and underflows earlier.
  static constexpr void adjoint(auto& r) { r.give(0, -(r.dy() * r.y() * r.y())); }
  static constexpr void tangent(auto& r) { r.give(-(r.dx() * r.y() * r.y())); }
};

/// Adjoint: dy sign(x)
/// Edges: the adjoint is 0 at 0
/// Elements: any numbers
/// Example: for `x = {2, -3, 0}`, `ct::abs(x)` is `{2, 3, 0}`; the gradient of its sum is `{1, -1, 0}`
struct abs : extend::elementwise<1> {
  static constexpr char const* name = "abs";
  static constexpr extend::takes operands = extend::takes::numbers;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::abs(x); }
  static constexpr term partial(auto const& r, int);
};

/// Value: -1, 0 or 1; NaN gives NaN
/// Adjoint: 0
/// Elements: any numbers
/// Example: for `x = {2, -3, 0}`, `ct::sign(x)` is `{1, -1, 0}`; the gradient of its sum is `{0, 0, 0}`
struct sign : extend::elementwise<1> {
  static constexpr char const* name = "sign";
  static constexpr extend::takes operands = extend::takes::numbers;
  static constexpr derivative_kind derivative = derivative_kind::zero;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) {
    V const zero{}, one = math::broadcast<V>(1);
    return math::select(x > zero, one, math::select(x < zero, static_cast<V>(-one), x));
  }
};
constexpr term abs::partial(auto const& r, int) { return extend::apply<sign>(r.x()); }

/// Value: the largest integer that is at most x
/// Adjoint: 0
/// Example: for `x = {1.5, -1.5}`, `ct::floor(x)` is `{1, -2}`; the gradient of its sum is `{0, 0}`
struct floor : extend::elementwise<1> {
  static constexpr char const* name = "floor";
  static constexpr derivative_kind derivative = derivative_kind::zero;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::floor(x); }
};

/// The nearest integer, and the even one of two; -0.5 gives -0, as by std::nearbyint. Adjoint: 0.
struct round : extend::elementwise<1> {
  static constexpr char const* name = "round";
  static constexpr derivative_kind derivative = derivative_kind::zero;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::round_to_even(x); }
};

/// Value: x in radians; 1.6 ulp for every angle
/// Adjoint: dy cos(x)
/// Edges: NaN for infinite angles
/// Example: for `x = {0, 1}`, `ct::sin(x)` is `{0, 0.841471}`; the gradient of its sum is `{1, 0.540302}`
struct sin : extend::elementwise<1> {
  static constexpr char const* name = "sin";
  using emits = operations<struct cos>;
  static constexpr float cost = 18;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::sin(x); }
  static constexpr term partial(auto const& r, int);
};
/// Value: x in radians; 1.6 ulp for every angle
/// Adjoint: -dy sin(x)
/// Edges: NaN for infinite angles
/// Example: for `x = {0, 1}`, `ct::cos(x)` is `{1, 0.540302}`; the gradient of its sum is `{0, -0.841471}`
struct cos : extend::elementwise<1> {
  static constexpr char const* name = "cos";
  using emits = operations<sin>;
  static constexpr float cost = 18;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::cos(x); }
  static constexpr term partial(auto const& r, int) { return -extend::apply<sin>(r.x()); }
};
constexpr term sin::partial(auto const& r, int) { return extend::apply<cos>(r.x()); }

/// Value: the angle in (-pi/2, pi/2) that has the tangent x; 2 ulp
/// Adjoint: dy / (1 + x x)
/// Example: for `x = {0, 1}`, `ct::atan(x)` is `{0, 0.785398}`; the gradient of its sum is `{1, 0.5}`
struct atan : extend::elementwise<1> {
  static constexpr char const* name = "atan";
  static constexpr float cost = 20;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::atan(x); }
  static constexpr void adjoint(auto& r) { r.give(0, r.dy() / (1 + r.x() * r.x())); }
  static constexpr void tangent(auto& r) { r.give(r.dx() / (1 + r.x() * r.x())); }
};

/// Value: 3 ulp
/// Adjoint: dy cosh(x)
/// Edges: overflows to infinity
/// Example: for `x = {0, 1}`, `ct::sinh(x)` is `{0, 1.1752}`; the gradient of its sum is `{1, 1.54308}`
struct sinh : extend::elementwise<1> {
  static constexpr char const* name = "sinh";
  using emits = operations<struct cosh>;
  static constexpr float cost = 24;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::sinh(x); }
  static constexpr term partial(auto const& r, int);
};
/// Value: 3 ulp
/// Adjoint: dy sinh(x)
/// Edges: overflows to infinity
/// Example: for `x = {0, 1}`, `ct::cosh(x)` is `{1, 1.54308}`; the gradient of its sum is `{0, 1.1752}`
struct cosh : extend::elementwise<1> {
  static constexpr char const* name = "cosh";
  using emits = operations<sinh>;
  static constexpr float cost = 18;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::cosh(x); }
  static constexpr term partial(auto const& r, int) { return extend::apply<sinh>(r.x()); }
};
/// Value: the number that has the hyperbolic sine x; 3 ulp
/// Adjoint: dy / sqrt(1 + x x)
/// Edges: the adjoint is 0 where x x overflows
/// Example: for `x = {0, 1}`, `ct::asinh(x)` is `{0, 0.881374}`; the gradient of its sum is `{1, 0.707107}`
struct asinh : extend::elementwise<1> {
  static constexpr char const* name = "asinh";
  static constexpr float cost = 26;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::asinh(x); }
  static constexpr void adjoint(auto& r) { r.give(0, r.dy() / root(r)); }
  static constexpr void tangent(auto& r) { r.give(r.dx() / root(r)); }
  static constexpr term root(auto const& r) { return extend::apply<sqrt>(1 + r.x() * r.x()); }
};
constexpr term sinh::partial(auto const& r, int) { return extend::apply<cosh>(r.x()); }

/// Value: 2.7 ulp
/// Adjoint: dy (1 - y y)
/// Example: for `x = {0, 1}`, `ct::tanh(x)` is `{0, 0.761594}`; the gradient of its sum is `{1, 0.419974}`
struct tanh : extend::elementwise<1> {
  static constexpr char const* name = "tanh";
  static constexpr float cost = 20;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::tanh(x); }
  static constexpr term partial(auto const& r, int) { return 1 - r.y() * r.y(); }
};

/// Value: 1 / (1 + exp(-x)), 2.6 ulp in both tails
/// Adjoint: dy y (1 - y)
/// Example: for `x = {0, 1}`, `ct::sigmoid(x)` is `{0.5, 0.731059}`; the gradient of its sum is `{0.25, 0.196612}`
struct sigmoid : extend::elementwise<1> {
  static constexpr char const* name = "sigmoid";
  using emits = operations<struct softplus>;
  static constexpr float cost = 18;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::sigmoid(x); }
  static constexpr term partial(auto const& r, int) { return r.y() * (1 - r.y()); }
};

/// Value: log(1 + exp(x)), 3 ulp, without overflow
/// Adjoint: dy sigmoid(x)
/// Example: for `x = {0, 1}`, `ct::softplus(x)` is `{0.693147, 1.31326}`; the gradient of its sum is `{0.5, 0.731059}`
struct softplus : extend::elementwise<1> {
  static constexpr char const* name = "softplus";
  using emits = operations<sigmoid>;
  static constexpr float cost = 26;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::softplus(x); }
  static constexpr term partial(auto const& r, int) { return extend::apply<sigmoid>(r.x()); }
};

/// Value: log(1 + x), 2 ulp, also near 0
/// Adjoint: dy / (1 + x)
/// Edges: -infinity at -1, NaN below
/// Example: for `x = {0, 1}`, `ct::log1p(x)` is `{0, 0.693147}`; the gradient of its sum is `{1, 0.5}`
struct log1p : extend::elementwise<1> {
  static constexpr char const* name = "log1p";
  static constexpr float cost = 16;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::log1p(x); }
  static constexpr void adjoint(auto& r) { r.give(0, r.dy() / (1 + r.x())); }
  static constexpr void tangent(auto& r) { r.give(r.dx() / (1 + r.x())); }
};

/// Value: exp(x) - 1, 2 ulp, also near 0
/// Adjoint: dy (y + 1)
/// Example: for `x = {0, 1}`, `ct::expm1(x)` is `{0, 1.71828}`; the gradient of its sum is `{1, 2.71828}`
struct expm1 : extend::elementwise<1> {
  static constexpr char const* name = "expm1";
  static constexpr float cost = 14;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::expm1(x); }
  static constexpr term partial(auto const& r, int) { return r.y() + 1; }
};

/// Value: max(x, 0); NaN gives NaN
/// Adjoint: dy for x > 0, otherwise 0
/// Edges: the adjoint is 0 at 0
/// Elements: any numbers
/// Example: for `x = {2, -3, 0}`, `ct::relu(x)` is `{2, 0, 0}`; the gradient of its sum is `{1, 0, 0}`
struct relu : extend::elementwise<1> {
  static constexpr char const* name = "relu";
  static constexpr extend::takes operands = extend::takes::numbers;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return math::select(x < V{}, V{}, x); }
  static constexpr void adjoint(auto& r) { r.give(0, chosen(r, r.dy())); }
  static constexpr void tangent(auto& r) { r.give(chosen(r, r.dx())); }
  // Selects by the result, so that x need not be saved.
  static constexpr term chosen(auto const& r, term d) { return extend::select(r.y() > 0, d, extend::constant_like(d, 0)); }
};

/// x to the power p. Adjoints: dy p x^(p-1), which is 0 if p = x = 0; dy y log(x), which is 0 if x = 0 and p > 0.
struct pow : extend::elementwise<2> {
  static constexpr char const* name = "pow";
  static constexpr float cost = 40;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x, V const& p) { return math::pow(x, p); }
  static constexpr term partial(auto const& r, int k) {
    auto const x = r.x(0), p = r.x(1);
    // If p and x are 0, p x^(p-1) would be 0 times infinity.
    if (k == 0) return p * extend::apply<pow>(extend::select(p == 0, extend::select(x == 0, extend::constant_like(x, 1), x), x), p - 1);
    return r.y() * extend::apply<log>(extend::select(x == 0, extend::constant_like(x, 1), x));
  }
};

/// The larger of two. Adjoint: dy to the larger; ties share equally. NaN wins.
struct max : extend::elementwise<2> {
  static constexpr char const* name = "max";
  static constexpr extend::takes operands = extend::takes::numbers;
  static constexpr bool commutative = true;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& a, V const& b) { return math::max(a, b); }
  static constexpr term partial(auto const& r, int k) {
    term const a = r.x(k), b = r.x(1 - k);
    return extend::select(a > b, extend::constant_like(a, 1),
                          extend::select(a == b, extend::constant_like(a, 0.5), extend::constant_like(a, 0)));
  }
};
/// The smaller of two. Adjoint: dy to the smaller; ties share equally. NaN wins.
struct min : extend::elementwise<2> {
  static constexpr char const* name = "min";
  static constexpr extend::takes operands = extend::takes::numbers;
  static constexpr bool commutative = true;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& a, V const& b) { return math::min(a, b); }
  static constexpr term partial(auto const& r, int k) {
    term const a = r.x(k), b = r.x(1 - k);
    return extend::select(a < b, extend::constant_like(a, 1),
                          extend::select(a == b, extend::constant_like(a, 0.5), extend::constant_like(a, 0)));
  }
};

} // namespace op

namespace detail {
using function_operations = operations<op::exp, op::log, op::sqrt, op::square, op::reciprocal, op::abs, op::sign, op::floor,
    op::round, op::sin, op::cos, op::atan, op::sinh, op::cosh, op::asinh, op::tanh, op::sigmoid, op::softplus, op::log1p,
    op::expm1, op::relu, op::pow, op::max, op::min>;
} // namespace detail

// Their functions. Operands of different shapes broadcast; a literal takes the element type of the other operand. (Written
// out, since a macro would add three lines to each of clang's errors.)

template <detail::operand X>
constexpr auto exp(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::exp>(where, x);
}
template <detail::operand X>
constexpr auto log(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::log>(where, x);
}
template <detail::operand X>
constexpr auto sqrt(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::sqrt>(where, x);
}
template <detail::operand X>
constexpr auto square(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::square>(where, x);
}
template <detail::operand X>
constexpr auto reciprocal(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::reciprocal>(where, x);
}
template <detail::operand X>
constexpr auto abs(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::abs>(where, x);
}
template <detail::operand X>
constexpr auto sign(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::sign>(where, x);
}
template <detail::operand X>
constexpr auto floor(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::floor>(where, x);
}
template <detail::operand X>
constexpr auto sin(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::sin>(where, x);
}
template <detail::operand X>
constexpr auto cos(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::cos>(where, x);
}
template <detail::operand X>
constexpr auto atan(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::atan>(where, x);
}
template <detail::operand X>
constexpr auto sinh(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::sinh>(where, x);
}
template <detail::operand X>
constexpr auto cosh(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::cosh>(where, x);
}
template <detail::operand X>
constexpr auto asinh(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::asinh>(where, x);
}
template <detail::operand X>
constexpr auto tanh(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::tanh>(where, x);
}
template <detail::operand X>
constexpr auto sigmoid(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::sigmoid>(where, x);
}
template <detail::operand X>
constexpr auto softplus(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::softplus>(where, x);
}
template <detail::operand X>
constexpr auto log1p(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::log1p>(where, x);
}
template <detail::operand X>
constexpr auto expm1(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::expm1>(where, x);
}
template <detail::operand X>
constexpr auto relu(X const& x, std::source_location where = std::source_location::current()) {
  return detail::unary<op::relu>(where, x);
}
template <detail::operand A, detail::operand B>
constexpr auto pow(A const& a, B const& b, std::source_location where = std::source_location::current()) {
  return detail::binary<op::pow>(where, a, b);
}
template <detail::operand A, detail::operand B>
constexpr auto max(A const& a, B const& b, std::source_location where = std::source_location::current()) {
  return detail::binary<op::max>(where, a, b);
}
template <detail::operand A, detail::operand B>
constexpr auto min(A const& a, B const& b, std::source_location where = std::source_location::current()) {
  return detail::binary<op::min>(where, a, b);
}
} // namespace cotangent

#endif
