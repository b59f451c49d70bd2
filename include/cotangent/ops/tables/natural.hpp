// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_TABLES_NATURAL_HPP
#define COTANGENT_OPS_TABLES_NATURAL_HPP

#include <cotangent/ops/scan.hpp>
#include <cotangent/ops/tables/interpolation.hpp>

#include <cstdint>
#include <source_location>

// Tridiagonal systems, and the natural cubic splines whose slopes they give.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(tridiagonal_extents, equal, extent_of_diagonal, extent_of_operand, "cotangent: tridiagonal_solve: the diagonals must have equal shapes [..., n], and the right side [..., n, m] or, for one system, [n]")
// clang-format on
} // namespace refusals

namespace op {

/// Solves A X = B for tridiagonal A, by elimination without exchanges of rows: operands are the elements below the diagonal, of which the
/// first is not read, the diagonal, the elements above, of which the last is not read, and B. The result has one more column, of the
/// eliminated elements above the diagonal, which has no derivative.
/// Adjoint: dB solves the transposed system; the diagonals get those of -dB X'.
struct tridiagonal_solve : extend::primitive<operation_kind::whole, 4> {
  static constexpr char const* name = "tridiagonal_solve";
  static constexpr float cost = 12;
  static constexpr void infer(inference& r) {
    r.like(3);
    extend::dimensions d = r.dims(3);
    for (int k = 0; k < 3; ++k) {
      extend::dimensions const of = r.dims(k);
      if (r.tensor(k).type != r.type) return r.refuse<refusals::elements_differ>();
      if (of.rank < 1 || of.rank + 1 != d.rank) return r.refuse<refusals::tridiagonal_extents>(d.rank - 1, of.rank);
      for (int j = 0; j < of.rank; ++j)
        if (of.size[j] != d.size[j]) return r.refuse<refusals::tridiagonal_extents>(of.size[j], d.size[j]);
    }
    d.size[d.rank - 1] = r.b.sum(d.size[d.rank - 1], 1);
    r.result(r.type, d);
  }
  template <class T> static constexpr void compute(whole_call const& c) {
    std::int64_t const columns = c.result.size[c.result.rank - 1], m = columns - 1, n = c.result.size[c.result.rank - 2];
    T const *below = c.operand[0].template data<T>(), *diagonal = c.operand[1].template data<T>(), *above = c.operand[2].template data<T>();
    T const* b = c.operand[3].template data<T>();
    T* x = c.result.template data<T>();
    std::int64_t const stack = n == 0 ? 0 : c.result.count() / (n * columns);
    for (std::int64_t s = 0; s < stack; ++s, below += n, diagonal += n, above += n, b += n * m, x += n * columns) {
      for (std::int64_t i = 0; i < n; ++i) {
        T* const row = x + i * columns;
        T const* const last = row - (i > 0 ? columns : 0);
        T const factor = i > 0 ? below[i] : T(0), pivot = i > 0 ? T(diagonal[i] - factor * last[m]) : diagonal[i];
        for (std::int64_t j = 0; j < m; ++j) row[j] = (i > 0 ? T(b[i * m + j] - factor * last[j]) : b[i * m + j]) / pivot;
        row[m] = i + 1 < n ? above[i] / pivot : T(0);
      }
      for (std::int64_t i = n - 1; i-- > 0;)
        for (std::int64_t j = 0; j < m; ++j) x[i * columns + j] -= x[i * columns + m] * x[(i + 1) * columns + j];
    }
  }
  static constexpr void whole(whole_call const& c) {
    if (c.result.type == element::float32) compute<float>(c);
    else compute<double>(c);
  }
  static constexpr term raw(term below, term diagonal, term above, term b) {
    return detail::push(info_of<tridiagonal_solve>(), {below, diagonal, above, b});
  }
  /// The solution: all columns but the last.
  static constexpr term solution(term y, term b) { return extend::slice(y, y.rank() - 1, 0, b.dims().size[b.rank() - 1]); }
  static constexpr term of(term below, term diagonal, term above, term b) {
    term const y = raw(below, diagonal, above, b);
    return b.b->failed().why != nullptr ? b : solution(y, b);
  }
  static constexpr term as_column(term x) {
    extend::dimensions d = x.dims();
    d.size[d.rank++] = 1;
    return reshape::of(x, x.b->shape(d));
  }
  static constexpr void adjoint(adjoint_rule& r) {
    term const b = r.x(3), x = solution(r.y(), b);
    std::int64_t const rows = b.rank() - 2;
    term const s = of(shift::of(r.x(2), rows, 0, 0), r.x(1), shift::of(r.x(0), rows, 1, 0), solution(r.dy(), b));
    auto const diagonal = [&](term y) { return -extend::sum(s * y, 1u << (rows + 1)); };
    if (r.wanted(0)) r.give(0, diagonal(shift::of(x, rows, 0, 0)));
    if (r.wanted(1)) r.give(1, diagonal(x));
    if (r.wanted(2)) r.give(2, diagonal(shift::of(x, rows, 1, 0)));
    if (r.wanted(3)) r.give(3, s);
  }
  static constexpr void tangent(tangent_rule& r) {
    term const b = r.x(3), x = solution(r.y(), b);
    std::int64_t const rows = b.rank() - 2;
    term change = r.has(3) ? r.dx(3) : term{};
    for (int k = 0; k < 3; ++k) {
      if (!r.has(k)) continue;
      term const part = as_column(r.dx(k)) * (k == 1 ? x : shift::of(x, rows, k == 0 ? 0 : 1, 0));
      change = change.present() ? change - part : -part;
    }
    r.give(raw(r.x(0), r.x(1), r.x(2), change));
  }
  static constexpr void batch(batch_rule& r) { r.give(raw(r.every(0), r.every(1), r.every(2), r.every(3))); }
};

} // namespace op

namespace detail {
using tridiagonal_operations = operations<op::tridiagonal_solve>;
} // namespace detail

namespace detail {

struct tridiagonal_solve_fn {
  static constexpr char const* name = "tridiagonal_solve";
  using uses = tridiagonal_operations;
  constexpr term operator()(term below, term diagonal, term above, term b) const {
    if (b.rank() != 1) return op::tridiagonal_solve::of(below, diagonal, above, b);
    term const y = op::tridiagonal_solve::of(below, diagonal, above, op::tridiagonal_solve::as_column(b));
    return b.b->failed().why != nullptr ? b : op::reshape::of(y, b.shape_id());
  }
};
template <outside Ends> struct natural_spline_fn {
  static constexpr char const* name = "natural_spline";
  using uses = operations<op::tridiagonal_solve, op::searchsorted>;
  constexpr term operator()(term x, term xs, term ys) const {
    builder& b = *x.b;
    if (!interp_fn<table{}>::positions_fit(xs, ys, 0)) return x;
    dimensions flat{2, {ys.dims().size[0], 1}};
    for (int k = 1; k < ys.rank(); ++k) flat.size[1] = b.product(flat.size[1], ys.dims().size[k]);
    term const slopes = op::reshape::of(slopes_of(xs, op::reshape::of(ys, b.shape(flat))), ys.shape_id());
    extend::interval const at = extend::searched_interval(x, xs, Ends);
    if (b.failed().why != nullptr) return x;
    auto const wide = [&](term y) { return extend::beside_rows(y, ys); };
    term const s = wide(at.t), h = wide(at.length(0)), y0 = at.row_of(ys, 0), y1 = at.row_of(ys, 1), apart = y1 - y0;
    term const m0 = h * at.row_of(slopes, 0), m1 = h * at.row_of(slopes, 1);
    return (1 - s) * y0 + s * y1 + s * (1 - s) * ((1 - s) * (m0 - apart) + s * (apart - m1));
  }
  /// The slopes with which second derivatives are continuous, and 0 at the ends.
  static constexpr term slopes_of(term xs, term y) {
    builder& b = *xs.b;
    term const place = extend::iota(b, element::int64, xs.dims().size[0]);
    term const first = place == 0, last = place == extend::broadcast_to(extend::last_row(xs, 0), place.shape_id());
    term const one = extend::constant_like(xs, 1);
    term const h = extend::select(last, one, op::shift::of(xs, 0, 1, 0) - xs), before = op::shift::of(h, 0, 0, 1);
    auto const column = [](term a) { return op::tridiagonal_solve::as_column(a); };
    term const d = extend::select(column(last), extend::constant_like(y, 0), (op::shift::of(y, 0, 1, 0) - y) / column(h));
    term const d_before = op::shift::of(d, 0, 0, 0);
    term const inner = column(h) * d_before + column(before) * d;
    term const right = 3 * extend::select(column(first), d, extend::select(column(last), d_before, inner));
    term const diagonal = extend::select(first || last, 2 * one, 2 * (before + h));
    return op::tridiagonal_solve::of(extend::select(last, one, h), diagonal, extend::select(first, one, before), right);
  }
};

} // namespace detail

/// The solution of a tridiagonal system: `below[0]` and the last element of `above` are not read; b is [n], or columns [..., n, m].
/// Domain: no rows are exchanged, so the matrix should be diagonally dominant or positive definite.
template <detail::operand L, detail::operand D, detail::operand U, detail::operand B>
constexpr auto tridiagonal_solve(L const& below, D const& diagonal, U const& above, B const& b,
                                 std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::tridiagonal_solve_fn{}, below, diagonal, above, b);
}
/// The natural cubic spline at x through a table ys at increasing positions xs: two continuous derivatives, of which the second is 0 at both
/// ends.
template <outside Ends = outside::constant, detail::operand X, detail::operand P, detail::operand Y>
constexpr auto natural_spline(X const& x, P const& xs, Y const& ys, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::natural_spline_fn<Ends>{}, x, xs, ys);
}

} // namespace cotangent

#endif
