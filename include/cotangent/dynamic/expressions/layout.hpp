// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EXPRESSIONS_LAYOUT_HPP
#define COTANGENT_DYNAMIC_EXPRESSIONS_LAYOUT_HPP

#include <cotangent/dynamic/expressions/functions.hpp>
#include <cotangent/trace/expressions/layout.hpp>

#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <utility>
#include <vector>

// Functions that arrange and select elements, with axes, sizes and counts that are numbers: ct::stack({x, y}, 0), ct::roll(x, 3, 1).
// Their formulas are those of the functions with template arguments.

COTANGENT_COLD_BEGIN
namespace cotangent {

namespace dynamic::inline COTANGENT_ABI::detail {
/// Joins a list along an axis, or with `New` along a new one; half precision as float.
template <bool New, class X> auto join(std::source_location where, std::vector<X> const& parts, std::int64_t axis) {
  if constexpr (is_half_expr<X>) {
    std::vector<as_element<float, X>> wide;
    for (X const& x : parts) wide.push_back(widened(where, x));
    return detail::join<New>(where, wide, axis);
  } else return X::lift_list(where, join_list<New>({&axis, 1}), parts);
}
} // namespace dynamic::detail

/// Operands joined along an axis, 0 if left out.
template <detail::open_expr X>
auto concatenate(std::vector<X> const& parts, std::int64_t axis = 0, std::source_location where = std::source_location::current()) {
  return dynamic::detail::join<false>(where, parts, axis);
}
template <detail::open_expr X>
auto concatenate(std::initializer_list<X> parts, std::int64_t axis = 0, std::source_location where = std::source_location::current()) {
  return dynamic::detail::join<false>(where, std::vector<X>(parts), axis);
}
/// Operands of one shape joined along a new axis, 0 if left out.
template <detail::open_expr X>
auto stack(std::vector<X> const& parts, std::int64_t axis = 0, std::source_location where = std::source_location::current()) {
  return dynamic::detail::join<true>(where, parts, axis);
}
template <detail::open_expr X>
auto stack(std::initializer_list<X> parts, std::int64_t axis = 0, std::source_location where = std::source_location::current()) {
  return dynamic::detail::join<true>(where, std::vector<X>(parts), axis);
}

/// With a new axis of size 1 at this position of the result.
template <detail::open_expr X> auto expand(X const& x, std::int64_t axis, std::source_location where = std::source_location::current()) {
  return X::lift(where, detail::with_values<detail::expand_kind>({&axis, 1}), x);
}
/// Without these axes, which have size 1.
template <detail::open_expr X>
auto squeeze(X const& x, dynamic::axis_list const& axes, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::with<detail::squeeze_kind<false>>(axes.all()), x);
}
template <detail::open_expr X>
auto squeeze(X const& x, dynamic::no_numbers, std::source_location where = std::source_location::current()) {
  return cotangent::squeeze(x, dynamic::axis_list::none(), where);
}
/// Two axes exchanged.
template <detail::open_expr X>
auto swap_axes(X const& x, std::int64_t a, std::int64_t b, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::with<detail::swap_kind>({a, b}), x);
}
/// Elements moved `by` positions along an axis; those beyond the end return at the beginning.
template <detail::open_expr X>
auto roll(X const& x, std::int64_t by, std::int64_t axis = -1, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::with<detail::roll_kind>({by, axis}), x);
}
/// Every element `times` times in a row, along an axis.
template <detail::open_expr X>
auto repeat(X const& x, std::int64_t times, std::int64_t axis = -1, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::with<detail::repeat_kind>({times, axis}), x);
}
/// Copies side by side: as many of the last axes.
template <detail::open_expr X>
auto tile(X const& x, dynamic::list_of<std::int64_t> const& times, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::with<detail::tile_kind>(times), x);
}
/// The lower or upper triangle of matrices, up to the diagonal with this number.
template <detail::open_expr X>
auto tril(X const& x, std::int64_t offset, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::with<detail::triangle_kind<true>>({offset}), x);
}
template <detail::open_expr X>
auto triu(X const& x, std::int64_t offset, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::with<detail::triangle_kind<false>>({offset}), x);
}
/// x between a value, 0 if left out, its first and last elements, or its mirror images: before and after each axis that many.
template <detail::open_expr X, detail::operand V = int>
auto pad(X const& x, dynamic::list_of<std::int64_t> const& sides, V const& value = 0,
         std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::with<detail::pad_kind>(sides), x, value);
}
template <detail::open_expr X>
auto pad_edge(X const& x, dynamic::list_of<std::int64_t> const& sides, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::with<detail::pad_with_elements_kind<false>>(sides), x);
}
template <detail::open_expr X>
auto pad_reflect(X const& x, dynamic::list_of<std::int64_t> const& sides, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::with<detail::pad_with_elements_kind<true>>(sides), x);
}

/// Adds row i to row `indices[i]` of `count` rows of zeros.
template <detail::open_expr X, detail::operand I>
auto scatter_add(X const& rows, I const& indices, std::int64_t count, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::with_size<detail::scatter_add_kind>({&count, 1}), rows, indices);
}
/// The sums, and the largest and smallest elements, of `count` segments: row i belongs to segment `segments[i]`.
template <detail::open_expr X, detail::operand S>
auto segment_sum(X const& rows, S const& segments, std::int64_t count, std::source_location where = std::source_location::current()) {
  return cotangent::scatter_add(rows, segments, count, where);
}
template <detail::open_expr X, detail::operand S>
auto segment_max(X const& x, S const& segments, std::int64_t count, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::with_size<detail::segment_extremum_kind<false>>({&count, 1}), x, segments);
}
template <detail::open_expr X, detail::operand S>
auto segment_min(X const& x, S const& segments, std::int64_t count, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::with_size<detail::segment_extremum_kind<true>>({&count, 1}), x, segments);
}
/// 1 where the index along a new last axis of this size equals the label, else 0.
template <class T = float, detail::open_expr X>
auto one_hot(X const& labels, std::int64_t classes, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::with_size<detail::one_hot_kind<element_of<T>>>({&classes, 1}), labels);
}
/// The `count` largest elements of the last axis, from the largest on, and their positions: a pair.
template <detail::open_expr X> auto top_k(X const& x, std::int64_t count, std::source_location where = std::source_location::current()) {
  return std::pair(X::lift(where, dynamic::detail::with_size<detail::top_values>({&count, 1}), x),
                   X::lift(where, dynamic::detail::with_size<detail::top_positions>({&count, 1}), x));
}
/// `count` numbers at equal distances, from first to last.
template <detail::operand A, detail::operand B>
  requires(detail::open_expr<A> || detail::open_expr<B>)
auto linspace(A const& first, B const& last, std::int64_t count, std::source_location where = std::source_location::current()) {
  return detail::lift(where, dynamic::detail::with_size<detail::linspace_kind>({&count, 1}), first, last);
}

} // namespace cotangent
COTANGENT_COLD_END

#endif
