// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_PLAIN_HPP
#define COTANGENT_TRACE_EXPRESSIONS_PLAIN_HPP

#include <cotangent/trace/expressions/lift.hpp>

#include <concepts>

// Operators on tensors, which exist only to be refused in words.

namespace cotangent {

namespace detail {
// (Those of rank 0 convert to their element, and compute as numbers.)
template <class A>
concept plain_tensor = plain_memory<A> && A::rank > 0;
template <class A, class B>
concept plain_pair = (plain_tensor<A> && (plain_memory<B> || literal<B> || is_expr<B>)) ||
                     (plain_tensor<B> && (plain_memory<A> || literal<A>));

} // namespace detail

template <class A, class B>
  requires detail::plain_pair<A, B>
constexpr auto operator+(A const&, B const&) {
  static_assert(detail::unlike_operands<A, B>::template report<A, B>());
  return refused{};
}
template <class A, class B>
  requires detail::plain_pair<A, B>
constexpr auto operator-(A const&, B const&) {
  static_assert(detail::unlike_operands<A, B>::template report<A, B>());
  return refused{};
}
template <class A, class B>
  requires detail::plain_pair<A, B>
constexpr auto operator*(A const&, B const&) {
  static_assert(detail::unlike_operands<A, B>::template report<A, B>());
  return refused{};
}
template <class A, class B>
  requires detail::plain_pair<A, B>
constexpr auto operator/(A const&, B const&) {
  static_assert(detail::unlike_operands<A, B>::template report<A, B>());
  return refused{};
}
template <class A, class B>
  requires detail::plain_pair<A, B>
constexpr auto operator<(A const&, B const&) {
  static_assert(detail::unlike_operands<A, B>::template report<A, B>());
  return refused{};
}
template <class A, class B>
  requires detail::plain_pair<A, B>
constexpr auto operator>(A const&, B const&) {
  static_assert(detail::unlike_operands<A, B>::template report<A, B>());
  return refused{};
}
template <class A, class B>
  requires detail::plain_pair<A, B>
constexpr auto operator<=(A const&, B const&) {
  static_assert(detail::unlike_operands<A, B>::template report<A, B>());
  return refused{};
}
template <class A, class B>
  requires detail::plain_pair<A, B>
constexpr auto operator>=(A const&, B const&) {
  static_assert(detail::unlike_operands<A, B>::template report<A, B>());
  return refused{};
}
template <detail::plain_tensor A> constexpr auto operator-(A const&) {
  static_assert(detail::unlike_operands<A>::template report<A>());
  return refused{};
}

template <detail::literal L, class X>
  requires detail::is_expr<X>
constexpr auto& operator+=(L& number, X const&) {
  static_assert(refusals::number_takes_expression::report<L, X>());
  return number;
}
template <detail::literal L, class X>
  requires detail::is_expr<X>
constexpr auto& operator-=(L& number, X const&) {
  static_assert(refusals::number_takes_expression::report<L, X>());
  return number;
}
template <detail::literal L, class X>
  requires detail::is_expr<X>
constexpr auto& operator*=(L& number, X const&) {
  static_assert(refusals::number_takes_expression::report<L, X>());
  return number;
}
template <detail::literal L, class X>
  requires detail::is_expr<X>
constexpr auto& operator/=(L& number, X const&) {
  static_assert(refusals::number_takes_expression::report<L, X>());
  return number;
}
template <detail::plain_tensor A, class B>
  requires detail::plain_pair<A, B>
constexpr auto& operator+=(A& a, B const&) {
  static_assert(detail::unlike_operands<A, B>::template report<A, B>());
  return a;
}
template <detail::plain_tensor A, class B>
  requires detail::plain_pair<A, B>
constexpr auto& operator-=(A& a, B const&) {
  static_assert(detail::unlike_operands<A, B>::template report<A, B>());
  return a;
}
template <detail::plain_tensor A, class B>
  requires detail::plain_pair<A, B>
constexpr auto& operator*=(A& a, B const&) {
  static_assert(detail::unlike_operands<A, B>::template report<A, B>());
  return a;
}
template <detail::plain_tensor A, class B>
  requires detail::plain_pair<A, B>
constexpr auto& operator/=(A& a, B const&) {
  static_assert(detail::unlike_operands<A, B>::template report<A, B>());
  return a;
}
template <detail::plain_tensor A, detail::literal B> constexpr auto operator==(A const&, B const&) {
  static_assert(detail::unlike_operands<A, B>::template report<A, B>());
  return refused{};
}
template <detail::plain_tensor A, detail::literal B> constexpr auto operator!=(A const&, B const&) {
  static_assert(detail::unlike_operands<A, B>::template report<A, B>());
  return refused{};
}

} // namespace cotangent

#endif
