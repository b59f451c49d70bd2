// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_TABLES_SEARCH_HPP
#define COTANGENT_OPS_TABLES_SEARCH_HPP

#include <cotangent/graph/whole.hpp>
#include <cotangent/ops/function.hpp>
#include <cotangent/ops/indexing.hpp>

#include <cstdint>
#include <source_location>

// Positions in sorted vectors; rows of tables at computed positions.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(sorted_rank, equal, rank_needed, rank_of_operand, "cotangent: tables: sorted positions, knots and coefficients of polynomials must be vectors")
COTANGENT_REFUSAL(table_rank, at_least, axes_needed, axes_of_table, "cotangent: tables: a table must have an axis for each coordinate")
COTANGENT_REFUSAL(table_extents, equal, extent_expected, extent_of_table, "cotangent: tables: the first axis of the values must have the extent that the positions or knots ask for")
COTANGENT_REFUSAL(table_too_small, at_least, rows_of_table_needed, rows_given, "cotangent: tables: a table must have a row, and a spline more rows than its degree")
COTANGENT_REFUSAL(polyval_extent, at_least, zero, extent_of_coefficients, "cotangent: polyval: the number of coefficients must be a number, not a name")
// clang-format on
} // namespace refusals

namespace op {

/// The number of elements of a sorted vector, operand 0, that lie before each element of operand 1, as int64. Attribute 0 counts
/// equal ones, too. Every number lies before NaN, and NaN equal each other, as in NumPy. Adjoint: 0. Cost: log n comparisons.
struct searchsorted : extend::primitive<operation_kind::whole, 2> {
  static constexpr char const* name = "searchsorted";
  static constexpr float cost = 10;
  static constexpr derivative_kind derivative = derivative_kind::zero;
  static constexpr void infer(inference& r) {
    r.like(1);
    if (r.tensor(0).type != r.tensor(1).type) return r.refuse<refusals::elements_differ>();
    if (r.type == element::boolean) return r.refuse<refusals::element_not_numeric>();
    if (r.dims(0).rank != 1) return r.refuse<refusals::sorted_rank>(1, r.dims(0).rank);
    r.type = element::int64;
  }
  static constexpr term of(term sorted, term x, bool right) { return detail::push(info_of<searchsorted>(), {sorted, x}, {right}); }
  static constexpr void batch(batch_rule& r) {
    bool const right = r.attribute(0) != 0;
    if (!r.has(0)) return r.give(of(r.x(0), r.each(1), right));
    // a vector for each row: by comparisons with all of its elements
    term const x = r.every(1);
    extend::dimensions column = x.dims(), line{x.rank() + 1, {r.rows}};
    if (column.rank == max_rank) return (void)r.b.refuse<refusals::rank_too_large>(column.rank + 1, max_rank, r.b.place);
    column.size[column.rank++] = 1;
    for (int k = 1; k < x.rank(); ++k) line.size[k] = 1;
    line.size[x.rank()] = r.x(0).dims().size[0];
    term const a = op::reshape::of(r.each(0), r.b.shape(line)), b = op::reshape::of(x, r.b.shape(column));
    term const before = right ? a <= b || b != b : a < b || (b != b && a == a);
    r.give(extend::sum(extend::convert(before, element::int64), 1u << x.rank()));
  }

  template <class T> static constexpr void compute(whole_call const& c) {
    T const* const sorted = c.operand[0].template data<T>();
    T const* const x = c.operand[1].template data<T>();
    std::int64_t* const y = c.result.template data<std::int64_t>();
    bool const right = c.attribute[0] != 0;
    for (std::int64_t i = 0, n = c.result.count(); i < n; ++i) {
      std::int64_t first = 0, count = c.operand[0].size[0];
      while (count > 0) {
        std::int64_t const half = count / 2;
        T const a = sorted[first + half];
        bool const nan = x[i] != x[i], before = right ? a <= x[i] || nan : a < x[i] || (nan && a == a);
        if (before) first += half + 1, count -= half + 1;
        else count = half;
      }
      y[i] = first;
    }
  }
  static constexpr void whole(whole_call const& c) {
    switch (c.operand[0].type) {
    case element::float32: return compute<float>(c);
    case element::float64: return compute<double>(c);
    case element::int32: return compute<std::int32_t>(c);
    case element::int64: return compute<std::int64_t>(c);
    case element::boolean:
    case element::float16:
    case element::bfloat16: return; // (the builder refuses them)
    }
  }
  static constexpr double flops(extend::graph_view const& g, extend::node const& n) {
    extend::dimensions const& d = g.shape(g.result(n));
    double product = 10;
    for (int k = 0; k < d.rank; ++k) product *= d.size[k] < 0 ? 1. : static_cast<double>(d.size[k]);
    return product;
  }
};

} // namespace op

namespace detail {
using table_operations = operations<op::searchsorted>;
} // namespace detail

namespace extend {

/// The last position (int64) along an axis, whose extent may be a name.
constexpr term last_row(term table, int axis) {
  builder& b = *table.b;
  return count_of(iota(b, element::int64, table.dims().size[axis]), 1u, b.shape(dimensions{})) - 1;
}
/// x, but not below `low`, and not above `high`: as integers. `high` may be below `low`, which counts then.
constexpr term bounded(term x, term low, term high) {
  term const below = select(x > high, high, x);
  return select(below < low, low, below);
}
/// True if a table has that many leading axes, each with enough rows; else the failure is recorded.
constexpr bool is_table(term table, int axes, dimension rows = 1) {
  builder& b = *table.b;
  if (b.failed().why != nullptr) return false;
  if (table.rank() < axes) return b.refuse<refusals::table_rank>(axes, table.rank(), b.place), false;
  for (int k = 0; k < axes; ++k)
    if (dimension const n = table.dims().size[k]; n >= 0 && n < rows)
      return b.refuse<refusals::table_too_small>(rows, n, b.place), false;
  return true;
}
/// x with axes of size 1 behind, one for each axis of the rows of a table.
constexpr term beside_rows(term x, term table, int axes = 1) {
  dimensions d = x.dims();
  if (table.rank() == axes || x.b->failed().why != nullptr) return x;
  if (d.rank + table.rank() - axes > max_rank)
    return x.b->refuse<refusals::rank_too_large>(d.rank + table.rank() - axes, max_rank, x.b->place), x;
  for (int k = axes; k < table.rank(); ++k) d.size[d.rank++] = 1;
  return op::reshape::of(x, x.b->shape(d));
}

} // namespace extend

namespace detail {
template <bool Right> struct searchsorted_fn {
  static constexpr char const* name = "searchsorted";
  static constexpr element gives = element::int64;
  using uses = table_operations;
  constexpr term operator()(term sorted, term x) const { return op::searchsorted::of(sorted, x, Right); }
};
} // namespace detail

/// The sides of `searchsorted`: before equal elements, or behind them.
enum class side { left, right };

/// The positions (int64) where x would be inserted into a sorted vector: before equal elements, or behind them with `ct::side::right`.
template <side Side = side::left, detail::operand A, detail::operand X>
constexpr auto searchsorted(A const& sorted, X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::searchsorted_fn<Side == side::right>{}, sorted, x);
}

} // namespace cotangent

#endif
