// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_OPERATORS_HPP
#define COTANGENT_TRACE_EXPRESSIONS_OPERATORS_HPP

#include <cotangent/core/layout.hpp>
#include <cotangent/ops/arithmetic.hpp>
#include <cotangent/ops/compare.hpp>
#include <cotangent/ops/function.hpp>
#include <cotangent/ops/integers.hpp>
#include <cotangent/trace/expressions/refusals.hpp>

#include <concepts>
#include <source_location>
#include <type_traits>

namespace cotangent {

namespace detail {

/// An operand with the source location of its operator: the conversion, which happens at the call, records
/// it.
template <class X> struct located {
  X value;
  std::source_location where;
  constexpr located(X const& x, std::source_location w = std::source_location::current())
      : value(x), where(w) {}
};

/// An assigned variable with its source location.
template <class X> struct located_target {
  X& value;
  std::source_location where;
  constexpr located_target(X& x, std::source_location w = std::source_location::current())
      : value(x), where(w) {}

  template <class Op, class Y> constexpr auto& take(Y const& y) const {
    if constexpr (requires { X::template updated<Op>(where, value, y); })
      value = X::template updated<Op>(where, value, y);
    else if constexpr (std::is_same_v<Y, X>) value = y;
    else if constexpr (!std::is_same_v<Y, refused>)
      static_assert(refusals::update_type::report<X::extents, Y::extents>());
    return value;
  }
};

/// An indexed read, or a constant variable, that is assigned to.
template <class X> struct located_part {
  X const& value;
  X* target; // null for a constant
  std::source_location where;
  constexpr located_part(X&& x, std::source_location w = std::source_location::current())
      : value(x), target(&x), where(w) {}
  template <class Constant>
    requires std::is_same_v<Constant, X const>
  constexpr located_part(Constant& x, std::source_location w = std::source_location::current())
      : value(x), target(nullptr), where(w) {}

  template <class Y> constexpr X take(Y const& y) const {
    return target != nullptr ? static_cast<X&&>(*target) = y : X(value) = y;
  }
};

/// Valid right operands if the left operand is an expression. Tensors are included, so that they are refused
/// in words.
template <class B>
concept right_operand = !std::same_as<B, refused>;

/// A total order of expression types. `x == y` also looks up `y == x`: only one of two types may answer.
template <class A, class B> consteval bool comes_before() {
  if constexpr (open_expr<A> || open_expr<B>) return open_expr<A> && (!open_expr<B> || A::type < B::type);
  else {
    if (A::type != B::type) return A::type < B::type;
    if (A::rank != B::rank) return A::rank < B::rank;
    for (int k = 0; k < A::rank; ++k)
      if (std::uint64_t const a = hash_value(A::extents[k]), b = hash_value(B::extents[k]); a != b)
        return a < b;
    return false;
  }
}
template <class A, class B>
concept answers_for = (is_expr<B> || open_expr<B>) && comes_before<A, B>();

// In trace/expressions/lift.hpp.
template <class A> constexpr std::source_location place_of(A const& a);

/// The operators of the expression type X, found by argument-dependent lookup only. The operand of type X is
/// not deduced, so that it can convert to `located`.
template <class X> struct operators {
  friend constexpr auto operator-(located<X> a) { return unary<op::negate>(a.where, a.value); }
  friend constexpr auto operator+(located<X> a) { return a.value; }

  // (Written out, since a macro would add three lines to each of clang's errors.)
  template <right_operand R> friend constexpr auto operator+(located<X> a, R const& b) {
    return binary<op::add>(a.where, a.value, b);
  }
  template <right_operand R> friend constexpr auto operator-(located<X> a, R const& b) {
    return binary<op::subtract>(a.where, a.value, b);
  }
  template <right_operand R> friend constexpr auto operator*(located<X> a, R const& b) {
    return binary<op::multiply>(a.where, a.value, b);
  }
  template <right_operand R> friend constexpr auto operator/(located<X> a, R const& b) {
    return binary<division<X>>(a.where, a.value, b);
  }
  template <right_operand R> friend constexpr auto operator%(located<X> a, R const& b) {
    return binary<op::remainder>(a.where, a.value, b);
  }
  template <right_operand R> friend constexpr auto operator<(located<X> a, R const& b) {
    return binary<op::less>(a.where, a.value, b);
  }
  template <right_operand R> friend constexpr auto operator>(located<X> a, R const& b) {
    return binary<op::less>(a.where, b, a.value);
  }
  template <right_operand R> friend constexpr auto operator<=(located<X> a, R const& b) {
    return binary<op::less_equal>(a.where, a.value, b);
  }
  template <right_operand R> friend constexpr auto operator>=(located<X> a, R const& b) {
    return binary<op::less_equal>(a.where, b, a.value);
  }
  template <right_operand R> friend constexpr auto operator&&(located<X> a, R const& b) {
    return binary<op::logical_and>(a.where, a.value, b);
  }
  template <right_operand R> friend constexpr auto operator||(located<X> a, R const& b) {
    return binary<op::logical_or>(a.where, a.value, b);
  }
  template <literal L> friend constexpr auto operator+(L a, located<X> b) {
    return binary<op::add>(b.where, a, b.value);
  }
  template <literal L> friend constexpr auto operator-(L a, located<X> b) {
    return binary<op::subtract>(b.where, a, b.value);
  }
  template <literal L> friend constexpr auto operator*(L a, located<X> b) {
    return binary<op::multiply>(b.where, a, b.value);
  }
  template <literal L> friend constexpr auto operator/(L a, located<X> b) {
    return binary<division<X>>(b.where, a, b.value);
  }
  template <literal L> friend constexpr auto operator%(L a, located<X> b) {
    return binary<op::remainder>(b.where, a, b.value);
  }
  template <literal L> friend constexpr auto operator<(L a, located<X> b) {
    return binary<op::less>(b.where, a, b.value);
  }
  template <literal L> friend constexpr auto operator>(L a, located<X> b) {
    return binary<op::less>(b.where, b.value, a);
  }
  template <literal L> friend constexpr auto operator<=(L a, located<X> b) {
    return binary<op::less_equal>(b.where, a, b.value);
  }
  template <literal L> friend constexpr auto operator>=(L a, located<X> b) {
    return binary<op::less_equal>(b.where, b.value, a);
  }

  // These have built-in candidates as well, by way of `operator bool`; only an exact match is better.
  friend constexpr auto operator!(X const& a) { return unary<op::logical_not>(place_of(a), a); }
  friend constexpr auto operator&&(X const& a, bool b) { return binary<op::logical_and>(place_of(a), a, b); }
  friend constexpr auto operator&&(bool b, X const& a) { return binary<op::logical_and>(place_of(a), b, a); }
  friend constexpr auto operator||(X const& a, bool b) { return binary<op::logical_or>(place_of(a), a, b); }
  friend constexpr auto operator||(bool b, X const& a) { return binary<op::logical_or>(place_of(a), b, a); }

  // Equality comparisons also look up the reversed operator, which must not be found. Therefore both operands
  // of one type convert alike, and of two expression types only one answers, in both orders.
  friend constexpr auto operator==(located<X> a, located<X> b) {
    return binary<op::equal>(a.where, a.value, b.value);
  }
  template <right_operand R>
    requires(!is_expr<R> && !open_expr<R>)
  friend constexpr auto operator==(located<X> a, R const& b) {
    return binary<op::equal>(a.where, a.value, b);
  }
  template <literal L> friend constexpr auto operator==(L a, located<X> b) {
    return binary<op::equal>(b.where, a, b.value);
  }
  template <class R>
    requires answers_for<X, R>
  friend constexpr auto operator==(located<X> a, R const& b) {
    return binary<op::equal>(a.where, a.value, b);
  }
  template <class R>
    requires answers_for<X, R>
  friend constexpr auto operator==(R const& a, located<X> b) {
    return binary<op::equal>(b.where, a, b.value);
  }
  friend constexpr auto operator!=(located<X> a, located<X> b) {
    return binary<op::not_equal>(a.where, a.value, b.value);
  }
  template <right_operand R>
    requires(!is_expr<R> && !open_expr<R>)
  friend constexpr auto operator!=(located<X> a, R const& b) {
    return binary<op::not_equal>(a.where, a.value, b);
  }
  template <literal L> friend constexpr auto operator!=(L a, located<X> b) {
    return binary<op::not_equal>(b.where, a, b.value);
  }
  template <class R>
    requires answers_for<X, R>
  friend constexpr auto operator!=(located<X> a, R const& b) {
    return binary<op::not_equal>(a.where, a.value, b);
  }
  template <class R>
    requires answers_for<X, R>
  friend constexpr auto operator!=(R const& a, located<X> b) {
    return binary<op::not_equal>(b.where, a, b.value);
  }

  template <class R> friend constexpr auto& operator+=(located_target<X> a, R const& b) {
    return a.template take<op::add>(binary<op::add>(a.where, a.value, b));
  }
  template <class R> friend constexpr auto& operator-=(located_target<X> a, R const& b) {
    return a.template take<op::subtract>(binary<op::subtract>(a.where, a.value, b));
  }
  template <class R> friend constexpr auto& operator*=(located_target<X> a, R const& b) {
    return a.template take<op::multiply>(binary<op::multiply>(a.where, a.value, b));
  }
  template <class R> friend constexpr auto& operator/=(located_target<X> a, R const& b) {
    return a.template take<division<X>>(binary<division<X>>(a.where, a.value, b));
  }
  template <class R> friend constexpr auto& operator%=(located_target<X> a, R const& b) {
    return a.template take<op::remainder>(binary<op::remainder>(a.where, a.value, b));
  }
  template <class R> friend constexpr auto operator+=(located_part<X> a, R const& b) {
    return a.take(binary<op::add>(a.where, a.value, b));
  }
  template <class R> friend constexpr auto operator-=(located_part<X> a, R const& b) {
    return a.take(binary<op::subtract>(a.where, a.value, b));
  }
  template <class R> friend constexpr auto operator*=(located_part<X> a, R const& b) {
    return a.take(binary<op::multiply>(a.where, a.value, b));
  }
  template <class R> friend constexpr auto operator/=(located_part<X> a, R const& b) {
    return a.take(binary<division<X>>(a.where, a.value, b));
  }
  template <class R> friend constexpr auto operator%=(located_part<X> a, R const& b) {
    return a.take(binary<op::remainder>(a.where, a.value, b));
  }
};

} // namespace detail
} // namespace cotangent

#endif
