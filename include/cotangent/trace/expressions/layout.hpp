// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_LAYOUT_HPP
#define COTANGENT_TRACE_EXPRESSIONS_LAYOUT_HPP

#include <cotangent/ops/integers.hpp>
#include <cotangent/trace/expressions/movement.hpp>
#include <cotangent/trace/expressions/sources.hpp>
#include <cotangent/trace/expressions/statistics.hpp>

#include <cstdint>
#include <source_location>
#include <type_traits>
#include <utility>

// Functions that arrange elements, as formulas over reshape, slice, pad and concatenate; products of vectors.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(squeeze_extent, equal, one, extent_of_axis, "cotangent: squeeze: the axis must have size 1")
COTANGENT_REFUSAL(matrix_rank, at_least, rank_needed, rank_of_operand, "cotangent: this function needs matrices: an operand of at least two axes")
COTANGENT_REFUSAL(vector_rank, equal, rank_needed, rank_of_operand, "cotangent: this function needs vectors: an operand of one axis")
COTANGENT_REFUSAL(cross_extent, equal, three, extent_of_last_axis, "cotangent: cross: the last axis must have size 3")
COTANGENT_REFUSAL(extent_must_be_number, at_least, zero, extent_of_the_axis, "cotangent: this function needs an extent that is a number, not a name")
COTANGENT_REFUSAL(pad_reflect_sides, less_than, elements_reflected, extent_of_padded_axis, "cotangent: pad_reflect, pad_edge: there must be elements to repeat: fewer than the axis has for pad_reflect, and an axis that is not empty for pad_edge")
COTANGENT_REFUSAL(pad_sides, equal, two_for_each_axis, numbers_given, "cotangent: pad: two numbers of at least 0 must be given for each axis")
COTANGENT_REFUSAL(pad_below_zero, at_least, number_given, zero, "cotangent: pad: the numbers before and after an axis must be at least 0")
COTANGENT_REFUSAL(repeat_times, at_least, times_given, zero, "cotangent: repeat, tile: the number of copies must be at least 0")
// clang-format on
} // namespace refusals

namespace detail {

/// x without the axes of a mask, which have size 1.
constexpr term without_axes(auto x, std::uint32_t mask) {
  dimensions const from = x.dims();
  dimensions d;
  for (int k = 0; k < from.rank; ++k) {
    if ((mask >> k & 1u) == 0) d.size[d.rank++] = from.size[k];
    else if (from.size[k] != 1) return x.b->template refuse<refusals::squeeze_extent>(1, from.size[k], x.b->place), x;
  }
  return op::reshape::of(x, x.b->shape(d));
}
/// Without these axes; `All`, if none is named: without all axes of size 1.
template <bool All> struct squeeze_kind {
  static constexpr char const* name = "squeeze";
  using emits = operations<>;
  static constexpr term of(number_list const& axes, auto x) {
    std::uint32_t mask = mask_of(x, axes);
    if (All && axes.count == 0)
      for (int k = 0; k < x.rank(); ++k) mask |= x.dims().size[k] == 1 ? 1u << k : 0u;
    return x.b->failed().why != nullptr ? x : without_axes(x, mask);
  }
};
/// The extent of an axis, which must be a number; -1 after a refusal.
constexpr dimension number_of(auto x, int axis) {
  dimension const n = x.dims().size[axis];
  if (n < 0) x.b->template refuse<refusals::extent_must_be_number>(0, n, x.b->place);
  return n;
}
constexpr term rolled(auto x, int axis, std::int64_t by) {
  dimension const n = x.dims().size[axis];
  if (n == 0 || by == 0 || (n > 0 && by % n == 0)) return x;
  if (std::int64_t const turn = n > 0 ? (by % n + n) % n : 0; n > 0)
    return joined_along(axis, extend::slice(x, axis, n - turn, turn), extend::slice(x, axis, 0, n - turn));
  term const i = extend::iota(*x.b, element::int64, n), size = extend::count_of(i, 1, i.shape_id()); // rows (i - by) modulo n
  term const all{x.b, x.b->push(info_of<op::constant>(), nullptr, 0, &by, 1, element::int64, i.shape_id(), {})};
  term const from = i - extend::apply<op::remainder>(all, size); // the remainder is between -n and n
  auto const row = extend::select(from < 0, from + size, extend::select(from >= size, from - size, from));
  return extend::move_axis(extend::gather(extend::move_axis(x, axis, 0), row), 0, axis);
}
struct roll_kind {
  static constexpr char const* name = "roll";
  using emits = operations<op::remainder>;
  static constexpr term of(number_list const& by_and_axis, auto x) {
    int const axis = axis_of(x, by_and_axis[1]);
    return x.b->failed().why != nullptr ? x : rolled(x, axis, by_and_axis[0]);
  }
};
/// `times` copies along a new axis at `at`, which is merged with its neighbor `axis`.
constexpr term repeated(auto x, int axis, int at, std::int64_t times) {
  dimensions const from = x.dims();
  if (times < 0) return x.b->fail({why<refusals::repeat_times>(), extent::of(times), {}, none, x.b->place}), x;
  if (from.rank == max_rank) return x.b->template refuse<refusals::rank_too_large>(from.rank + 1, max_rank, x.b->place), x;
  dimensions many = join_kind<true>::widened(from, at);
  term const one = op::reshape::of(x, x.b->shape(many));
  many.size[at] = times;
  return extend::merge_axes(term(extend::broadcast_to(one, x.b->shape(many))), axis);
}
struct repeat_kind {
  static constexpr char const* name = "repeat";
  using emits = operations<>;
  static constexpr term of(number_list const& times_and_axis, auto x) {
    int const axis = axis_of(x, times_and_axis[1]);
    return x.b->failed().why != nullptr ? x : repeated(x, axis, axis + 1, times_and_axis[0]);
  }
};
struct tile_kind {
  static constexpr char const* name = "tile";
  using emits = operations<>;
  static constexpr term of(number_list const& times, auto x) {
    builder& b = *x.b;
    if (times.count > max_rank) return b.template refuse<refusals::rank_too_large>(times.count, max_rank, b.place), x;
    term y = x;
    if (x.rank() < times.count) { // further axes in front
      dimensions d;
      for (int k = x.rank(); k < times.count; ++k) d.size[d.rank++] = 1;
      for (int k = 0; k < x.rank(); ++k) d.size[d.rank++] = x.dims().size[k];
      y = op::reshape::of(x, b.shape(d));
    }
    for (int k = 0; k < times.count; ++k)
      if (int const axis = y.rank() - times.count + k; times[k] != 1 && b.failed().why == nullptr) y = repeated(y, axis, axis, times[k]);
    return y;
  }
};
/// column - row, of matrices of this many rows and columns.
constexpr term diagonal_numbers(builder& b, dimension rows, dimension columns) {
  dimensions const column{2, {rows, 1}};
  return term(extend::iota(b, element::int64, columns)) - op::reshape::of(extend::iota(b, element::int64, rows), b.shape(column));
}
/// A triangle of each matrix: the elements up to a diagonal, which has a number, or from it on.
template <bool Lower> struct triangle_kind {
  static constexpr char const* name = Lower ? "tril" : "triu";
  using emits = operations<>;
  static constexpr term of(number_list const& number, auto x) {
    int const rank = x.rank();
    if (rank < 2) return x.b->template refuse<refusals::matrix_rank>(2, rank, x.b->place), x;
    term const apart = diagonal_numbers(*x.b, x.dims().size[rank - 2], x.dims().size[rank - 1]);
    constexpr std::int64_t most = std::int64_t{1} << 60; // no tensor is larger
    term const bound = extend::constant_like(apart, static_cast<double>(number[0] < -most ? -most : number[0] > most ? most : number[0]));
    return extend::select(Lower ? apart <= bound : apart >= bound, x, extend::constant_like(x, 0));
  }
};
struct diagonal_fn {
  static constexpr char const* name = "diagonal";
  using emits = operations<>;
  constexpr term operator()(auto x) const {
    int const rank = x.rank();
    if (rank < 2) return x.b->template refuse<refusals::matrix_rank>(2, rank, x.b->place), x;
    dimension const n = x.dims().size[rank - 2], m = x.dims().size[rank - 1];
    if (n == m && n < 0) { // element i of row i
      dimensions column{2, {n, 1}}, one = x.dims(), line{rank - 1, {}};
      for (int k = 0; k < rank - 1; ++k) line.size[k] = one.size[k];
      one.size[rank - 1] = 1;
      term const i = op::reshape::of(extend::iota(*x.b, element::int64, n), x.b->shape(column));
      return op::reshape::of(taken_along(x, extend::broadcast_to(i, x.b->shape(one))), x.b->shape(line));
    }
    if (number_of(x, rank - 2) < 0 || number_of(x, rank - 1) < 0) return x;
    return extend::slice(extend::merge_axes(x, rank - 2), rank - 2, 0, n < m ? n : m, m + 1);
  }
};
struct diag_fn {
  static constexpr char const* name = "diag";
  using emits = operations<>;
  constexpr term operator()(auto x) const {
    if (x.rank() != 1) return x.b->template refuse<refusals::vector_rank>(1, x.rank(), x.b->place), x;
    builder& b = *x.b;
    dimension const n = x.dims().size[0];
    dimensions const line{1, {b.product(n, n)}}, square{2, {n, n}};
    if (n < 0) // of a named extent: a pad has a number as its step
      return extend::select(diagonal_numbers(b, n, n) == 0, x, extend::constant_like(x, 0));
    std::int64_t const window[2 * max_rank]{0, n + 1};
    return op::reshape::of(op::pad::of(x, window, b.shape(line)), b.shape(square));
  }
};
struct trace_fn {
  static constexpr char const* name = "trace";
  using emits = operations<>;
  constexpr term operator()(auto x) const {
    term const y = diagonal_fn{}(x);
    return y.b->failed().why != nullptr ? y : extend::sum(y, 1u << (y.rank() - 1));
  }
};
/// True if there are two numbers of at least 0 for each axis; else the failure is recorded.
constexpr bool pads(auto x, number_list const& sides) {
  if (x.rank() * 2 != sides.count) return x.b->template refuse<refusals::pad_sides>(2 * x.rank(), sides.count, x.b->place), false;
  for (int k = 0; k < sides.count; ++k)
    if (sides[k] < 0) return x.b->fail({why<refusals::pad_below_zero>(), extent::of(sides[k]), {}, none, x.b->place}), false;
  return true;
}
template <bool Reflect> struct pad_with_elements_kind {
  static constexpr char const* name = Reflect ? "pad_reflect" : "pad_edge";
  using emits = operations<>;
  static constexpr term of(number_list const& sides, auto x) {
    if (!pads(x, sides)) return x;
    term y = x;
    for (int axis = 0; axis < x.rank(); ++axis) {
      std::int64_t const before = sides[2 * axis], after = sides[2 * axis + 1], more = before > after ? before : after;
      if (more == 0) continue;
      dimension const n = number_of(x, axis);
      if (n < 0) return x;
      if (n <= (Reflect ? more : 0)) return x.b->template refuse<refusals::pad_reflect_sides>(Reflect ? more : 0, n, x.b->place), x;
      auto const side = [&](std::int64_t count, dimension edge) { // elements at the first or last position `edge`, outwards
        if constexpr (Reflect) return reverse_fn::of(extend::slice(y, axis, edge == 0 ? 1 : n - 1 - count, count), axis);
        else {
          dimensions d = y.dims();
          d.size[axis] = count;
          return extend::broadcast_to(extend::slice(y, axis, edge, 1), x.b->shape(d));
        }
      };
      term const left = before > 0 ? side(before, 0) : term{}, right = after > 0 ? side(after, n - 1) : term{};
      if (left.present()) y = joined_along(axis, left, y);
      if (right.present()) y = joined_along(axis, y, right);
    }
    return y;
  }
};
struct pad_kind {
  static constexpr char const* name = "pad";
  using emits = operations<>;
  static constexpr term of(number_list const& sides, auto x, auto value) {
    builder& b = *x.b;
    if (!pads(x, sides)) return x;
    if (value.rank() != 0) return b.template refuse<refusals::vector_rank>(0, value.rank(), b.place), x;
    if (node const* const n = b.producer(value.id); n != nullptr && n->op == info_of<op::constant>() && b.get().numbers[n->attribute] == 0)
      if (term const y = extend::between_zeros(x, sides.at); y.present() && value.type() == x.type()) return y;
    term y = x;
    for (int axis = 0; axis < x.rank(); ++axis) {
      auto const side = [&](std::int64_t count) {
        dimensions d = y.dims();
        d.size[axis] = count;
        return extend::broadcast_to(value, b.shape(d));
      };
      if (sides[2 * axis] > 0) y = joined_along(axis, side(sides[2 * axis]), y);
      if (sides[2 * axis + 1] > 0) y = joined_along(axis, y, side(sides[2 * axis + 1]));
    }
    return y;
  }
};
template <int Operand, bool Columns> struct meshgrid_fn {
  static constexpr char const* name = "meshgrid";
  using emits = operations<>;
  constexpr term operator()(auto first, auto... rest) const {
    constexpr int count = 1 + static_cast<int>(sizeof...(rest));
    constexpr int axis = Columns && Operand < 2 && count > 1 ? 1 - Operand : Operand; // of this operand
    term const all[]{first, rest...};
    builder& b = *first.b;
    dimensions grid, own;
    grid.rank = own.rank = count;
    for (int k = 0; k < count; ++k) {
      if (all[k].rank() != 1) return b.template refuse<refusals::vector_rank>(1, all[k].rank(), b.place), first;
      grid.size[Columns && k < 2 && count > 1 ? 1 - k : k] = all[k].dims().size[0];
      own.size[k] = 1;
    }
    own.size[axis] = grid.size[axis];
    return extend::broadcast_to(op::reshape::of(all[Operand], b.shape(own)), b.shape(grid));
  }
};
struct outer_fn {
  static constexpr char const* name = "outer";
  using emits = operations<>;
  constexpr term operator()(auto a, auto b) const {
    for (term const& x : {a, b})
      if (x.rank() != 1) return x.b->template refuse<refusals::vector_rank>(1, x.rank(), x.b->place), x;
    dimensions const column{2, {a.dims().size[0], 1}};
    return op::reshape::of(a, a.b->shape(column)) * b;
  }
};
struct cross_fn {
  static constexpr char const* name = "cross";
  using emits = operations<>;
  constexpr term operator()(auto a, auto b) const {
    for (term const& x : {a, b}) {
      dimension const n = x.rank() == 0 ? 0 : x.dims().size[x.rank() - 1];
      if (n != 3) return x.b->template refuse<refusals::cross_extent>(3, n, x.b->place), x;
    }
    auto const product = [&](int u, int v) { return extend::at(a, a.rank() - 1, u) * extend::at(b, b.rank() - 1, v); };
    symbol of[3]{};
    for (int k = 0, u = 1, v = 2; k < 3; u = v, v = k++) {
      term const first = product(u, v);
      of[k] = (first - product(v, u)).id;
    }
    return join_kind<true>::joined(*a.b, of, 3, -1);
  }
};

} // namespace detail

/// Without the named axes, or without all axes of size 1: `squeeze<0>(x)`, `squeeze(x)`.
template <int... Axis, detail::operand X>
constexpr auto squeeze(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::with_constants<detail::squeeze_kind<true>, Axis...>{}, x);
}
/// With a new axis of size 1 at position Axis of the result (NumPy: expand_dims).
template <int Axis, detail::operand X>
constexpr auto expand(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::with_constants<detail::expand_kind, Axis>{}, x);
}
/// Elements moved By positions along an axis, the last if left out; those beyond the end return at the beginning.
template <std::int64_t By, int Axis = -1, detail::operand X>
constexpr auto roll(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::with_constants<detail::roll_kind, By, Axis>{}, x);
}
/// In the opposite order along an axis, the last if left out (NumPy: flip).
template <int Axis = -1, detail::operand X>
constexpr auto reverse(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axis<detail::reverse_fn, Axis>{}, x);
}
template <detail::expression X, detail::one_axis A>
constexpr auto reverse(X const& x, A axis, std::source_location where = std::source_location::current()) {
  return detail::lift_along<detail::reverse_fn>(where, x, axis);
}
/// Every element Times times in a row, along an axis, the last if left out.
template <std::int64_t Times, int Axis = -1, detail::operand X>
constexpr auto repeat(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::with_constants<detail::repeat_kind, Times, Axis>{}, x);
}
/// Copies side by side: Times... of the last axes.
template <std::int64_t... Times, detail::operand X>
  requires(sizeof...(Times) > 0)
constexpr auto tile(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::with_constants<detail::tile_kind, Times...>{}, x);
}
/// The lower triangle of matrices: zeros where column - row is more than Offset.
template <int Offset = 0, detail::operand X>
constexpr auto tril(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::with_constants<detail::triangle_kind<true>, Offset>{}, x);
}
/// The upper triangle of matrices: zeros where column - row is less than Offset.
template <int Offset = 0, detail::operand X>
constexpr auto triu(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::with_constants<detail::triangle_kind<false>, Offset>{}, x);
}
/// The diagonals of matrices.
template <detail::operand X>
constexpr auto diagonal(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::diagonal_fn{}, x);
}
/// The matrix with this diagonal, and zeros.
template <detail::operand X>
constexpr auto diag(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::diag_fn{}, x);
}
/// The sums of the diagonals of matrices.
template <detail::operand X>
constexpr auto trace(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::trace_fn{}, x);
}
/// x between a value, 0 if left out: before and after each axis that many, `pad<1, 1, 0, 2>(x)` of a matrix.
template <std::int64_t... Sides, detail::operand X, detail::operand V>
constexpr auto pad(X const& x, V const& value, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::with_constants<detail::pad_kind, Sides...>{}, x, value);
}
template <std::int64_t... Sides, detail::operand X>
constexpr auto pad(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::with_constants<detail::pad_kind, Sides...>{}, x, 0);
}
/// x between copies of its first and last elements: `pad_edge<1, 1, 0, 2>(x)` of a matrix (NumPy: mode "edge").
template <std::int64_t... Sides, detail::operand X>
constexpr auto pad_edge(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::with_constants<detail::pad_with_elements_kind<false>, Sides...>{}, x);
}
/// x between its mirror images, without the first and last elements (NumPy: mode "reflect").
template <std::int64_t... Sides, detail::operand X>
constexpr auto pad_reflect(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::with_constants<detail::pad_with_elements_kind<true>, Sides...>{}, x);
}
/// The grids of coordinates of vectors: `auto [u, v] = ct::meshgrid(x, y)`, with u[i, j] = x[j] and v[i, j] = y[i], as in NumPy;
/// with `ct::meshgrid<ct::indexing::ij>(x, y, z)`, axis k is that of operand k.
enum class indexing { xy, ij };
template <indexing By = indexing::xy, detail::operand A, detail::operand B>
constexpr auto meshgrid(A const& a, B const& b, std::source_location where = std::source_location::current()) {
  constexpr bool xy = By == indexing::xy;
  return detail::lift_parts<detail::meshgrid_fn<0, xy>, detail::meshgrid_fn<1, xy>>(where, a, b);
}
template <indexing By = indexing::xy, detail::operand A, detail::operand B, detail::operand C>
constexpr auto meshgrid(A const& a, B const& b, C const& c, std::source_location where = std::source_location::current()) {
  constexpr bool xy = By == indexing::xy;
  return detail::lift_parts<detail::meshgrid_fn<0, xy>, detail::meshgrid_fn<1, xy>, detail::meshgrid_fn<2, xy>>(where, a, b, c);
}
/// Count numbers at equal distances, from first to last.
template <extent Count, detail::operand A, detail::operand B>
constexpr auto linspace(A const& first, B const& last, std::source_location where = std::source_location::current()) {
  if constexpr (detail::literal<A> && detail::literal<B>) {
    using T = std::conditional_t<std::is_same_v<A, float> && std::is_same_v<B, float>, float, double>;
    if constexpr (!Count.is_number()) refusals::extent_must_be_number::report<extent::of(0), Count>();
    return iota<T, Count>(static_cast<T>(first), detail::even_step(Count.number, static_cast<T>(first), static_cast<T>(last)));
  } else return detail::lift(where, detail::with_extent<detail::linspace_kind, Count>{}, first, last);
}
/// The same of two literals, as elements of type T.
template <element_type T, extent Count> constexpr auto linspace(T first, T last) { return linspace<Count>(first, last); }
/// All products of an element of a and one of b, both vectors.
template <detail::operand A, detail::operand B>
constexpr auto outer(A const& a, B const& b, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::outer_fn{}, a, b);
}
/// The cross product of vectors of three components, along the last axis.
template <detail::operand A, detail::operand B>
constexpr auto cross(A const& a, B const& b, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::cross_fn{}, a, b);
}

} // namespace cotangent

#endif
