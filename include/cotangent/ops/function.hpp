// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_FUNCTION_HPP
#define COTANGENT_OPS_FUNCTION_HPP

#include <cotangent/core/element.hpp>
#include <cotangent/core/extent.hpp>

#include <source_location>
#include <type_traits>

// The operands of public functions: expressions of traced functions, of graphs at run time and of eager mode, and
// literals. A function is declared in the header of its operation. (It is a function template, not an object: after
// `using std::exp;` argument-dependent lookup finds it, and it overloads with the functions of <math.h>.)

namespace cotangent {

template <class T, extent... E> class expr;
class refused;

namespace detail {

template <class> inline constexpr bool is_expr = false;
template <class T, extent... E> inline constexpr bool is_expr<expr<T, E...>> = true;

/// Expressions whose extents are known at run time only (ct::dynamic). They implement operations themselves,
/// as `A::apply<Op>(where, a...)` and `A::lift(where, fn, a...)`.
template <class A>
concept open_expr = requires { typename A::open_expression; };

/// An expression of a run-time graph, of whose functions there are transformations.
template <class A>
concept graph_expr = open_expr<A> && requires { typename A::front_end; };

template <class A>
concept literal = std::is_arithmetic_v<A> || is_half_type<A>;

template <class A>
concept plain_memory = requires {
  typename A::value_type;
  A::extents;
  A::is_static;
} && !is_expr<A>;
/// Operands of the library's functions; those that are not expressions are refused in words.
template <class A>
concept operand = is_expr<A> || std::is_same_v<A, refused> || literal<A> || plain_memory<A> || open_expr<A>;

// In trace/expressions/lift.hpp: an elementwise operation of one operand, and of two; a function over terms.
template <class Op, class A> constexpr auto unary(std::source_location where, A const& a);
template <class Op, class A, class B> constexpr auto binary(std::source_location where, A const& a, B const& b);
template <class Fn, class... A> constexpr auto lift(std::source_location where, Fn const& fn, A const&... a);

} // namespace detail
} // namespace cotangent

#endif
