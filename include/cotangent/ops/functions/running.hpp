// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_FUNCTIONS_RUNNING_HPP
#define COTANGENT_OPS_FUNCTIONS_RUNNING_HPP

#include <cotangent/ops/functions/composed.hpp>
#include <cotangent/ops/functions/sorting.hpp>
#include <cotangent/ops/scan.hpp>

#include <cstdint>
#include <limits>
#include <source_location>

// Extrema up to each element, and of segments, as gathers by their positions; the logarithm of running sums of exponentials.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(segment_numbers, equal, extent_of_first_axis, number_of_segment_indices, "cotangent: segment_max, segment_min: there must be one segment for each position of the first axis")
// clang-format on
} // namespace refusals

namespace op {

/// The position of the largest element of the last axis up to each; the first of equals; a NaN from its position on.
/// Adjoint: 0.
struct running_argmax : detail::positions_in_rows<running_argmax> {
  static constexpr char const* name = "running_argmax";
  static constexpr float cost = 2;
  template <class T> static constexpr void row(T const* x, std::int64_t* y, std::int64_t n) {
    constexpr int block = 16; // rarely has a larger element
    T best = n > 0 ? x[0] : T{};
    for (std::int64_t k = 0, most = 0; k < n;) {
      bool none = k + block <= n;
      for (int j = 0; none && j < block; j += 4) none = (x[k + j] <= best) & (x[k + j + 1] <= best) & (x[k + j + 2] <= best) & (x[k + j + 3] <= best);
      for (std::int64_t const end = k + block < n ? k + block : n; k < end; ++k) {
        if (!none && best == best && !(x[k] <= best)) best = x[k], most = k;
        y[k] = most;
      }
    }
  }
};

/// From x [..., n, columns] and segments [..., n] (int64): the row of the largest element of each segment and column,
/// [..., segments, columns]; the first of equals; that of a NaN; n where a segment has none. Attribute: the number of segments. A
/// segment that is out of range makes the first result (n + 1) columns, which a gather reports.
/// Adjoint: 0.
struct segment_argmax : extend::primitive<operation_kind::whole, 2> {
  static constexpr char const* name = "segment_argmax";
  static constexpr float cost = 2;
  static constexpr derivative_kind derivative = derivative_kind::zero;
  static constexpr void infer(inference& r) {
    r.like(0);
    extend::dimensions d = r.dims(0);
    extend::dimensions const of = r.dims(1);
    if (r.type == element::boolean) return r.refuse<refusals::element_not_numeric>();
    if (r.tensor(1).type != element::int64) return r.refuse<refusals::index_not_integer>();
    if (d.rank < 2 || of.rank + 1 != d.rank) return r.refuse<refusals::axis_out_of_range>(of.rank, d.rank);
    for (int k = 0; k < of.rank; ++k)
      if (d.size[k] != of.size[k]) return r.refuse<refusals::segment_numbers>(d.size[k], of.size[k]);
    d.size[d.rank - 2] = r.attribute[0];
    r.result(element::int64, d);
  }
  static constexpr void batch(batch_rule& r) {
    r.give(detail::push(info_of<segment_argmax>(), {r.every(0), r.every(1)}, {r.attribute()}));
  }
  template <class T> static constexpr void compute(whole_call const& c) {
    int const rank = c.result.rank;
    std::int64_t const rows = c.operand[0].size[rank - 2], columns = c.result.size[rank - 1], segments = c.result.size[rank - 2];
    std::int64_t const stack = segments * columns > 0 ? c.result.count() / (segments * columns) : 0;
    for (std::int64_t k = 0; k < stack; ++k)
      one(c.operand[0].template data<T>() + k * rows * columns, c.operand[1].template data<std::int64_t>() + k * rows,
          c.result.template data<std::int64_t>() + k * segments * columns, rows, columns, segments);
  }
  template <class T>
  static constexpr void one(T const* x, std::int64_t const* segment, std::int64_t* y, std::int64_t rows, std::int64_t columns, std::int64_t segments) {
    for (std::int64_t k = 0; k < segments * columns; ++k) y[k] = rows;
    bool outside = false;
    for (std::int64_t r = 0; r < rows; ++r) {
      if (segment[r] < 0 || segment[r] >= segments) {
        outside = true;
        continue;
      }
      for (std::int64_t k = 0; k < columns; ++k) {
        std::int64_t& most = y[segment[r] * columns + k];
        T const now = x[r * columns + k], before = most == rows ? now : x[most * columns + k];
        if (most == rows || (before == before && !(now <= before))) most = r;
      }
    }
    if (outside) y[0] = (rows + 1) * columns;
  }
  static constexpr void whole(whole_call const& c) { detail::by_element(c.operand[0].type, [&]<class T>() { compute<T>(c); }); }
};

} // namespace op

namespace detail {
using running_operations = operations<op::running_argmax, op::segment_argmax>;
} // namespace detail

namespace detail {

template <bool Least> struct running_extremum {
  static constexpr char const* name = Least ? "cummin" : "cummax";
  using emits = operations<>;
  static constexpr term of(auto x, int axis) {
    int const last = x.rank() - 1;
    auto const line = extend::move_axis(x, axis, last), from = Least ? order_reversed(line) : line;
    auto const at = extend::apply<op::running_argmax>(from);
    return x.b->failed().why != nullptr ? x : extend::move_axis(taken_along(line, at), last, axis);
  }
};
struct logcumsumexp_kind {
  static constexpr char const* name = "logcumsumexp";
  using emits = operations<>;
  /// The sums relative to the largest element so far: s[k] = s[k - 1] exp(m[k - 1] - m[k]) + exp(x[k] - m[k]).
  static constexpr term of(auto x, int axis) {
    auto const highest = extend::stop_gradient(running_extremum<false>::of(x, axis));
    if (x.b->failed().why != nullptr) return x;
    auto const infinite = extend::apply<op::abs>(highest) > largest_of(highest); // their difference would be NaN
    auto const zero = extend::constant_like(x, 0), one = extend::constant_like(x, 1);
    auto const m = extend::select(infinite, zero, highest);
    auto const last = op::shift::of(highest, axis, 0, 0);
    auto const before = extend::select(extend::apply<op::abs>(last) > largest_of(last), m, last); // (s is 0 there, or infinite)
    auto const s = op::recurrence::of(extend::apply<op::exp>(before - m), extend::apply<op::exp>(x - m), axis, 0, 0);
    auto const still_empty = s == 0; // all elements so far are -inf: no derivative goes through the logarithm
    return extend::select(still_empty, highest, m + extend::apply<op::log>(extend::select(still_empty, one, s)));
  }
};

/// The largest value of an element, or the smallest: an infinity, or the last integer.
constexpr term bound_of(builder& b, element e, std::int32_t shape, bool largest) {
  if (is_floating(e)) return extend::constant(b, e, shape, largest ? math::detail::infinity<double> : -math::detail::infinity<double>);
  std::int64_t const most = e == element::int32 ? INT32_MAX : INT64_MAX, bits = largest ? most : -most - 1;
  return push_as(info_of<op::constant>(), b, {}, &bits, 1, e, shape);
}
/// True if there is one segment for each row; else the failure is recorded.
constexpr bool has_segments(term x, term segments) {
  builder& b = *x.b;
  if (!is_index(segments.type())) return b.refuse<refusals::index_not_integer>(0, 0, b.place), false;
  if (x.rank() == 0 || segments.rank() != 1) return b.refuse<refusals::axis_out_of_range>(0, x.rank(), b.place), false;
  dimension const n = x.dims().size[0], given = segments.dims().size[0];
  if (n != given) return b.refuse<refusals::segment_numbers>(n, given, b.place), false;
  return true;
}
/// The largest or the smallest rows of `count` segments.
template <bool Least> constexpr term segment_extremum(auto x, auto segments, dimension count) {
  if (!has_segments(x, segments)) return x;
  builder& b = *x.b;
  dimensions const from = x.dims();
  dimensions flat, to = from;
  flat.rank = 2, flat.size[0] = from.size[0], flat.size[1] = 1;
  for (int k = 1; k < from.rank; ++k) flat.size[1] = b.product(flat.size[1], from.size[k]);
  to.size[0] = count;
  auto const rows = op::reshape::of(x, b.shape(flat));
  std::int64_t const attribute = count;
  auto const at = detail::push(info_of<op::segment_argmax>(), {Least ? order_reversed(rows) : rows, extend::convert(segments, element::int64)}, {attribute});
  if (b.failed().why != nullptr) return x;
  flat.size[0] = 1; // what empty segments have
  auto const nothing = bound_of(b, x.type(), b.shape(flat), Least);
  auto const taken = taken_along(extend::transpose(joined_along(0, rows, nothing)), extend::transpose(at));
  return op::reshape::of(extend::transpose(taken), b.shape(to));
}
template <bool Least> struct segment_extremum_kind {
  static constexpr char const* name = Least ? "segment_min" : "segment_max";
  using emits = operations<>;
  static constexpr term of(number_list const& count, auto x, auto segments) { return segment_extremum<Least>(x, segments, count[0]); }
};

} // namespace detail

/// The largest element up to each, along the last axis or another one: `cummax(x)`, `cummax<0>(x)`. Adjoint: dy to the first of them.
template <int Axis = -1, detail::operand X>
constexpr auto cummax(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axis<detail::running_extremum<false>, Axis>{}, x);
}
template <detail::expression X, detail::one_axis A>
constexpr auto cummax(X const& x, A axis, std::source_location where = std::source_location::current()) {
  return detail::lift_along<detail::running_extremum<false>>(where, x, axis);
}
/// The smallest element up to each, along the last axis or another one. Adjoint: dy to the first of them.
template <int Axis = -1, detail::operand X>
constexpr auto cummin(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axis<detail::running_extremum<true>, Axis>{}, x);
}
template <detail::expression X, detail::one_axis A>
constexpr auto cummin(X const& x, A axis, std::source_location where = std::source_location::current()) {
  return detail::lift_along<detail::running_extremum<true>>(where, x, axis);
}
/// log(cumsum(exp(x))) along the last axis or another one, without overflow.
template <int Axis = -1, detail::operand X>
constexpr auto logcumsumexp(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axis<detail::logcumsumexp_kind, Axis>{}, x);
}
template <detail::expression X, detail::one_axis A>
constexpr auto logcumsumexp(X const& x, A axis, std::source_location where = std::source_location::current()) {
  return detail::lift_along<detail::logcumsumexp_kind>(where, x, axis);
}
/// The largest element of each of Count segments: row i of x belongs to segment `segments[i]`. Of an empty one: -infinity.
template <extent Count, detail::operand X, detail::operand S>
constexpr auto segment_max(X const& x, S const& segments, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::with_extent<detail::segment_extremum_kind<false>, Count>{}, x, segments);
}
/// The smallest element of each of Count segments. Of an empty one: infinity.
template <extent Count, detail::operand X, detail::operand S>
constexpr auto segment_min(X const& x, S const& segments, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::with_extent<detail::segment_extremum_kind<true>, Count>{}, x, segments);
}

} // namespace cotangent

#endif
