// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_TABLES_INTERPOLATION_HPP
#define COTANGENT_OPS_TABLES_INTERPOLATION_HPP

#include <cotangent/ops/tables/search.hpp>

#include <source_location>

// Interpolation of tables, as formulas over the rows around a position: linear, cubic and monotone, on irregular and regular grids.

namespace cotangent {

/// The curve between the rows of a table: straight lines; cubic polynomials with the slopes of parabolas through three rows; or
/// with the limited slopes of Fritsch and Carlson, which keep a monotone table monotone.
enum class interpolation { linear, cubic, monotone };
/// Beyond the ends of a table: its first and last value, or the polynomials of its ends.
enum class outside { constant, extrapolate };
/// The options of `interp` and `map_coordinates`.
struct table {
  interpolation kind = interpolation::linear;
  outside ends = outside::constant;
};

namespace extend {

/// The slope in the middle of three rows: of the parabola through them, or limited. h, d: distances and slopes of both intervals.
constexpr term inner_slope(bool monotone, term h0, term h1, term d0, term d1) {
  if (!monotone) return (h1 * d0 + h0 * d1) / (h0 + h1);
  term const rises = (d0 > 0 && d1 > 0) || (d0 < 0 && d1 < 0);
  term const one = constant_like(d0, 1), a = select(rises, d0, one), b = select(rises, d1, one);
  term const w0 = h0 + 2 * h1, w1 = 2 * h0 + h1;
  return select(rises, (w0 + w1) / (w0 / a + w1 / b), constant_like(d0, 0));
}
/// The slope at the outer row of the first of two intervals: of the parabola, or limited.
constexpr term end_slope(bool monotone, term h0, term h1, term d0, term d1) {
  term const slope = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1);
  if (!monotone) return slope;
  term const zero = constant_like(d0, 0), most = 3 * d0;
  term const turns = (d0 > 0 && slope <= 0) || (d0 < 0 && slope >= 0) || d0 == 0;
  term const falls = (d0 > 0 && d1 < 0) || (d0 < 0 && d1 > 0);
  term const steep = falls && ((d0 > 0 && slope > most) || (d0 < 0 && slope < most));
  return select(turns, zero, select(steep, most, slope));
}

/// A position of a table: the interval after row `at`, and the rest t in units of its length.
struct interval {
  term at, last; // the last row
  term t;

  /// Rows of a table, from the first row of the interval.
  constexpr term row(term values, int by) const {
    if (by == 0) return gather(values, at);
    return gather(values, bounded(at + by, 0 * at, last));
  }
  /// `length(k)` is the length of the interval that begins at row at + k, with the axes of rows.
  constexpr term curve(term values, interpolation kind, auto const& length) const {
    term const s = beside_rows(t, values), y0 = row(values, 0), y1 = row(values, 1);
    term const line = (1 - s) * y0 + s * y1;
    if (kind == interpolation::linear || values.dims().size[0] == 1 || values.dims().size[0] == 2) return line;
    bool const monotone = kind == interpolation::monotone;
    term const one = constant_like(t, 1);
    term const is_first = beside_rows(at == 0, values), is_last = beside_rows(at + 1 >= last, values);
    // intervals that the table lacks have length 1, and the slope of this one
    term const h = length(0), before = select(is_first, beside_rows(one, values), length(-1)), behind = select(is_last, beside_rows(one, values), length(1));
    term const apart = y1 - y0, d = apart / h;
    auto const slope = [&](term missing, term difference, term over) { return select(missing, d, difference / over); };
    term const d_before = slope(is_first, y0 - row(values, -1), before), d_behind = slope(is_last, row(values, 2) - y1, behind);
    term const m0 = select(is_first, select(is_last, d, end_slope(monotone, h, behind, d, d_behind)), inner_slope(monotone, before, h, d_before, d));
    term const m1 = select(is_last, select(is_first, d, end_slope(monotone, h, before, d, d_before)), inner_slope(monotone, h, behind, d, d_behind));
    return line + s * (1 - s) * ((1 - s) * (h * m0 - apart) + s * (apart - h * m1));
  }
};

/// The position in a regular grid: distances are 1, the first row is at 0, and the last one (int64) is `last`.
constexpr interval regular_interval(term x, term last, outside ends) {
  term const zero = constant_like(x, 0);
  term const end = broadcast_to(convert(last, x.type()), x.shape_id());
  if (ends == outside::constant) x = select(x < 0, zero, select(x > end, end, x));
  term const begin = bounded(apply<op::floor>(select(x == x, x, zero)), zero, end - 1); // (no NaN becomes an integer)
  return {convert(begin, element::int64), broadcast_to(last, x.shape_id()), x - begin};
}

} // namespace extend

namespace detail {

template <table How> struct interp_fn {
  static constexpr char const* name = "interp";
  using uses = table_operations;
  constexpr term operator()(term x, term xs, term ys) const {
    builder& b = *x.b;
    if (xs.rank() != 1) return b.refuse<refusals::sorted_rank>(1, xs.rank(), b.place), x;
    if (!extend::is_table(ys, 1) || !extend::is_table(xs, 1)) return x;
    dimension const rows = xs.dims().size[0];
    if (rows != ys.dims().size[0]) return b.refuse<refusals::table_extents>(rows, ys.dims().size[0], b.place), x;
    term const wide_last = extend::broadcast_to(extend::last_row(xs, 0), x.shape_id()), zero = 0 * wide_last;
    if (How.ends == outside::constant) {
      term const first = extend::gather(xs, zero), final = extend::gather(xs, wide_last);
      if (b.failed().why != nullptr) return x;
      x = extend::select(x < first, first, extend::select(x > final, final, x));
    }
    term const behind = op::searchsorted::of(xs, x, true);
    if (b.failed().why != nullptr) return x;
    extend::interval at{extend::bounded(behind - 1, zero, wide_last - 1), wide_last, x};
    term const x0 = at.row(xs, 0), h = at.row(xs, 1) - x0, one = extend::constant_like(h, 1);
    at.t = (x - x0) / extend::select(h > 0, h, one); // (equal positions, and tables of one row)
    auto const length = [&](int k) {
      term const far = k == 0 ? extend::select(h > 0, h, one) : at.row(xs, k + 1) - at.row(xs, k);
      return extend::beside_rows(far, ys);
    };
    return at.curve(ys, How.kind, length);
  }
};

/// On regular grids of 1 to 3 axes, at coordinates in units of their distances.
template <table How> struct map_coordinates_fn {
  static constexpr char const* name = "map_coordinates";
  constexpr term operator()(term values, term x) const {
    if (!extend::is_table(values, 1)) return values;
    extend::interval const at = extend::regular_interval(x, extend::last_row(values, 0), How.ends);
    return at.curve(values, How.kind, [&](int) { return extend::beside_rows(extend::constant_like(x, 1), values); });
  }
  template <class... Term> constexpr term operator()(term values, term x, Term... more) const {
    constexpr int axes = 1 + sizeof...(Term);
    builder& b = *values.b;
    if (!extend::is_table(values, axes)) return values;
    term all[]{x, more...};
    std::int32_t shape = x.shape_id();
    for (term const& c : all)
      if (shape != none) shape = extend::broadcast_shape(b, shape, c.shape_id());
    if (shape == none) return values;
    extend::interval at[axes]{};
    for (int k = 0; k < axes; ++k) at[k] = extend::regular_interval(extend::broadcast_to(all[k], shape), extend::last_row(values, k), How.ends);
    // the axes of the grid as one
    term flat = values;
    for (int k = 1; k < axes; ++k) flat = extend::merge_axes(flat);
    term y{};
    for (unsigned corner = 0; corner < 1u << axes; ++corner) {
      term place{}, weight{};
      for (int k = 0; k < axes; ++k) {
        bool const next = (corner >> k & 1u) != 0;
        term const i = next ? extend::bounded(at[k].at + 1, 0 * at[k].at, at[k].last) : at[k].at;
        term const w = next ? at[k].t : 1 - at[k].t;
        place = k == 0 ? i : place * (extend::last_row(values, k) + 1) + i;
        weight = k == 0 ? w : weight * w;
      }
      if (b.failed().why != nullptr) return values;
      term const part = extend::beside_rows(weight, flat) * extend::gather(flat, place);
      y = corner == 0 ? part : y + part;
    }
    return y;
  }
};

} // namespace detail

/// The value at x of a table ys at increasing positions xs; `ct::interp<ct::table{.kind = ct::interpolation::cubic}>(x, xs, ys)`.
template <table How = table{}, detail::operand X, detail::operand P, detail::operand Y>
constexpr auto interp(X const& x, P const& xs, Y const& ys, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::interp_fn<How>{}, x, xs, ys);
}
/// The value of a table at a coordinate of its first axis, 0 at the first row and 1 at the second; or at two or three coordinates,
/// linear along each.
template <table How = table{}, detail::operand V, detail::operand X>
constexpr auto map_coordinates(V const& values, X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::map_coordinates_fn<How>{}, values, x);
}
template <table How = table{}, detail::operand V, detail::operand X, detail::operand Y>
  requires(How.kind == interpolation::linear)
constexpr auto map_coordinates(V const& values, X const& x, Y const& y, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::map_coordinates_fn<How>{}, values, x, y);
}
template <table How = table{}, detail::operand V, detail::operand X, detail::operand Y, detail::operand Z>
  requires(How.kind == interpolation::linear)
constexpr auto map_coordinates(V const& values, X const& x, Y const& y, Z const& z,
                               std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::map_coordinates_fn<How>{}, values, x, y, z);
}

} // namespace cotangent

#endif
