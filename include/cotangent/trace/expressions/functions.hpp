// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_FUNCTIONS_HPP
#define COTANGENT_TRACE_EXPRESSIONS_FUNCTIONS_HPP

#include <cotangent/trace/expressions/lift.hpp>

#include <source_location>

// Elementwise functions with rules of their own for literals, and the functions of users' operations. (All others stand
// with their operations in ops/.)

namespace cotangent {

namespace detail {
struct select_fn {
  static constexpr char const* name = "select";
  using emits = operations<>;
  constexpr term operator()(term c, term a, term b) const { return extend::select(c, a, b); }
};
struct stop_fn {
  static constexpr char const* name = "stop_gradient";
  using emits = operations<>;
  constexpr term operator()(term x) const { return extend::stop_gradient(x); }
};
} // namespace detail

/// `a` where the condition is true, else `b`; both are computed. Literals take the element type of the other
/// operand; two literals have their common type. If the condition is a bool too, one literal is chosen.
template <detail::operand C, detail::operand A, detail::operand B>
constexpr auto select(C const& condition, A const& a, B const& b,
                      std::source_location where = std::source_location::current()) {
  if constexpr ((detail::is_expr<C> || detail::open_expr<C>) && detail::operand_of_expr<A> &&
                detail::operand_of_expr<B>) {
    using T = typename decltype(detail::element_among<A, B>())::type;
    return detail::lift(where, detail::select_fn{}, condition, detail::as_expr<T>(a), detail::as_expr<T>(b));
  } else if constexpr (std::is_same_v<C, bool> && detail::literal<A> && detail::literal<B>) {
    using T = std::common_type_t<A, B>;
    return condition ? static_cast<T>(a) : static_cast<T>(b);
  } else {
    static_assert(detail::unlike_operands<C, A, B>::template report<C, A, B>());
    return refused{};
  }
}

/// Converts the element type, as `static_cast` does.
template <class T, detail::operand X>
constexpr auto convert(X const& x, std::source_location where = std::source_location::current()) {
  if constexpr (!element_type<T>) {
    static_assert(refusals::other_element::report<T>());
    return refused{};
  } else if constexpr (detail::literal<X>) return static_cast<T>(x);
  else return detail::lift(where, detail::convert_fn<element_of<T>>{}, x);
}

/// `x`, treated as a constant by differentiation.
template <detail::operand X>
constexpr auto stop_gradient(X const& x, std::source_location where = std::source_location::current()) {
  if constexpr (detail::literal<X>) return x;
  else return detail::lift(where, detail::stop_fn{}, x);
}

namespace extend {

/// A user-defined elementwise operation on expressions: `ct::extend::apply<softsign>(where, x)`.
template <class Op, detail::operand... X> constexpr auto apply(std::source_location where, X const&... x) {
  if constexpr (sizeof...(X) == 1) return detail::unary<Op>(where, x...);
  else if constexpr (sizeof...(X) == 2) return detail::binary<Op>(where, x...);
  else return detail::lift(where, detail::apply_fn<Op>{}, x...);
}

/// A user-defined function over terms, on expressions. `Fn` is default constructible; its result's element
/// and shape must depend only on those of the operands.
template <class Fn, detail::operand... X> constexpr auto lift(std::source_location where, Fn const& fn,
                                                              X const&... x) {
  return detail::lift(where, fn, x...);
}

} // namespace extend
} // namespace cotangent

#endif
