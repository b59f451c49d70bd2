// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_FUNCTIONS_SORTING_HPP
#define COTANGENT_OPS_FUNCTIONS_SORTING_HPP

#include <cotangent/graph/whole.hpp>
#include <cotangent/ops/along.hpp>
#include <cotangent/ops/indexing.hpp>
#include <cotangent/ops/movement.hpp>

#include <cstdint>
#include <source_location>
#include <utility>

// The order of elements along an axis: argsort; sort and top_k, which gather by it.

namespace cotangent {
namespace detail {

/// The base of operations that give positions (int64) along the last axis, one for each element: `Self::row(x, y, n)` computes those of n
/// elements.
template <class Self> struct positions_in_rows : extend::primitive<operation_kind::whole, 1> {
  static constexpr derivative_kind derivative = derivative_kind::zero;
  static constexpr void infer(inference& r) {
    r.like(0);
    if (r.type == element::boolean) return r.refuse<refusals::element_not_numeric>();
    if (r.dims(0).rank == 0) return r.refuse<refusals::axis_out_of_range>(0, 0);
    r.type = element::int64;
  }
  static constexpr void batch(batch_rule& r) { r.give(detail::push(info_of<Self>(), {r.each()})); }
  static constexpr void whole(whole_call const& c) {
    detail::by_element(c.operand[0].type, [&]<class T>() {
      T const* const x = c.operand[0].template data<T>();
      std::int64_t* const y = c.result.template data<std::int64_t>();
      std::int64_t const n = c.result.size[c.result.rank - 1], all = c.result.count();
      for (std::int64_t at = 0; at < all; at += n) Self::row(x + at, y + at, n);
    });
  }
};

} // namespace detail

namespace op {

/// The positions of the elements along the last axis, from the smallest on; equal elements in their order; NaN last.
/// Adjoint: 0. Cost: a pass for each byte of an element; 4 elements of the workspace for each of a row. Rows below 128 elements: n log n
/// comparisons in place (heapsort; up to 16 by insertion).
struct argsort : detail::positions_in_rows<argsort> {
  static constexpr char const* name = "argsort";
  static constexpr float cost = 20;
  template <class T> static constexpr bool before(T const* x, std::int64_t a, std::int64_t b) {
    if (x[a] < x[b]) return true;
    if (x[b] < x[a]) return false;
    bool const a_nan = x[a] != x[a], b_nan = x[b] != x[b];
    return a_nan == b_nan ? a < b : b_nan;
  }
  /// Moves the position at `i` of a heap down to where no position below it is later.
  template <class T> static constexpr void sink(T const* x, std::int64_t* y, std::int64_t i, std::int64_t n) {
    for (std::int64_t child = 2 * i + 1; child < n; i = child, child = 2 * i + 1) {
      if (child + 1 < n && before(x, y[child], y[child + 1])) ++child;
      if (!before(x, y[i], y[child])) return;
      std::int64_t const up = y[child];
      y[child] = y[i], y[i] = up;
    }
  }
  template <class T> static constexpr void row(T const* x, std::int64_t* y, std::int64_t n) {
    for (std::int64_t k = 0; k < n; ++k) y[k] = k;
    if (n <= 16) {
      for (std::int64_t k = 1, at = 0; k < n; ++k) {
        for (at = k; at > 0 && before(x, k, y[at - 1]); --at) y[at] = y[at - 1];
        y[at] = k;
      }
      return;
    }
    for (std::int64_t k = n / 2; k-- > 0;) sink(x, y, k, n);
    for (std::int64_t k = n; k-- > 1;) {
      std::int64_t const last = y[k];
      y[k] = y[0], y[0] = last;
      sink(x, y, 0, k);
    }
  }
  static constexpr double flops(extend::graph_view const& g, extend::node const& n) {
    extend::dimensions const& d = g.shape(g.result(n));
    double product = 20;
    for (int k = 0; k < d.rank; ++k) product *= d.size[k] < 0 ? 1. : static_cast<double>(d.size[k]);
    return product;
  }
};

} // namespace op

namespace detail {
using sorting_operations = operations<op::argsort>;
} // namespace detail

namespace detail {

struct argsort_fn {
  static constexpr char const* name = "argsort";
  using emits = operations<>;
  static constexpr element gives = element::int64;
  static constexpr term of(auto x, int axis) {
    int const last = x.rank() - 1;
    return extend::move_axis(extend::apply<op::argsort>(extend::move_axis(x, axis, last)), last, axis);
  }
};
/// The elements of the last axis at these positions of it.
constexpr term taken_along(auto x, auto positions) {
  builder& b = *x.b;
  dimensions const from = positions.dims();
  dimension rows = 1;
  for (int k = 0; k + 1 < from.rank; ++k) rows = b.product(rows, from.size[k]);
  if (from.rank == 1) return extend::gather(x, positions);
  // of all rows as one line: position + row n
  dimensions line, column, table;
  line.rank = 1, line.size[0] = b.count(x.dims());
  column.rank = 2, column.size[0] = rows, column.size[1] = 1;
  table.rank = 2, table.size[0] = rows, table.size[1] = from.size[from.rank - 1];
  auto const row = op::reshape::of(extend::iota(b, element::int64, rows), b.shape(column));
  auto const width = extend::convert(extend::count_of(x, 1u << (x.rank() - 1), b.shape(dimensions{})), element::int64);
  auto const at = op::reshape::of(positions, b.shape(table)) + row * width;
  return op::reshape::of(extend::gather(op::reshape::of(x, b.shape(line)), at), positions.shape_id());
}
struct sort_fn {
  static constexpr char const* name = "sort";
  using emits = operations<>;
  static constexpr term of(auto x, int axis) {
    int const last = x.rank() - 1;
    auto const line = extend::move_axis(x, axis, last);
    auto const order = extend::apply<op::argsort>(line);
    return x.b->failed().why != nullptr ? x : extend::move_axis(taken_along(line, order), last, axis);
  }
};
/// x in the opposite order: -x; of integers -1 - x, which cannot overflow.
constexpr term order_reversed(auto x) {
  return is_floating(x.type()) ? term(-x) : term(extend::constant_like(x, -1) - x);
}
struct top_positions {
  static constexpr char const* name = "top_k";
  using emits = operations<>;
  static constexpr element gives = element::int64;
  static constexpr term of(number_list const& count, auto x) {
    if (x.rank() == 0) return axis_of(x, 0), x;
    return extend::slice(extend::apply<op::argsort>(order_reversed(x)), x.rank() - 1, 0, count[0]);
  }
};
struct top_values {
  static constexpr char const* name = "top_k";
  using emits = operations<>;
  static constexpr term of(number_list const& count, auto x) {
    auto const order = top_positions::of(count, x);
    return x.b->failed().why != nullptr ? x : taken_along(x, order);
  }
};

} // namespace detail

/// The positions (int64) of the elements along the last axis, or another one, from the smallest on; NaN last.
template <int Axis = -1, detail::operand X>
constexpr auto argsort(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axis<detail::argsort_fn, Axis>{}, x);
}
template <detail::expression X, detail::one_axis A>
constexpr auto argsort(X const& x, A axis, std::source_location where = std::source_location::current()) {
  return detail::lift_along<detail::argsort_fn>(where, x, axis);
}
/// The elements along the last axis, or another one, from the smallest on; NaN last. Adjoint: dy at the places they came from.
template <int Axis = -1, detail::operand X>
constexpr auto sort(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axis<detail::sort_fn, Axis>{}, x);
}
template <detail::expression X, detail::one_axis A>
constexpr auto sort(X const& x, A axis, std::source_location where = std::source_location::current()) {
  return detail::lift_along<detail::sort_fn>(where, x, axis);
}
/// The K largest elements of the last axis, from the largest on, NaN last, and their positions: a pair.
template <std::int64_t K, detail::operand X>
  requires(K > 0)
constexpr auto top_k(X const& x, std::source_location where = std::source_location::current()) {
  return std::pair(detail::lift(where, detail::with_constants<detail::top_values, K>{}, x),
                   detail::lift(where, detail::with_constants<detail::top_positions, K>{}, x));
}

} // namespace cotangent

#endif
