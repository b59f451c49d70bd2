// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_TABLES_INTERPOLATION_HPP
#define COTANGENT_OPS_TABLES_INTERPOLATION_HPP

#include <cotangent/ops/tables/search.hpp>

#include <cstdint>
#include <source_location>

// Interpolation of tables, as formulas over the rows around a position: linear, cubic and monotone, on irregular and regular grids.

namespace cotangent {

/// The curve between the rows of a table: straight lines; cubic polynomials with the slopes of parabolas through three rows; or
/// with the limited slopes of Fritsch and Carlson, which keep a monotone table monotone.
enum class interpolation { linear, cubic, monotone };
/// Beyond the ends of a table: its first and last value, or the polynomials of its ends.
enum class outside { constant, extrapolate };
/// The options of `interp`, `interpn` and `map_coordinates`.
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

/// A position along an axis of a table: the interval after row `at`, and the rest t in units of its length.
struct interval {
  term at, last;     // the last row
  term t;
  term positions{};  // of the rows; absent if the distances are 1
  bool ends_here = true; // false: t may be below 0 or above 1

  /// A row from `at` on, or the first or last one.
  constexpr term row(int by) const { return by == 0 ? at : bounded(at + by, 0 * at, last); }
  constexpr term row_of(term values, int by) const { return gather(values, row(by)); }
  /// The length of the interval after row at + by; 1 if there is none.
  constexpr term length(int by) const {
    term const one = constant_like(t, 1);
    if (!positions.present()) return one;
    term const apart = row_of(positions, by + 1) - row_of(positions, by);
    return select(by == 0 ? apart > 0 : by < 0 ? at > 0 : at + 1 < last, apart, one);
  }
  /// The line through both rows. Far beyond them the terms of the weighted mean would cancel.
  constexpr term line_of(term s, term y0, term y1) const {
    if (ends_here) return (1 - s) * y0 + s * y1;
    term const apart = y1 - y0;
    return select(s < 1, y0 + s * apart, y1 + (s - 1) * apart);
  }
  /// The curve through the rows value(-1), value(0), value(1), value(2), where `wide` gives numbers the axes of rows. `rows` is the
  /// number of rows of the axis, if it is known.
  constexpr term curve(interpolation kind, dimension rows, auto const& value, auto const& wide) const {
    term const s = wide(t), y0 = value(0), y1 = value(1), line = line_of(s, y0, y1);
    if (kind == interpolation::linear || rows == 1 || rows == 2) return line;
    bool const monotone = kind == interpolation::monotone;
    // intervals that the table lacks have the slope of this one
    term const is_first = wide(at == 0), is_last = wide(at + 1 >= last);
    term const h = wide(length(0)), before = wide(length(-1)), behind = wide(length(1));
    term const apart = y1 - y0, d = apart / h;
    term const d_before = select(is_first, d, (y0 - value(-1)) / before), d_behind = select(is_last, d, (value(2) - y1) / behind);
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
  term const t = ends == outside::constant ? x - begin : select(end > 0, x - begin, zero); // (one row is a constant)
  return {convert(begin, element::int64), broadcast_to(last, x.shape_id()), t, {}, ends == outside::constant};
}
/// The position among increasing ones. Precondition: xs is a vector of at least one. An interval without length, at an end of the
/// table, is a step from its first row to its second one.
constexpr interval searched_interval(term x, term xs, outside ends) {
  term const last = broadcast_to(last_row(xs, 0), x.shape_id()), start = 0 * last;
  interval y{start, last, x, xs, ends == outside::constant};
  if (x.b->failed().why != nullptr) return y;
  y.at = bounded(op::searchsorted::of(xs, x, true) - 1, start, last - 1);
  term const from = y.row_of(xs, 0), apart = y.row_of(xs, 1) - from, zero = constant_like(x, 0), one = constant_like(x, 1);
  term const step = select(x == x, select(x < from, zero, one), x);
  y.t = select(apart > 0, (x - from) / y.length(0), step);
  if (ends == outside::constant) y.t = select(x < gather(xs, start), zero, select(x > gather(xs, last), one, y.t));
  return y;
}

/// The value of a table whose first `axes` axes are a grid, at a position on each of them.
constexpr term value_on_grid(interpolation kind, term values, interval const* positions, int axes) {
  term flat = values;
  for (int k = 1; k < axes; ++k) flat = merge_axes(flat);
  struct walk {
    interpolation kind;
    term values, flat;
    interval const* positions;
    int axes;
    /// Along axis k and the ones behind it, in row `place` of the axes before.
    constexpr term at(int k, term place) const {
      if (k == axes) return gather(flat, place);
      interval const& here = positions[k];
      auto const value = [&](int by) {
        return at(k + 1, k == 0 ? here.row(by) : place * (here.last + 1) + here.row(by));
      };
      return here.curve(kind, values.dims().size[k], value, [&](term x) { return beside_rows(x, flat); });
    }
  };
  if (values.b->failed().why != nullptr) return values;
  return walk{kind, values, flat, positions, axes}.at(0, term{});
}
/// The common shape of coordinates; `none` after a refusal.
constexpr std::int32_t common_shape(term const* x, int count) {
  std::int32_t shape = x[0].shape_id();
  for (int k = 1; k < count && shape != none; ++k) shape = broadcast_shape(*x[0].b, shape, x[k].shape_id());
  return shape;
}

} // namespace extend

namespace detail {

template <table How> struct interp_fn {
  static constexpr char const* name = "interp";
  using uses = table_operations;
  constexpr term operator()(term x, term xs, term ys) const {
    if (!positions_fit(xs, ys, 0) || !extend::is_table(ys, 1)) return x;
    extend::interval const at = extend::searched_interval(x, xs, How.ends);
    return extend::value_on_grid(How.kind, ys, &at, 1);
  }
  static constexpr bool positions_fit(term xs, term values, int axis) {
    builder& b = *xs.b;
    if (xs.rank() != 1) return b.refuse<refusals::sorted_rank>(1, xs.rank(), b.place), false;
    if (!extend::is_table(xs, 1) || !extend::is_table(values, axis + 1)) return false;
    dimension const rows = xs.dims().size[0], have = values.dims().size[axis];
    if (rows != have) b.refuse<refusals::table_extents>(rows, have, b.place);
    return rows == have;
  }
};

/// On regular grids of 1 to 3 axes, at coordinates in units of their distances.
template <table How> struct map_coordinates_fn {
  static constexpr char const* name = "map_coordinates";
  template <class... Term> constexpr term operator()(term values, Term... x) const {
    constexpr int axes = sizeof...(Term);
    term const all[]{x...};
    if (!extend::is_table(values, axes)) return values;
    std::int32_t const shape = extend::common_shape(all, axes);
    if (shape == none) return values;
    extend::interval at[axes]{};
    for (int k = 0; k < axes; ++k)
      at[k] = extend::regular_interval(extend::broadcast_to(all[k], shape), extend::last_row(values, k), How.ends);
    return extend::value_on_grid(How.kind, values, at, axes);
  }
};
/// On grids of 2 or 3 axes with positions for each.
template <table How> struct interpn_fn {
  static constexpr char const* name = "interpn";
  using uses = table_operations;
  constexpr term operator()(term values, term xs, term ys, term x, term y) const { return of<2>(values, {xs, ys}, {x, y}); }
  constexpr term operator()(term values, term xs, term ys, term zs, term x, term y, term z) const {
    return of<3>(values, {xs, ys, zs}, {x, y, z});
  }
  template <int Axes> static constexpr term of(term values, term const (&positions)[Axes], term const (&x)[Axes]) {
    if (!extend::is_table(values, Axes)) return values;
    for (int k = 0; k < Axes; ++k)
      if (!interp_fn<How>::positions_fit(positions[k], values, k)) return values;
    std::int32_t const shape = extend::common_shape(x, Axes);
    if (shape == none) return values;
    extend::interval at[Axes]{};
    for (int k = 0; k < Axes; ++k) at[k] = extend::searched_interval(extend::broadcast_to(x[k], shape), positions[k], How.ends);
    return extend::value_on_grid(How.kind, values, at, Axes);
  }
};

} // namespace detail

/// The value at x of a table ys at increasing positions xs; `ct::interp<ct::table{.kind = ct::interpolation::cubic}>(x, xs, ys)`.
template <table How = table{}, detail::operand X, detail::operand P, detail::operand Y>
constexpr auto interp(X const& x, P const& xs, Y const& ys, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::interp_fn<How>{}, x, xs, ys);
}
/// The value of a table at a coordinate of its first axis, 0 at the first row and 1 at the second; or at two or three coordinates.
template <table How = table{}, detail::operand V, detail::operand X>
constexpr auto map_coordinates(V const& values, X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::map_coordinates_fn<How>{}, values, x);
}
template <table How = table{}, detail::operand V, detail::operand X, detail::operand Y>
constexpr auto map_coordinates(V const& values, X const& x, Y const& y, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::map_coordinates_fn<How>{}, values, x, y);
}
template <table How = table{}, detail::operand V, detail::operand X, detail::operand Y, detail::operand Z>
constexpr auto map_coordinates(V const& values, X const& x, Y const& y, Z const& z,
                               std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::map_coordinates_fn<How>{}, values, x, y, z);
}
/// The value at (x, y) of a table on a grid with increasing positions xs and ys of its rows and columns; or of three axes.
template <table How = table{}, detail::operand P, detail::operand Q, detail::operand V, detail::operand X, detail::operand Y>
constexpr auto interpn(P const& xs, Q const& ys, V const& values, X const& x, Y const& y,
                       std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::interpn_fn<How>{}, values, xs, ys, x, y);
}
template <table How = table{}, detail::operand P, detail::operand Q, detail::operand R, detail::operand V, detail::operand X,
          detail::operand Y, detail::operand Z>
constexpr auto interpn(P const& xs, Q const& ys, R const& zs, V const& values, X const& x, Y const& y, Z const& z,
                       std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::interpn_fn<How>{}, values, xs, ys, zs, x, y, z);
}

} // namespace cotangent

#endif
