// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_MOVEMENT_HPP
#define COTANGENT_TRACE_EXPRESSIONS_MOVEMENT_HPP

#include <cotangent/trace/expressions/reductions.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <tuple>

// Functions that move or select elements, and matrix products.

namespace cotangent {

namespace detail {

/// The index of a shape; `none`, and a failure in the builder, if there are too many axes.
template <extent... E> constexpr std::int32_t shape_in(builder& b) {
  if constexpr (sizeof...(E) > max_rank)
    return b.refuse<refusals::rank_too_large>(sizeof...(E), max_rank, b.place), none;
  else {
    dimensions d;
    ((d.size[d.rank++] = b.size(E)), ...);
    return b.shape(d);
  }
}

/// x with the shape `to`, aligned at the last axis; refuses a shape that does not fit.
constexpr term broadcast_if_fits(term x, std::int32_t to) {
  std::int32_t const both = extend::broadcast_shape(*x.b, x.shape_id(), to);
  if (both == none) return x;
  dimensions const wide = x.b->get().shapes[both], wanted = x.b->get().shapes[to];
  for (int k = 1; k <= wide.rank; ++k) {
    dimension const want = k <= wanted.rank ? wanted.size[wanted.rank - k] : 1;
    if (wide.size[wide.rank - k] == want && k <= wanted.rank) continue;
    x.b->refuse<refusals::shapes_do_not_broadcast>(wide.size[wide.rank - k], want, x.b->place);
    return x;
  }
  return extend::broadcast_to(x, to);
}
template <extent... E> struct broadcast_to_fn {
  static constexpr char const* name = "broadcast_to";
  using emits = operations<>;
  constexpr term operator()(term x) const {
    std::int32_t const to = shape_in<E...>(*x.b);
    return to == none ? x : broadcast_if_fits(x, to);
  }
};
struct reverse_fn {
  static constexpr char const* name = "reverse";
  using emits = operations<>;
  static constexpr term of(auto x, int axis) { return extend::reversed(x, axis); }
};
template <extent... E> struct reshape_fn {
  static constexpr char const* name = "reshape";
  using emits = operations<>;
  constexpr term operator()(term x) const {
    std::int32_t const to = shape_in<E...>(*x.b);
    if (to == none) return x;
    dimension const before = x.b->count(x.dims()), after = x.b->count(x.b->get().shapes[to]);
    if (before == after) return op::reshape::of(x, to);
    x.b->refuse<refusals::reshape_count>(before, after, x.b->place);
    return x;
  }
};
struct flatten_fn {
  static constexpr char const* name = "flatten";
  using emits = operations<>;
  constexpr term operator()(term x) const {
    dimensions d;
    d.rank = 1;
    d.size[0] = x.b->count(x.dims());
    return op::reshape::of(x, x.b->shape(d));
  }
};
struct transpose_fn {
  static constexpr char const* name = "transpose";
  using emits = operations<>;
  constexpr term operator()(term x) const { return extend::transpose(x); }
};
struct permute_kind {
  static constexpr char const* name = "permute";
  using emits = operations<>;
  static constexpr term of(number_list const& axes, term x) {
    if (x.rank() != axes.count) return x.b->refuse<refusals::permute_rank>(axes.count, x.rank(), x.b->place), x;
    std::int64_t order[max_rank + 1]{};
    for (int k = 0; k < axes.count; ++k) order[k] = axis_of(x, axes[k]);
    return x.b->failed().why != nullptr ? x : op::permute::of(x, order);
  }
};
/// Joins operands along an axis, or with `New` along a new one.
template <bool New> struct join_kind {
  static constexpr char const* name = New ? "stack" : "concatenate";
  using emits = operations<>;
  static constexpr term of(number_list const& axis, term first, auto... rest) {
    symbol parts[]{first.id, rest.id...};
    return joined(*first.b, parts, sizeof...(rest) + 1, axis[0]);
  }
  /// `parts` are overwritten.
  static constexpr term joined(builder& b, symbol* parts, int count, std::int64_t at) {
    term const first{&b, parts[0]};
    std::int64_t axis = at;
    if constexpr (!New) axis = axis_of(first, at);
    else {
      int const rank = first.rank() + 1;
      axis += at < 0 ? rank : 0;
      if (rank > max_rank) b.refuse<refusals::rank_too_large>(rank, max_rank, b.place);
      else if (axis < 0 || axis >= rank) b.refuse<refusals::axis_out_of_range>(at < 0 ? -(at + 1) : at, rank, b.place);
      for (int i = 0; i < count && b.failed().why == nullptr; ++i) {
        term const x{&b, parts[i]};
        dimensions const from = x.dims();
        if (from.rank + 1 != rank) b.refuse<refusals::concatenate_rank>(rank - 1, from.rank, b.place);
        else parts[i] = op::reshape::of(x, b.shape(widened(from, static_cast<int>(axis)))).id;
      }
    }
    if (b.failed().why != nullptr) return first;
    return {&b, b.push(info_of<op::concatenate>(), parts, count, &axis, 1, b.place)};
  }
  /// With a new axis of size 1.
  static constexpr dimensions widened(dimensions const& from, int axis) {
    dimensions d;
    for (int k = 0; k <= from.rank; ++k) {
      if (k == axis) d.size[d.rank++] = 1;
      if (k < from.rank) d.size[d.rank++] = from.size[k];
    }
    return d;
  }
};
struct expand_kind : join_kind<true> {
  static constexpr char const* name = "expand";
};
/// Joins the operands of a list.
template <bool New> struct join_list : with_values<join_kind<New>> {
  using with_values<join_kind<New>>::with_values;
  constexpr term of_list(builder& b, symbol* parts, int count) const {
    return join_kind<New>::joined(b, parts, count, this->numbers[0]);
  }
};
template <int Axis> using concatenate_fn = with_constants<join_kind<false>, Axis>;
template <int Axis> using stack_fn = with_constants<join_kind<true>, Axis>;
struct gather_fn {
  static constexpr char const* name = "gather";
  using emits = operations<>;
  constexpr term operator()(term x, term indices) const { return extend::gather(x, indices); }
};
struct scatter_add_kind {
  static constexpr char const* name = "scatter_add";
  using emits = operations<>;
  static constexpr term of(number_list const& number, term rows, term indices) {
    builder& b = *rows.b;
    dimensions const from = rows.dims(), places = indices.dims();
    if (!is_index(indices.type())) return b.refuse<refusals::index_not_integer>(0, 0, b.place), rows;
    for (int k = 0; k < places.rank; ++k)
      if (k >= from.rank || from.size[k] != places.size[k])
        return b.refuse<refusals::scatter_shapes>(k < from.rank ? from.size[k] : 1, places.size[k], b.place),
               rows;
    dimensions d;
    d.size[d.rank++] = number[0];
    for (int k = places.rank; k < from.rank; ++k) d.size[d.rank++] = from.size[k];
    return op::scatter_add::of(rows, indices, b.shape(d));
  }
};
template <element To> struct one_hot_kind {
  static constexpr char const* name = "one_hot";
  using emits = operations<>;
  static constexpr element gives = To;
  static constexpr term of(number_list const& classes, term labels) { return extend::one_hot(labels, classes[0], To); }
};
struct matmul_fn {
  static constexpr char const* name = "matmul";
  using emits = operations<>;
  constexpr term operator()(term a, term b) const { return extend::matmul(a, b); }
};
struct dot_fn {
  static constexpr char const* name = "dot";
  using emits = operations<>;
  constexpr term operator()(term a, term b) const {
    for (term const& x : {a, b})
      if (x.rank() != 1) return x.b->refuse<refusals::dot_ranks>(1, x.rank(), x.b->place), x;
    term const y = a * b;
    return y.b->failed().why != nullptr ? y : extend::sum(y, 1u);
  }
};

struct swap_kind {
  static constexpr char const* name = "swap_axes";
  using emits = operations<>;
  static constexpr term of(number_list const& axes, auto x) {
    int const a = axis_of(x, axes[0]), b = axis_of(x, axes[1]);
    if (x.b->failed().why != nullptr) return x;
    std::int64_t order[max_rank]{};
    for (int k = 0; k < x.rank(); ++k) order[k] = k == a ? b : k == b ? a : k;
    return op::permute::of(x, order);
  }
};

} // namespace detail

/// Broadcasts `x` to these extents, aligned at the last axis.
template <extent... E, detail::operand X>
constexpr auto broadcast_to(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::broadcast_to_fn<E...>{}, x);
}
/// The same elements in row-major order, with other extents.
template <extent... E, detail::operand X>
constexpr auto reshape(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::reshape_fn<E...>{}, x);
}
/// The same elements as one axis.
template <detail::operand X>
constexpr auto flatten(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::flatten_fn{}, x);
}
/// The axes in reverse order.
template <detail::operand X>
constexpr auto transpose(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::transpose_fn{}, x);
}
/// Result axis k is operand axis `Axis...[k]`.
template <int... Axis, detail::operand X>
constexpr auto permute(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::with_constants<detail::permute_kind, Axis...>{}, x);
}

/// Concatenates the operands along an axis, 0 if left out.
template <int Axis = 0, detail::operand A>
constexpr auto concatenate(A const& a, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::concatenate_fn<Axis>{}, a);
}
template <int Axis = 0, detail::operand A, detail::operand B>
constexpr auto concatenate(A const& a, B const& b,
                           std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::concatenate_fn<Axis>{}, a, b);
}
template <int Axis = 0, detail::operand A, detail::operand B, detail::operand C>
constexpr auto concatenate(A const& a, B const& b, C const& c,
                           std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::concatenate_fn<Axis>{}, a, b, c);
}
// A source location cannot follow a pack.
template <int Axis = 0, detail::operand A, detail::operand B, detail::operand C, detail::operand D,
          detail::operand... X>
constexpr auto concatenate(A const& a, B const& b, C const& c, D const& d, X const&... x) {
  return detail::lift({}, detail::concatenate_fn<Axis>{}, a, b, c, d, x...);
}

/// Stacks operands of one shape along a new axis, 0 if left out.
template <int Axis = 0, detail::operand A>
constexpr auto stack(A const& a, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::stack_fn<Axis>{}, a);
}
template <int Axis = 0, detail::operand A, detail::operand B>
constexpr auto stack(A const& a, B const& b, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::stack_fn<Axis>{}, a, b);
}
template <int Axis = 0, detail::operand A, detail::operand B, detail::operand C>
constexpr auto stack(A const& a, B const& b, C const& c,
                     std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::stack_fn<Axis>{}, a, b, c);
}
template <int Axis = 0, detail::operand A, detail::operand B, detail::operand C, detail::operand D,
          detail::operand... X>
constexpr auto stack(A const& a, B const& b, C const& c, D const& d, X const&... x) {
  return detail::lift({}, detail::stack_fn<Axis>{}, a, b, c, d, x...);
}

/// The same of an array of them: `std::array<decltype(x), 3> rows{x, y, z}; ct::stack<0>(rows)`.
template <int Axis = 0, detail::expression X, std::size_t N>
  requires(N > 0)
constexpr auto concatenate(std::array<X, N> const& parts, std::source_location where = std::source_location::current()) {
  return std::apply([&](auto const&... x) { return detail::lift(where, detail::concatenate_fn<Axis>{}, x...); }, parts);
}
template <int Axis = 0, detail::expression X, std::size_t N>
  requires(N > 0)
constexpr auto stack(std::array<X, N> const& parts, std::source_location where = std::source_location::current()) {
  return std::apply([&](auto const&... x) { return detail::lift(where, detail::stack_fn<Axis>{}, x...); }, parts);
}

/// Rows of `x` selected by integers: row i of the result is row `indices[i]`. Indices out of range are
/// clamped and reported.
template <detail::operand X, detail::operand I>
constexpr auto gather(X const& x, I const& indices,
                      std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::gather_fn{}, x, indices);
}
/// Adds row i to row `indices[i]` of `Rows` rows of zeros.
template <extent Rows, detail::operand X, detail::operand I>
constexpr auto scatter_add(X const& rows, I const& indices,
                           std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::with_extent<detail::scatter_add_kind, Rows>{}, rows, indices);
}
/// The sums of the rows of each of Count segments: row i belongs to segment `segments[i]`. As scatter_add.
template <extent Count, detail::operand X, detail::operand S>
constexpr auto segment_sum(X const& rows, S const& segments, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::with_extent<detail::scatter_add_kind, Count>{}, rows, segments);
}
/// 1 where the index along a new last axis equals the label, else 0.
template <extent Classes, class T = float, detail::operand X>
constexpr auto one_hot(X const& labels, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::with_extent<detail::one_hot_kind<element_of<T>>, Classes>{}, labels);
}

/// The product of two matrices.
template <detail::operand A, detail::operand B>
constexpr auto matmul(A const& a, B const& b, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::matmul_fn{}, a, b);
}
/// Two axes exchanged.
template <int A, int B, detail::operand X>
constexpr auto swap_axes(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::with_constants<detail::swap_kind, A, B>{}, x);
}
/// The sum of the products of two vectors.
template <detail::operand A, detail::operand B>
constexpr auto dot(A const& a, B const& b, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::dot_fn{}, a, b);
}

} // namespace cotangent

#endif
