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
  template <class V> COTANGENT_INLINE static constexpr V apply(V const& x) { return x; }
  static constexpr void adjoint(auto& r) { r.give(0, r.dy()); }
  static constexpr void tangent(auto& r) { r.give(r.dx()); }
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

using pivot_operations = operations<op::cholesky_pivot, op::inverse_pivot>;

namespace extend {

/// Entry (i, j) of the last two axes.
constexpr term entry(term a, dimension i, dimension j) { return at(at(a, a.rank() - 2, i), a.rank() - 2, j); }

/// Matrices of n rows with these entries, row by row.
constexpr term assembled(term const* entries, dimension n) {
  builder& b = *entries[0].b;
  dimensions column = entries[0].dims(), whole = column;
  column.size[column.rank++] = 1;
  whole.size[whole.rank++] = n, whole.size[whole.rank++] = n;
  std::int32_t const shape = b.shape(column);
  symbol ids[36]{};
  for (dimension k = 0; k < n * n; ++k) ids[k] = op::reshape::of(entries[k], shape).id;
  std::int64_t const axis = column.rank - 1;
  return op::reshape::of({&b, b.push(info_of<op::concatenate>(), ids, static_cast<int>(n * n), &axis, 1, b.place)}, b.shape(whole));
}

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
  auto const minor = [&](dimension row, dimension i, dimension j) {
    return entry(a, row, i) * entry(a, row + 1, j) - entry(a, row, j) * entry(a, row + 1, i);
  };
  for (dimension i = 0; i < 4; ++i)
    for (dimension j = i + 1; j < 4; ++j) {
      dimension const rest = 6 - i - j, p = i > 0 ? 0 : j > 1 ? 1 : 2, q = rest - p; // the other two columns
      term const part = minor(0, i, j) * minor(2, p, q);
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
    auto const minor = [&](dimension row, dimension p, dimension q) {
      return entry(a, row, p) * entry(a, row + 1, q) - entry(a, row, q) * entry(a, row + 1, p);
    };
    for (dimension i = 0; i < 4; ++i) {
      dimension const p = i == 0 ? 1 : 0, q = i <= 1 ? 2 : 1, r = i <= 2 ? 3 : 2; // the other columns
      for (dimension j = 0; j < 4; ++j) {
        dimension const other = j ^ 1, rows = j < 2 ? 2 : 0;
        term const cofactor = entry(a, other, p) * minor(rows, q, r) - entry(a, other, q) * minor(rows, p, r) + entry(a, other, r) * minor(rows, p, q);
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
  term const definite = apply<op::cholesky_pivot>(pivot) > 0, nothing = constant_like(pivot, std::numeric_limits<double>::quiet_NaN());
  for (dimension i = 0; i < n; ++i)
    for (dimension j = 0; j <= i; ++j) entries[i * n + j] = select(definite, entries[i * n + j], nothing);
  return assembled(entries, n);
}

} // namespace extend
} // namespace cotangent

#endif
