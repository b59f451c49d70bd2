// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_TABLES_SPLINES_HPP
#define COTANGENT_OPS_TABLES_SPLINES_HPP

#include <cotangent/ops/tables/interpolation.hpp>

#include <source_location>

// Polynomials by their coefficients, and B-splines.

namespace cotangent {
namespace detail {

struct polyval_fn {
  static constexpr char const* name = "polyval";
  constexpr term operator()(term c, term x) const {
    builder& b = *c.b;
    if (c.rank() != 1) return b.refuse<refusals::sorted_rank>(1, c.rank(), b.place), x;
    dimension const n = c.dims().size[0];
    if (n < 0) return b.refuse<refusals::polyval_extent>(0, n, b.place), x;
    if (c.type() != x.type()) return b.refuse<refusals::elements_differ>(0, 0, b.place), x;
    if (n == 0) return extend::constant_like(x, 0);
    term y = extend::broadcast_to(extend::at(c, 0, 0), x.shape_id());
    for (dimension k = 1; k < n; ++k) y = y * x + extend::at(c, 0, k);
    return y;
  }
};

/// The sum of the Degree + 1 rows around a position times their basis functions, by the recurrence of de Boor and Cox. `to_right(k)`
/// is the distance from x to the k-th knot behind the interval, `to_left(k)` that from the k-th knot before it.
template <int Degree> constexpr term spline_of(extend::interval const& at, term c, auto const& to_right, auto const& to_left, auto const& apart) {
  term basis[Degree + 1]{};
  basis[0] = extend::constant_like(at.t, 1);
  for (int j = 1; j <= Degree; ++j) {
    term saved{};
    for (int r = 0; r < j; ++r) {
      term const part = apart(basis[r], j, r);
      term const right = to_right(r + 1) * part;
      basis[r] = r == 0 ? right : saved + right;
      saved = to_left(j - r) * part;
    }
    basis[j] = saved;
  }
  term y{};
  for (int k = 0; k <= Degree; ++k) {
    term const part = extend::beside_rows(basis[k], c) * at.row_of(c, k);
    y = k == 0 ? part : y + part;
  }
  return y;
}
template <int Degree, outside Ends> struct bspline_fn {
  static constexpr char const* name = "bspline";
  using uses = table_operations;
  /// Uniform knots: the pieces are [0, 1], [1, 2], ...
  /// The last row. The run reports an index out of range if the extent has a name, and a call has too few rows.
  static constexpr term last_of_spline(term c) {
    term const last = extend::last_row(c, 0);
    if (c.dims().size[0] >= 0) return last;
    return last + extend::gather(extend::iota(*c.b, element::int64, 1), extend::convert(last < Degree, element::int64));
  }
  constexpr term operator()(term x, term c) const {
    if (!extend::is_table(c, 1, Degree + 1)) return x;
    term const last = last_of_spline(c);
    extend::interval at = extend::regular_interval(x, last - (Degree - 1), Ends);
    at.last = extend::broadcast_to(last, x.shape_id());
    return spline_of<Degree>(at, c, [&](int k) { return k - at.t; }, [&](int k) { return at.t + (k - 1); },
                             [](term basis, int j, int) { return basis * (1. / j); });
  }
  /// Knots of an increasing vector.
  constexpr term operator()(term x, term knots, term c) const {
    builder& b = *x.b;
    if (knots.rank() != 1) return b.refuse<refusals::sorted_rank>(1, knots.rank(), b.place), x;
    if (!extend::is_table(c, 1, Degree + 1)) return x;
    dimension const n = c.dims().size[0], have = knots.dims().size[0];
    if (b.sum(n, Degree + 1) != have) return b.refuse<refusals::table_extents>(have < 0 ? have : have - Degree - 1, n, b.place), x;
    term const count = extend::broadcast_to(last_of_spline(c) + 1, x.shape_id()), first = 0 * count + Degree;
    if (Ends == outside::constant) {
      term const begin = extend::gather(knots, first), end = extend::gather(knots, count);
      if (b.failed().why != nullptr) return x;
      x = extend::select(x < begin, begin, extend::select(x > end, end, x));
    }
    term const behind = op::searchsorted::of(knots, x, true);
    if (b.failed().why != nullptr) return x;
    // the last piece that is not empty ends at knot n
    term const end = extend::gather(knots, count);
    term const last = op::searchsorted::of(knots, end, false) - 1;
    term const piece = extend::bounded(behind - 1, first, last);
    extend::interval const at{piece - Degree, count - 1, x};
    auto const knot = [&](int k) { return extend::gather(knots, piece + k); };
    return spline_of<Degree>(at, c, [&](int k) { return knot(k) - x; }, [&](int k) { return x - knot(1 - k); },
                             [&](term basis, int j, int r) { return basis / (knot(r + 1) - knot(r + 1 - j)); });
  }
};

} // namespace detail

/// The polynomial with these coefficients, the highest power first.
template <detail::operand C, detail::operand X>
constexpr auto polyval(C const& coefficients, X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::polyval_fn{}, coefficients, x);
}
/// The B-spline of a degree, with uniform knots: n coefficients have n - Degree pieces, [0, 1], [1, 2], ...
template <int Degree = 3, outside Ends = outside::constant, detail::operand X, detail::operand C>
  requires(Degree >= 1 && Degree <= 7)
constexpr auto bspline(X const& x, C const& coefficients, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::bspline_fn<Degree, Ends>{}, x, coefficients);
}
/// The B-spline of a degree, with n + Degree + 1 increasing knots for n coefficients.
template <int Degree = 3, outside Ends = outside::constant, detail::operand X, detail::operand K, detail::operand C>
  requires(Degree >= 1 && Degree <= 7)
constexpr auto bspline(X const& x, K const& knots, C const& coefficients, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::bspline_fn<Degree, Ends>{}, x, knots, coefficients);
}

} // namespace cotangent

#endif
