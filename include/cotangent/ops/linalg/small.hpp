// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_LINALG_SMALL_HPP
#define COTANGENT_OPS_LINALG_SMALL_HPP

#include <cotangent/ops/linalg/factorization.hpp>

#include <limits>

// Matrices of a few rows as formulas over their entries: straight-line code over registers, or lanes over a stack.

namespace cotangent {
namespace detail {

/// The base of operations that are the identity, and report an element of 0 or below: a pivot. A NaN is not reported.
struct pivot : extend::elementwise<1> {
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x) { return x; }
  static constexpr void adjoint(auto& r) { r.give(0, r.dy()); }
  static constexpr void tangent(auto& r) { r.give(r.dx()); }
  static constexpr term regular(term x) { return extend::constant_like(x, 1); }
};
/// The same as a function of whole tensors.
template <class Pivot> struct reporting_pivot : extend::primitive<operation_kind::whole, 1> {
  static constexpr char const *name = Pivot::name, *reports = Pivot::reports;
  static constexpr void infer(inference& r) { r.like(0); }
  template <class T> static constexpr void all(whole_call const& c) {
    T const* const x = c.operand[0].data<T>();
    T* const y = c.result.data<T>();
    bool good = true;
    for (std::int64_t k = 0, n = c.result.count(); k < n; ++k) {
      good = good && !(x[k] <= T{});
      y[k] = x[k];
    }
    if (!good) c.report(status::singular_matrix);
  }
  static constexpr void whole(whole_call const& c) {
    if (c.result.type == element::float32) all<float>(c);
    else all<double>(c);
  }
};

/// 0 if a pivot of a small linear system, or of a triangle, is 0, else above 0. Only formulas have it, and interpreters and archives have
/// no formulas.
template <bool Triangle> struct system_pivot : pivot {
  static constexpr char const *name = Triangle ? "triangle_pivot" : "solve_pivot", *reports = Triangle ? "triangular_solve" : "solve";
  using reporting = reporting_pivot<system_pivot>;
};

} // namespace detail

namespace op {

/// The first pivot of a small Cholesky decomposition that is not above 0, or the last pivot.
struct cholesky_pivot : detail::pivot {
  static constexpr char const *name = "cholesky_pivot", *reports = "cholesky";
  using reporting = detail::reporting_pivot<cholesky_pivot>;
};
/// The magnitude of the determinant, by which the adjugate of a small matrix is divided.
struct inverse_pivot : detail::pivot {
  static constexpr char const *name = "inverse_pivot", *reports = "inverse";
  using reporting = detail::reporting_pivot<inverse_pivot>;
};

} // namespace op

namespace detail {
using pivot_operations = operations<op::cholesky_pivot, op::inverse_pivot>;
} // namespace detail

namespace extend {

/// Entry (i, j) of the last two axes.
constexpr term entry(term a, dimension i, dimension j) { return at(at(a, a.rank() - 2, i), a.rank() - 2, j); }

/// Matrices of n columns with these entries, row by row.
constexpr term assembled(term const* entries, dimension rows, dimension n) {
  builder& b = *entries[0].b;
  dimensions column = entries[0].dims(), whole = column;
  column.size[column.rank++] = 1;
  whole.size[whole.rank++] = rows, whole.size[whole.rank++] = n;
  std::int32_t const shape = b.shape(column);
  symbol ids[36]{};
  for (dimension k = 0; k < rows * n; ++k) ids[k] = op::reshape::of(entries[k], shape).id;
  std::int64_t const axis = column.rank - 1;
  return op::reshape::of({&b, b.push(info_of<op::concatenate>(), ids, static_cast<int>(rows * n), &axis, 1, b.place)}, b.shape(whole));
}
constexpr term assembled(term const* entries, dimension n) { return assembled(entries, n, n); }

/// True for square matrices of floating numbers with 1 to `most` rows.
constexpr bool is_small(term a, dimension most) {
  dimensions const d = a.dims();
  dimension const n = d.rank < 2 ? 0 : d.size[d.rank - 1];
  return n == (d.rank < 2 ? 0 : d.size[d.rank - 2]) && n >= 1 && n <= most && is_floating(a.type());
}

/// Of 1 to 4 rows, whose derivatives exist for singular matrices too: by minors of the first two rows from 4 rows on.
constexpr term small_determinant(term a) {
  dimension const n = a.dims().size[a.rank() - 1];
  if (n == 1) return entry(a, 0, 0);
  if (n == 2) return entry(a, 0, 0) * entry(a, 1, 1) - entry(a, 0, 1) * entry(a, 1, 0);
  term y{};
  if (n == 3) {
    for (dimension k = 0; k < 3; ++k) {
      dimension const i = (k + 1) % 3, j = (k + 2) % 3;
      term const part = entry(a, 0, k) * (entry(a, 1, i) * entry(a, 2, j) - entry(a, 1, j) * entry(a, 2, i));
      y = k == 0 ? part : y + part;
    }
    return y;
  }
  auto const cofactor_of = [&](dimension row, dimension i, dimension j) {
    return entry(a, row, i) * entry(a, row + 1, j) - entry(a, row, j) * entry(a, row + 1, i);
  };
  for (dimension i = 0; i < 4; ++i)
    for (dimension j = i + 1; j < 4; ++j) {
      dimension const rest = 6 - i - j, p = i > 0 ? 0 : j > 1 ? 1 : 2, q = rest - p; // the other two columns
      term const part = cofactor_of(0, i, j) * cofactor_of(2, p, q);
      y = !y.present() ? part : (i + j) % 2 == 1 ? y + part : y - part;
    }
  return y;
}

/// Of 1 to 4 rows: the adjugate over the determinant; NaN if that is 0, which is reported.
constexpr term small_inverse(term a) {
  dimension const n = a.dims().size[a.rank() - 1];
  term const d = small_determinant(a);
  term const regular = apply<op::inverse_pivot>(apply<op::abs>(d)) > 0;
  term const scale = select(regular, apply<op::reciprocal>(select(regular, d, constant_like(d, 1))),
                            constant_like(d, std::numeric_limits<double>::quiet_NaN()));
  term entries[16];
  if (n == 1) entries[0] = scale;
  else if (n == 2) {
    entries[0] = entry(a, 1, 1) * scale, entries[1] = -(entry(a, 0, 1) * scale);
    entries[2] = -(entry(a, 1, 0) * scale), entries[3] = entry(a, 0, 0) * scale;
  } else if (n == 4) {
    // Column j of the adjugate: minors of the two rows beyond j's pair, with entries of the other row of the pair.
    auto const cofactor_of = [&](dimension row, dimension p, dimension q) {
      return entry(a, row, p) * entry(a, row + 1, q) - entry(a, row, q) * entry(a, row + 1, p);
    };
    for (dimension i = 0; i < 4; ++i) {
      dimension const p = i == 0 ? 1 : 0, q = i <= 1 ? 2 : 1, r = i <= 2 ? 3 : 2; // the other columns
      for (dimension j = 0; j < 4; ++j) {
        dimension const other = j ^ 1, rows = j < 2 ? 2 : 0;
        term const cofactor = entry(a, other, p) * cofactor_of(rows, q, r) - entry(a, other, q) * cofactor_of(rows, p, r) + entry(a, other, r) * cofactor_of(rows, p, q);
        entries[4 * i + j] = (i + j) % 2 == 0 ? cofactor * scale : -(cofactor * scale);
      }
    }
  } else
    for (dimension i = 0; i < 3; ++i)
      for (dimension j = 0; j < 3; ++j) {
        dimension const p = (j + 1) % 3, q = (j + 2) % 3, r = (i + 1) % 3, s = (i + 2) % 3; // of the cofactor of (j, i)
        entries[3 * i + j] = (entry(a, p, r) * entry(a, q, s) - entry(a, p, s) * entry(a, q, r)) * scale;
      }
  return assembled(entries, n);
}

/// The lower triangle L with L L' = A, of 1 to 6 rows; reads the lower triangle of A. NaN if
/// A is not positive definite; a pivot of 0 or below is reported.
constexpr term small_cholesky(term a) {
  dimension const n = a.dims().size[a.rank() - 1];
  term entries[36];
  term const zero = constant_like(entry(a, 0, 0), 0);
  for (term& e : entries) e = zero;
  term pivot{}; // the first that is not above 0, or the last
  for (dimension j = 0; j < n; ++j) {
    term inverse{};
    for (dimension i = j; i < n; ++i) {
      term y = entry(a, i, j);
      for (dimension k = 0; k < j; ++k) y = y - entries[i * n + k] * entries[j * n + k];
      if (i == j) {
        entries[i * n + j] = apply<op::sqrt>(y);
        pivot = j == 0 ? y : select(pivot > 0, y, pivot);
        inverse = apply<op::reciprocal>(entries[i * n + j]);
      } else entries[i * n + j] = y * inverse;
    }
  }
  // a factor, so that derivatives are NaN, too
  term const valid = select(apply<op::cholesky_pivot>(pivot) > 0, constant_like(pivot, 1), constant_like(pivot, std::numeric_limits<double>::quiet_NaN()));
  for (dimension i = 0; i < n; ++i)
    for (dimension j = 0; j <= i; ++j) entries[i * n + j] = entries[i * n + j] * valid;
  return assembled(entries, n);
}

// ---- small linear systems, with the bits of `detail::lu_of`, `detail::lu_solve_of` and `detail::triangular_solve_of`

inline constexpr dimension most_formula_rows = 4, most_triangle_rows = 8;

/// The result of `detail::lu_of`.
constexpr term small_lu(term a) {
  dimension const n = a.dims().size[a.rank() - 1];
  term e[most_formula_rows * (most_formula_rows + 1)];
  for (dimension i = 0; i < n; ++i)
    for (dimension j = 0; j < n; ++j) e[i * n + j] = entry(a, i, j);
  term* const order = e + n * n;
  auto const number = [&](dimension x) { return constant_like(e[0], static_cast<double>(x)); };
  for (dimension k = 0; k < n; ++k) order[k] = number(k + 1);
  term sign = number(1);
  for (dimension i = 0; i + 1 < n; ++i) {
    term most = apply<op::abs>(e[i * n + i]), best = number(i);
    for (dimension k = i + 1; k < n; ++k) {
      term const size = apply<op::abs>(e[k * n + i]), larger = size > most;
      most = select(larger, size, most);
      best = select(larger, number(k), best);
    }
    for (dimension k = i + 1; k < n; ++k) {
      term const here = best == number(k);
      sign = select(here, -sign, sign);
      for (dimension c = 0; c <= n; ++c) {
        term &above = c == n ? order[i] : e[i * n + c], &below = c == n ? order[k] : e[k * n + c];
        term const kept = above;
        above = select(here, below, above);
        below = select(here, kept, below);
      }
    }
    term const pivot = e[i * n + i], is_zero = pivot == 0, inverse = apply<op::reciprocal>(pivot);
    for (dimension k = i + 1; k < n; ++k) {
      term const factor = e[k * n + i] * inverse, minus = -factor;
      e[k * n + i] = select(is_zero, e[k * n + i], factor);
      for (dimension c = i + 1; c < n; ++c)
        e[k * n + c] = select(is_zero, e[k * n + c], apply<op::multiply_add>(minus, e[i * n + c], e[k * n + c]));
    }
  }
  for (dimension k = 0; k < n; ++k) order[k] = order[k] * sign;
  return assembled(e, n + 1, n);
}

/// A right side, row by row.
struct small_rows {
  term of[most_triangle_rows];
  dimension n = 0, m = 0; // rows, elements of a row

  constexpr explicit small_rows(term b) : n(b.dims().size[b.rank() - 2]), m(b.dims().size[b.rank() - 1]) {
    for (dimension i = 0; i < n; ++i) of[i] = at(b, b.rank() - 2, i);
  }
  /// A number for each matrix, along a row.
  constexpr term along(term x) const {
    dimensions column = x.dims(), whole = column;
    column.size[column.rank++] = 1, whole.size[whole.rank++] = m;
    return broadcast_to(op::reshape::of(x, x.b->shape(column)), x.b->shape(whole));
  }
  constexpr term assembled() const {
    builder& b = *of[0].b;
    dimensions row = of[0].dims();
    row.size[row.rank - 1] = 1, row.size[row.rank++] = m;
    symbol ids[most_triangle_rows]{};
    for (dimension i = 0; i < n; ++i) ids[i] = op::reshape::of(of[i], b.shape(row)).id;
    std::int64_t const axis = row.rank - 2;
    return {&b, b.push(info_of<op::concatenate>(), ids, static_cast<int>(n), &axis, 1, b.place)};
  }
};
/// 0 if an element of the diagonals is 0, else above 0. (A select of constants 0 and 1 ends g++ 12 with an internal error.)
constexpr term least_on_diagonal(term a, dimension n) {
  term least = constant_like(entry(a, 0, 0), 1);
  for (dimension i = 0; i < n; ++i) {
    term const size = apply<op::abs>(entry(a, i, i));
    least = select(size < least, size, least);
  }
  return least;
}
/// The diagonal is that of `a`, or `diagonal` if that is given.
constexpr void small_triangular_solve(term a, small_rows& x, bool lower, bool transposed, bool unit, term const* diagonal = nullptr) {
  dimension const n = x.n;
  auto const subtract = [&](dimension from, dimension to, dimension k) {
    x.of[to] = apply<op::multiply_add>(x.along(-entry(a, transposed ? from : to, k)), x.of[from], x.of[to]);
  };
  bool const down = lower != transposed;
  for (dimension step = 0; step < n; ++step) {
    dimension const i = down ? step : n - 1 - step;
    if (!transposed)
      for (dimension k = down ? 0 : n - 1; k != i; k += down ? 1 : -1) subtract(k, i, k);
    if (!unit) x.of[i] = x.of[i] / x.along(diagonal != nullptr ? diagonal[i] : entry(a, i, i));
    if (transposed)
      for (dimension k = down ? i + 1 : 0, end = down ? n : i; k < end; ++k) subtract(i, k, k);
  }
}
constexpr term small_triangular_solve(term a, term b, bool lower, bool transposed, bool unit) {
  small_rows x(b);
  term diagonal[most_triangle_rows];
  if (!unit) { // zeros are read from the pivot, which is reported
    term const pivot = apply<detail::system_pivot<true>>(least_on_diagonal(a, x.n));
    for (dimension i = 0; i < x.n; ++i) diagonal[i] = select(entry(a, i, i) == 0, pivot * entry(a, i, i), entry(a, i, i));
  }
  small_triangular_solve(a, x, lower, transposed, unit, diagonal);
  return x.assembled();
}
/// The result of `detail::lu_solve_of`.
constexpr term small_lu_solve(term lu, term b, bool transposed) {
  small_rows x(b);
  dimension const n = x.n;
  if (transposed) {
    small_triangular_solve(lu, x, false, true, false);
    small_triangular_solve(lu, x, true, true, true);
  }
  small_rows moved = x; // row from(i) of B, or row i to row from(i) of X
  auto const from = [&](dimension i) { return apply<op::abs>(entry(lu, n, i)); };
  for (dimension i = 0; i < n; ++i)
    for (dimension k = 0; k < n; ++k)
      moved.of[i] = k == 0 ? x.of[0] : select(x.along(transposed ? from(k) == i + 1 : from(i) == k + 1), x.of[k], moved.of[i]);
  if (!transposed) {
    small_triangular_solve(lu, moved, true, false, true);
    small_triangular_solve(lu, moved, false, false, false);
  }
  term const regular = x.along(apply<detail::system_pivot<false>>(least_on_diagonal(lu, n)) > 0);
  for (dimension i = 0; i < n; ++i)
    moved.of[i] = select(regular, moved.of[i], constant_like(moved.of[i], std::numeric_limits<double>::quiet_NaN()));
  return moved.assembled();
}

} // namespace extend

namespace detail {

/// The steps of a formula for `n` with at most `most_rows` rows, else -1: per matrix, `of_matrix(rows)` and `of_row(rows)` for each
/// vector of a right side's row.
template <class OfMatrix, class OfRow>
constexpr int steps_of_formula(graph_view const& g, node const& n, dimension most_rows, OfMatrix of_matrix, OfRow of_row) {
  dimensions const d = g.shape(g.operand(n, 0));
  dimension const rows = d.size[d.rank - 1], m = g.shape(g.result(n)).size[d.rank - 1];
  dimension matrices = 1;
  for (int k = 0; k + 2 < d.rank; ++k) matrices = d.size[k] < 0 ? -1 : capped_product(matrices, d.size[k]);
  if (rows < 1 || rows > most_rows || m < 1 || m > 16 || matrices < 1 || matrices > 8) return -1;
  return static_cast<int>(matrices * (of_matrix(rows) + of_row(rows) * ((m + 1) / 2)));
}

} // namespace detail
} // namespace cotangent

#endif
