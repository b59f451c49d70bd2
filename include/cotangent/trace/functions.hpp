// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_FUNCTIONS_HPP
#define COTANGENT_TRACE_FUNCTIONS_HPP

#include <cotangent/trace/lift.hpp>

#include <source_location>

// Elementwise functions of expressions. Operands of different shapes are broadcast; a literal takes the element type of
// the expression it meets. What each computes, and its adjoint, stands with its operation in ops/.

namespace cotangent {

#define COTANGENT_UNARY(NAME, OP)                                                                                    \
  template <detail::operand X>                                                                                       \
  constexpr auto NAME(X const& x, std::source_location where = std::source_location::current()) {                    \
    return detail::unary<op::OP>(where, x);                                                                          \
  }
COTANGENT_UNARY(neg, negate)
COTANGENT_UNARY(abs, abs)
COTANGENT_UNARY(sign, sign)
COTANGENT_UNARY(exp, exp)
COTANGENT_UNARY(expm1, expm1)
COTANGENT_UNARY(log, log)
COTANGENT_UNARY(log1p, log1p)
COTANGENT_UNARY(sqrt, sqrt)
COTANGENT_UNARY(square, square)
COTANGENT_UNARY(reciprocal, reciprocal)
COTANGENT_UNARY(sin, sin)
COTANGENT_UNARY(cos, cos)
COTANGENT_UNARY(tanh, tanh)
COTANGENT_UNARY(sigmoid, sigmoid)
COTANGENT_UNARY(softplus, softplus)
COTANGENT_UNARY(relu, relu)
COTANGENT_UNARY(floor, floor)
#undef COTANGENT_UNARY

#define COTANGENT_BINARY(NAME, OP)                                                                                   \
  template <detail::operand A, detail::operand B>                                                                    \
  constexpr auto NAME(A const& a, B const& b, std::source_location where = std::source_location::current()) {        \
    return detail::binary<op::OP>(where, a, b);                                                                      \
  }
COTANGENT_BINARY(pow, pow)
COTANGENT_BINARY(min, min)
COTANGENT_BINARY(max, max)
#undef COTANGENT_BINARY

namespace detail {
struct select_fn {
  constexpr term operator()(term c, term a, term b) const { return extend::select(c, a, b); }
};
struct stop_fn {
  constexpr term operator()(term x) const { return extend::stop_gradient(x); }
};
template <element To> struct convert_fn {
  constexpr term operator()(term x) const { return extend::convert(x, To); }
};
} // namespace detail

/// `a` where the condition holds, else `b`; both are computed. Literals take the element type of the other operand.
template <detail::operand C, detail::operand A, detail::operand B>
constexpr auto select(C const& condition, A const& a, B const& b,
                      std::source_location where = std::source_location::current()) {
  if constexpr (detail::is_expr<C> && detail::operand_of_expr<A> && detail::operand_of_expr<B>) {
    using T = typename decltype(detail::element_among<A, B>())::type;
    return detail::lift(where, detail::select_fn{}, condition, detail::as_expr<T>(a), detail::as_expr<T>(b));
  } else {
    detail::refuse_operands<C, A, B>();
    return refused{};
  }
}

/// The same numbers as another element type, as `static_cast` would give them.
template <class T, detail::operand X>
constexpr auto convert(X const& x, std::source_location where = std::source_location::current()) {
  if constexpr (detail::literal<X>) return static_cast<T>(x);
  else return detail::lift(where, detail::convert_fn<element_of<T>>{}, x);
}

/// `x` itself, but no gradient goes through it.
template <detail::operand X>
constexpr auto stop_gradient(X const& x, std::source_location where = std::source_location::current()) {
  if constexpr (detail::literal<X>) return x;
  else return detail::lift(where, detail::stop_fn{}, x);
}

namespace extend {

/// An elementwise operation of yours, on expressions: `ct::extend::apply<softsign>(where, x)`.
template <class Op, detail::operand... X> constexpr auto apply(std::source_location where, X const&... x) {
  if constexpr (sizeof...(X) == 1) return detail::unary<Op>(where, x...);
  else if constexpr (sizeof...(X) == 2) return detail::binary<Op>(where, x...);
  else return detail::lift(where, detail::apply_fn<Op>{}, x...);
}

/// A function over terms of yours, on expressions. `Fn` can be made without arguments and gives for operands of equal
/// elements and shapes results of equal element and shape.
template <class Fn, detail::operand... X> constexpr auto lift(std::source_location where, Fn const& fn, X const&... x) {
  return detail::lift(where, fn, x...);
}

} // namespace extend
} // namespace cotangent

#endif
