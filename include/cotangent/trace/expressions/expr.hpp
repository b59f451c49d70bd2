// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_EXPR_HPP
#define COTANGENT_TRACE_EXPRESSIONS_EXPR_HPP

#include <cotangent/core/braces.hpp>
#include <cotangent/core/layout.hpp>
#include <cotangent/ops/ops.hpp>
#include <cotangent/trace/expressions/operators.hpp>
#include <cotangent/trace/expressions/refusals.hpp>
#include <cotangent/trace/expressions/standing.hpp>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <type_traits>
#include <utility>

namespace cotangent {

namespace detail {

// These are called in exception specifications, which compilers check at the call, not when they instantiate
// the body: the errors appear close to the user's line.
template <class L, class T> constexpr bool literal_meets() {
  if constexpr (is_floating_type<L> && !is_floating_type<T>)
    refusals::fractional_literal::report<L, T>();
  return true;
}

template <class T> struct index_list;
struct place_on_axis;

/// The number of axes, as `x.rank` and as `x.rank()`, like that of expressions whose rank is not in their
/// type.
struct number_of_axes {
  int number;
  constexpr operator int() const noexcept { return number; }
  constexpr int operator()() const noexcept { return number; }
};

/// The variable of an indexed read, for an assignment to the read. It lives until the end of the full
/// expression.
struct origin {
  detail::standing* variable;
  element type; // of `variable`, like `extents`
  shape const* extents;
  place_on_axis const* places;
  int count;
  std::int64_t at[4];
  bool is_temporary;   // `variable` is itself an indexed read, ...
  origin const* outer; // ... which came from here; null if it is another temporary
  std::source_location where;

  constexpr origin() {} // the read fills it
};

/// An index in brackets, which cannot have default arguments.
struct subscript : origin {
  std::int64_t index;
  std::source_location here;
  template <class I>
    requires(std::is_convertible_v<I, std::int64_t> && !std::is_same_v<I, bool>)
  constexpr subscript(I i, std::source_location w = std::source_location::current())
      : index(static_cast<std::int64_t>(i)), here(w) {}
};

template <int Rank, extent... E> inline constexpr bool takes_braces =
    sizeof...(E) == Rank && (E.is_number() && ...);
// In trace/expressions/sources.hpp.
template <class X, brace_sizes... Size, class... Row> constexpr X braced(Row const&... row);
// In trace/expressions/assignment.hpp.
template <class Part, class Y> constexpr auto assign_part(Part const& part, origin const* from, Y const& y);

/// Accepts everything after a refused `out << expression`.
template <class Stream> struct silent_stream {
  template <class Any> constexpr silent_stream operator<<(Any const&) const { return *this; }
  constexpr silent_stream operator<<(Stream& (*)(Stream&)) const { return *this; }
};

// Not constexpr: compilers print its name if a detached value is asked for a symbolic extent.
inline void an_extent_must_be_a_number() {}

template <class X>
concept has_rows = X::rank > 0 && X::extents[0].is_number();
template <class X> struct row_iterator {
  X x;
  std::int64_t at;

  constexpr auto operator*() const { return x(at); }
  constexpr row_iterator& operator++() { return ++at, *this; }
  constexpr bool operator==(row_iterator const& other) const { return at == other.at; }
};

} // namespace detail

/// The result of a refused expression: it converts to everything and is never refused again, so that one
/// mistake yields one error.
class refused {
public:
  constexpr refused() = default;
  template <class T>
    requires(!std::is_same_v<T, refused>)
  constexpr operator T() const {
    if constexpr (detail::is_expr<T>) return T(detail::standing{nullptr, detail::standing::refused});
    else if constexpr (std::is_default_constructible_v<T>) return T();
    else __builtin_unreachable();
  }
  constexpr explicit operator bool() const { return true; }
  template <class... Any> constexpr refused operator()(Any const&...) const { return {}; }
  template <class Any> constexpr refused operator[](Any const&) const { return {}; }
  template <std::size_t> constexpr refused get() const { return {}; }
  constexpr refused* begin() const { return nullptr; }
  constexpr refused* end() const { return nullptr; }
  constexpr refused* data() const { return nullptr; }
  constexpr std::int64_t size() const { return 0; }
  constexpr std::int64_t extent(int) const { return 0; }
  constexpr int rank() const { return 0; }
  static refused const values; // of a sparse result
  constexpr refused dense() const { return {}; }
  template <class Any> constexpr refused times(Any const&) const { return {}; }

  friend constexpr refused operator-(refused) { return {}; }
  friend constexpr refused operator+(refused) { return {}; }
  friend constexpr refused operator!(refused) { return {}; }
#define COTANGENT_OPERATOR(SIGN)                                                                             \
  template <class Any> friend constexpr refused operator SIGN(refused, Any const&) { return {}; }            \
  template <class Any>                                                                                       \
    requires(!std::is_same_v<Any, refused>)                                                                  \
  friend constexpr refused operator SIGN(Any const&, refused) {                                              \
    return {};                                                                                               \
  }
  COTANGENT_OPERATOR(+)
  COTANGENT_OPERATOR(-)
  COTANGENT_OPERATOR(*)
  COTANGENT_OPERATOR(/)
  COTANGENT_OPERATOR(<)
  COTANGENT_OPERATOR(>)
  COTANGENT_OPERATOR(<=)
  COTANGENT_OPERATOR(>=)
  COTANGENT_OPERATOR(&&)
  COTANGENT_OPERATOR(||)
#undef COTANGENT_OPERATOR
  template <class Any> friend constexpr bool operator==(refused, Any const&) { return true; }
  template <class Any> constexpr refused& operator+=(Any const&) { return *this; }
  template <class Any> constexpr refused& operator-=(Any const&) { return *this; }
  template <class Any> constexpr refused& operator*=(Any const&) { return *this; }
  template <class Any> constexpr refused& operator/=(Any const&) { return *this; }
  template <class Stream>
    requires requires(Stream& s) { s.flush(); }
  friend Stream& operator<<(Stream& s, refused) {
    return s;
  }
};
inline constexpr refused refused::values{};

} // namespace cotangent

// A refused result decomposes into two parts, the most common number.
template <> struct std::tuple_size<cotangent::refused> : std::integral_constant<std::size_t, 2> {};
template <std::size_t I> struct std::tuple_element<I, cotangent::refused> {
  using type = cotangent::refused;
};

namespace cotangent {

/// A value in a graph under construction: the argument and result type of the library's functions and
/// operators.
///
/// Its type has what the compiler checks: element and extents. Its value is a node of the graph. It is copied
/// and assigned like a number: a copy is another name for the same node. An expression without operands
/// (`ct::expr<double> s = 0.0`, `ct::zeros<3>()`) is detached: it joins the graph of the first operand it
/// meets.
///
/// An assignment to an indexed read, `x(i) = v`, assigns to the variable x a new node that has v in place of
/// the part. Earlier copies of x keep their value, and a copy of a read is no longer connected to x.
///
/// Refuses: conversion to bool (`if (x > 0)`); another element type without `ct::convert`; assignment to any
/// other temporary.
template <class T, extent... E> class expr : public detail::operators<expr<T, E...>> {
  static_assert(detail::refuse_malformed<T, E...>());
  detail::standing at_;
  detail::origin const* from_ = nullptr; // of an indexed read; not copied

public:
  using value_type = T;
  static constexpr element type = element_of<T>;
  static constexpr shape extents = detail::usable_extents<E...>();
  static constexpr detail::number_of_axes rank{extents.rank};

  constexpr expr() = default;
  template <detail::literal L>
    requires(sizeof...(E) == 0)
  constexpr expr(L value) noexcept(detail::literal_meets<L, T>()) : at_(detail::standing_of<T>(value)) {}
  /// Elements in braces, if the extents are numbers: an expression or a literal for each element.
  template <class... Value>
    requires(detail::takes_braces<1, E...> && sizeof...(Value) != 0 &&
             (std::is_convertible_v<Value, expr<T>> && ...) && !(std::is_same_v<Value, expr> || ...))
  constexpr explicit(sizeof...(Value) == 1) expr(Value const&... value)
      : expr(detail::braced<expr, detail::brace_sizes{{sizeof...(Value)}}>(expr<T>(value)...)) {}
  template <std::size_t... Second>
    requires(detail::takes_braces<2, E...> && sizeof...(Second) != 0)
  constexpr explicit(sizeof...(Second) == 1) expr(expr<T> const (&... row)[Second])
      : expr(detail::braced<expr, detail::brace_sizes{{sizeof...(Second), Second}}...>(row...)) {}
  template <std::size_t... Second, std::size_t... Third>
    requires(detail::takes_braces<3, E...> && sizeof...(Second) != 0)
  constexpr explicit(sizeof...(Second) == 1) expr(expr<T> const (&... row)[Second][Third])
      : expr(detail::braced<expr, detail::brace_sizes{{sizeof...(Second), Second, Third}}...>(row...)) {}

  /// Created by tracers.
  constexpr expr(extend::builder& b, extend::symbol id) : at_{&b, id} {}
  constexpr explicit expr(detail::standing const& s, detail::origin const* from = nullptr) : at_(s), from_(from) {}
  constexpr expr(expr const& y) : at_(y.at_) {}

  constexpr expr& operator=(expr const& y) & {
    at_ = y.at_;
    return *this;
  }
  /// Refuses: expressions of another shape or element, since a variable keeps its type.
  template <class Y>
    requires(detail::is_expr<Y> && !std::is_same_v<Y, expr>)
  constexpr auto& operator=(Y const&) & {
    if constexpr (std::is_same_v<typename Y::value_type, T>)
      static_assert(refusals::update_type::report<extents, Y::extents>());
    else static_assert(refusals::elements_differ::report<T, typename Y::value_type>());
    return *this;
  }
  /// Assigns to a part: `x(i) = y`, where y has the shape of the part or broadcasts to it.
  constexpr expr operator=(expr const& y) && { return detail::assign_part(*this, from_, y); }
  template <class Y>
    requires(!std::is_same_v<Y, expr>)
  constexpr auto operator=(Y const& y) && { // deduced, so that errors name the user's line
    return detail::assign_part(*this, from_, y);
  }

  /// The number of elements, a constant. Refuses: a named extent.
  static constexpr auto size() noexcept {
    if constexpr (!(E.is_number() && ...)) static_assert(refusals::extent_of_name::report<expr>());
    return (std::int64_t{1} * ... * E.number);
  }
  /// The extent of an axis, a constant; a negative axis counts from the last. Refuses: a named extent.
  constexpr auto extent(int axis) const {
    int const k = axis < 0 ? axis + rank : axis;
    if constexpr (!(E.is_number() || ...)) static_assert(refusals::extent_of_name::report<expr>());
    else if (k >= 0 && k < rank && extents[k].is_number()) return std::int64_t{extents[k].number};
    else if (at_.b == nullptr) detail::an_extent_must_be_a_number();
    else if (k < 0 || k >= rank)
      at_.b->template refuse<refusals::axis_out_of_range>(axis < 0 ? -axis - 1 : axis, rank, detail::place_of(*this));
    else at_.b->template refuse<refusals::extent_of_name>(0, 0, detail::place_of(*this));
    return std::int64_t{1};
  }

  constexpr detail::standing const& standing() const noexcept { return at_; }
  /// The symbol in the current region of `b`; a detached value is added to it.
  constexpr extend::symbol attach(extend::builder& b) const {
    if (at_.b != nullptr) return b.inside(at_.id, b.place);
    extend::dimensions d;
    for (int k = 0; k < rank; ++k) d.size[d.rank++] = b.size(extents[k]);
    return detail::attach(at_, b, type, b.shape(d));
  }

  /// Elements, rows and windows. An integer selects a position and drops the axis; `ct::all` keeps the axis;
  /// `ct::range<0, 8, 2>` keeps a part of it. Omitted axes are kept. Negative integers count from the end.
  template <class A>
  constexpr auto operator()(A a, std::source_location where = std::source_location::current(), detail::origin&& from = detail::origin()) & {
    return detail::index_list<expr>::part(where, *this, at_, nullptr, from, false, a);
  }
  template <class A>
  constexpr auto operator()(A a, std::source_location where = std::source_location::current(), detail::origin&& from = detail::origin()) && {
    return detail::index_list<expr>::part(where, *this, at_, from_, from, true, a);
  }
  template <class A>
  constexpr auto operator()(A a, std::source_location where = std::source_location::current()) const& {
    return detail::index_list<expr>::take(where, *this, a);
  }
  template <class A, class B>
  constexpr auto operator()(A a, B b, std::source_location where = std::source_location::current(), detail::origin&& from = detail::origin()) & {
    return detail::index_list<expr>::part(where, *this, at_, nullptr, from, false, a, b);
  }
  template <class A, class B>
  constexpr auto operator()(A a, B b, std::source_location where = std::source_location::current(), detail::origin&& from = detail::origin()) && {
    return detail::index_list<expr>::part(where, *this, at_, from_, from, true, a, b);
  }
  template <class A, class B>
  constexpr auto operator()(A a, B b, std::source_location where = std::source_location::current()) const& {
    return detail::index_list<expr>::take(where, *this, a, b);
  }
  template <class A, class B, class C>
  constexpr auto operator()(A a, B b, C c, std::source_location where = std::source_location::current(), detail::origin&& from = detail::origin()) & {
    return detail::index_list<expr>::part(where, *this, at_, nullptr, from, false, a, b, c);
  }
  template <class A, class B, class C>
  constexpr auto operator()(A a, B b, C c, std::source_location where = std::source_location::current(), detail::origin&& from = detail::origin()) && {
    return detail::index_list<expr>::part(where, *this, at_, from_, from, true, a, b, c);
  }
  template <class A, class B, class C>
  constexpr auto operator()(A a, B b, C c, std::source_location where = std::source_location::current()) const& {
    return detail::index_list<expr>::take(where, *this, a, b, c);
  }
  template <class A, class B, class C, class D>
  constexpr auto operator()(A a, B b, C c, D d, std::source_location where = std::source_location::current(), detail::origin&& from = detail::origin()) & {
    return detail::index_list<expr>::part(where, *this, at_, nullptr, from, false, a, b, c, d);
  }
  template <class A, class B, class C, class D>
  constexpr auto operator()(A a, B b, C c, D d, std::source_location where = std::source_location::current(), detail::origin&& from = detail::origin()) && {
    return detail::index_list<expr>::part(where, *this, at_, from_, from, true, a, b, c, d);
  }
  template <class A, class B, class C, class D>
  constexpr auto operator()(A a, B b, C c, D d, std::source_location where = std::source_location::current()) const& {
    return detail::index_list<expr>::take(where, *this, a, b, c, d);
  }
  /// One index in brackets: `x[i]`.
  constexpr auto operator[](detail::subscript&& i) & {
    return detail::index_list<expr>::part(i.here, *this, at_, nullptr, i, false, i.index);
  }
  constexpr auto operator[](detail::subscript&& i) && {
    return detail::index_list<expr>::part(i.here, *this, at_, from_, i, true, i.index);
  }
  constexpr auto operator[](detail::subscript&& i) const& {
    return detail::index_list<expr>::take(i.here, *this, i.index);
  }
  template <class A>
    requires(!std::is_convertible_v<A, detail::subscript>)
  constexpr auto operator[](A a) const {
    return detail::index_list<expr>::take(detail::place_of(*this), *this, a);
  }

  /// The rows (or elements), in order, if their number is a constant: `for (auto row : x)`.
  constexpr auto begin() const
    requires detail::has_rows<expr>
  {
    return detail::row_iterator<expr>{*this, 0};
  }
  constexpr auto end() const
    requires detail::has_rows<expr>
  {
    return detail::row_iterator<expr>{*this, extents[0].number};
  }

  template <class Stream>
    requires requires(Stream& s) { s.flush(); }
  friend constexpr detail::silent_stream<Stream>
  operator<<(Stream&, expr const&) noexcept(refusals::no_printing::report<T>()) {
    return {};
  }

  constexpr explicit operator bool() const noexcept(refusals::no_truth::report<T>()) { return false; }
};

} // namespace cotangent

#endif
