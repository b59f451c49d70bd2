// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_LINALG_DECOMPOSITIONS_HPP
#define COTANGENT_OPS_LINALG_DECOMPOSITIONS_HPP

#include <cotangent/ops/linalg/orthogonal.hpp>
#include <cotangent/ops/linalg/systems.hpp>

#include <cstdint>

// QR decompositions, symmetric eigenvalues, singular values, the matrix exponential, and least squares. Each operation gives all
// parts in one matrix, from which the functions take theirs. Derivatives: M. Giles, "Collected matrix derivative results for forward
// and reverse mode algorithmic differentiation", 2008, sections 2.3.1 and 3.1 (eigenvalues); S. Walter, L. Lehmann, "Algorithmic
// differentiation of linear algebra functions", 2010 (QR); J. Townsend, "Differentiating the singular value decomposition", 2016;
// A. Al-Mohy, N. Higham, "Computing the Frechet derivative of the matrix exponential", 2009, equation 1.4.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(qr_tall, at_least, rows_of_matrix, columns_of_matrix, "cotangent: qr: a matrix must have at least as many rows as columns, and both must be numbers or one name")
COTANGENT_REFUSAL(svd_extents, equal, rows_of_the_matrix, columns_of_the_matrix, "cotangent: svd, lstsq: rows and columns must be numbers or one name, so that the smaller extent is known")
// clang-format on
} // namespace refusals

namespace detail {

/// Rows or columns `start`, ..., of each matrix; axis 0: rows.
constexpr term rows_of(term x, dimension start, dimension count) { return extend::slice(x, x.rank() - 2, start, count); }
constexpr term columns_of(term x, dimension start, dimension count) { return extend::slice(x, x.rank() - 1, start, count); }
constexpr dimension row_count(term x) { return x.dims().size[x.rank() - 2]; }
constexpr dimension column_count(term x) { return x.dims().size[x.rank() - 1]; }
constexpr term turned(term x) { return extend::transpose_matrices(x); }
/// 1 / x, and 0 at 0, which is right in a first derivative only: its own derivative there is infinite, as is that of the root of 0.
constexpr term reciprocal_or_zero(term x) {
  term const zero = x == 0, one = extend::constant_like(x, 1);
  return extend::select(zero, extend::apply<op::sqrt>(extend::select(zero, x, one)), one / extend::select(zero, one, x));
}
/// The matrix of 1 / (row[j] - row[i]), and 0 where these are equal. The diagonal is 0, with the derivative 0.
constexpr term reciprocal_gaps(term row) {
  term const gap = row - turned(row), diagonal = extend::identity_like(gap) == 1;
  return extend::select(diagonal, extend::constant_like(gap, 0), reciprocal_or_zero(extend::select(diagonal, extend::constant_like(gap, 1), gap)));
}
/// True where `x` has elements known to be compared: both extents are numbers, or one name.
constexpr bool are_comparable(dimension a, dimension b) { return a == b || (a >= 0 && b >= 0); }
/// True if operand 0 has matrices of floating-point numbers; else the failure is recorded.
constexpr bool is_matrix(inference& r) {
  r.like(0);
  if (r.dims(0).rank < 2) return r.refuse<refusals::linalg_rank>(2, r.dims(0).rank), false;
  if (!is_floating(r.type)) return r.refuse<refusals::element_not_floating>(), false;
  return true;
}
/// The result: matrices of these sizes, in the stack of operand 0.
constexpr void gives_matrices(inference& r, dimension rows, dimension columns) {
  dimensions d = r.dims(0);
  d.size[d.rank - 2] = rows, d.size[d.rank - 1] = columns;
  r.result(r.type, d);
}

} // namespace detail

namespace op {

/// A = Q R for m rows and n columns, m >= n, with the signs of Householder reflections. Row j of the result has column j of Q, column j of R,
/// and an element of work space.
/// Adjoint: (dQ + Q S) R^-T, where S is symmetric with the lower triangle of R dR' - dQ' Q (Walter and Lehmann 2010).
struct qr : detail::matrix_operation<qr, 1> {
  static constexpr char const* name = "qr";
  template <class T> static constexpr void one(whole_call const& c, std::int64_t k) {
    whole_tensor const& a = c.operand[0];
    detail::qr_of(detail::matrix_at<T>(a, k), detail::matrix_at<T>(c.result, k), a.size[a.rank - 2], a.size[a.rank - 1]);
  }
  static constexpr void infer(inference& r) {
    if (!detail::is_matrix(r)) return;
    extend::dimension const m = r.dims(0).size[r.dims(0).rank - 2], n = r.dims(0).size[r.dims(0).rank - 1];
    if (!detail::are_comparable(m, n) || m < n) return r.refuse<refusals::qr_tall>(m, n);
    detail::gives_matrices(r, n, r.b.sum(r.b.sum(m, n), 1));
  }
  static constexpr term of(term a) { return detail::push(info_of<qr>(), {a}); }
  /// Q' and R' of the result for the operand `a`.
  static constexpr term q(term y, term a) { return detail::columns_of(y, 0, detail::row_count(a)); }
  static constexpr term r(term y, term a) { return detail::columns_of(y, detail::row_count(a), detail::column_count(a)); }
  static constexpr void adjoint(adjoint_rule& rule) {
    term const a = rule.x(), qt = q(rule.y(), a), rt = r(rule.y(), a), dq = q(rule.dy(), a);
    term const dr = extend::triangle(r(rule.dy(), a), true);
    term const m = extend::matmul(detail::turned(rt), dr) - extend::matmul(dq, detail::turned(qt));
    term const s = extend::triangle(m, true) + detail::turned(extend::triangle(m, true, true));
    term const both = dq + extend::matmul(s, qt);
    rule.give(0, detail::turned(triangular_solve::of(rt, both, true, true, false)));
  }
  static constexpr void tangent(tangent_rule& rule) {
    term const a = rule.x(), qt = q(rule.y(), a), rt = r(rule.y(), a);
    term const x = triangular_solve::of(rt, detail::turned(rule.dx()), true, false, false); // (dA R^-1)'
    term const inner = extend::matmul(qt, detail::turned(x)), below = extend::triangle(inner, true, true);
    term const turn = below - detail::turned(below), rest = inner - turn; // antisymmetric, upper triangle
    term const dq = x - extend::matmul(detail::turned(rest), qt);
    term const dr = extend::triangle(extend::matmul(rt, detail::turned(rest)), true);
    rule.give(detail::joined_along(a.rank() - 1, dq, dr, extend::constant_like(detail::columns_of(rule.y(), 0, 1), 0)));
  }
  static constexpr void batch(batch_rule& rule) { rule.give(of(rule.each(0))); }
};

/// The eigenvectors of symmetric matrices in n rows, by rising eigenvalues, which are row n; three rows of work space.
/// Adjoint: V (diag(dw) + F V' dV) V' with F[i, j] = 1 / (w[j] - w[i]), elementwise, and 0 for equal eigenvalues.
struct eigh : detail::matrix_operation<eigh, 1> {
  static constexpr char const* name = "eigh";
  template <class T> static constexpr void one(whole_call const& c, std::int64_t k) {
    detail::eigh_of(detail::matrix_at<T>(c.operand[0], k), detail::matrix_at<T>(c.result, k), c.result.size[c.result.rank - 1]);
  }
  static constexpr void infer(inference& r) {
    r.like(0);
    if (!detail::is_square(r)) return;
    extend::dimension const n = r.dims(0).size[r.dims(0).rank - 1];
    detail::gives_matrices(r, r.b.sum(n, 4), n);
  }
  static constexpr term of(term a) { return detail::push(info_of<eigh>(), {a}); }
  /// V' and the row of eigenvalues.
  static constexpr term vectors(term y) { return detail::rows_of(y, 0, detail::column_count(y)); }
  static constexpr term values(term y) { return detail::rows_of(y, detail::column_count(y), 1); }
  static constexpr void adjoint(adjoint_rule& r) {
    term const v = vectors(r.y()), dv = vectors(r.dy()), dw = values(r.dy());
    term const turn = detail::reciprocal_gaps(values(r.y())) * extend::matmul(v, detail::turned(dv));
    term const inner = turn + extend::identity_like(turn) * dw;
    r.give(0, extend::matmul(detail::turned(v), extend::matmul(inner, v)));
  }
  static constexpr void tangent(tangent_rule& r) {
    term const v = vectors(r.y()), inner = extend::matmul(v, extend::matmul(r.dx(), detail::turned(v)));
    term const turn = detail::reciprocal_gaps(values(r.y())) * inner;
    term const dv = extend::matmul(detail::turned(turn), v);
    term const dw = extend::sum(extend::identity_like(inner) * inner, 1u << (inner.rank() - 2), true);
    term const none_left = extend::constant_like(dw, 0);
    r.give(detail::joined_along(v.rank() - 2, dv, dw, none_left, none_left, none_left));
  }
  static constexpr void batch(batch_rule& r) { r.give(of(r.each(0))); }
};

/// A = U S V' for m rows, n columns and k = min(m, n) singular values, which fall. Row j of the result has column j of U, column j of V, and
/// singular value j.
/// Adjoint: as Townsend 2016, section 3; 0 in place of 1 / (s[j] s[j] - s[i] s[i]) for equal singular values, and of 1 / s for s = 0.
struct svd : detail::matrix_operation<svd, 1> {
  static constexpr char const* name = "svd";
  template <class T> static constexpr void one(whole_call const& c, std::int64_t k) {
    whole_tensor const& a = c.operand[0];
    detail::svd_of(detail::matrix_at<T>(a, k), detail::matrix_at<T>(c.result, k), a.size[a.rank - 2], a.size[a.rank - 1]);
  }
  static constexpr void infer(inference& r) {
    if (!detail::is_matrix(r)) return;
    extend::dimension const m = r.dims(0).size[r.dims(0).rank - 2], n = r.dims(0).size[r.dims(0).rank - 1];
    if (!detail::are_comparable(m, n)) return r.refuse<refusals::svd_extents>(m, n);
    detail::gives_matrices(r, m < n ? m : n, r.b.sum(r.b.sum(m, n), 1));
  }
  static constexpr term of(term a) { return detail::push(info_of<svd>(), {a}); }
  struct parts {
    term u, v, s; // U', V', and the column of singular values
  };
  static constexpr parts parts_of(term y, term a) {
    extend::dimension const m = detail::row_count(a), n = detail::column_count(a);
    return {detail::columns_of(y, 0, m), detail::columns_of(y, m, n), detail::columns_of(y, y.b->sum(m, n), 1)};
  }
  /// x without its part in the span of the rows of `q`, whose rows are orthonormal; `none` if they span everything.
  static constexpr term beside(term x, term q) {
    if (detail::row_count(q) == detail::column_count(q)) return {};
    return x - extend::matmul(extend::matmul(x, detail::turned(q)), q);
  }
  /// The matrices of s[j] and of s[i] over s[j] s[j] - s[i] s[i], whose squares need no range; 0 for equal singular values.
  struct ratios {
    term of_column, of_row;
    constexpr explicit ratios(term s) {
      term const row = detail::turned(s), gaps = detail::reciprocal_gaps(row), sum = row + s;
      term const whole = extend::select(sum == 0, extend::constant_like(sum, 1), sum);
      of_column = gaps * (row / whole), of_row = gaps * (s / whole);
    }
  };
  static constexpr void adjoint(adjoint_rule& r) {
    parts const p = parts_of(r.y(), r.x()), d = parts_of(r.dy(), r.x());
    term const inverse = detail::reciprocal_or_zero(p.s);
    ratios const by(p.s);
    term const ku = extend::matmul(p.u, detail::turned(d.u)), kv = extend::matmul(p.v, detail::turned(d.v));
    term const inner = by.of_column * (ku - detail::turned(ku)) + by.of_row * (kv - detail::turned(kv));
    term const in_span = inner + extend::identity_like(inner) * d.s;
    term left = extend::matmul(in_span, p.v); // dA = U left + right V'
    if (term const rest = beside(d.v, p.v); rest.present()) left = left + inverse * rest;
    term da = extend::matmul(detail::turned(p.u), left);
    if (term const rest = beside(d.u, p.u); rest.present()) da = da + extend::matmul(detail::turned(inverse * rest), p.v);
    r.give(0, da);
  }
  static constexpr void tangent(tangent_rule& r) {
    parts const p = parts_of(r.y(), r.x());
    term const inverse = detail::reciprocal_or_zero(p.s);
    ratios const by(p.s);
    term const ua = extend::matmul(p.u, r.dx()), av = extend::matmul(p.v, detail::turned(r.dx())); // U' dA, V' dA'
    term const inner = extend::matmul(ua, detail::turned(p.v)), across = detail::turned(inner);
    term du = extend::matmul(detail::turned(by.of_column * inner + by.of_row * across), p.u);
    term dv = extend::matmul(detail::turned(by.of_row * inner + by.of_column * across), p.v);
    if (term const rest = beside(av, p.u); rest.present()) du = du + inverse * rest;
    if (term const rest = beside(ua, p.v); rest.present()) dv = dv + inverse * rest;
    term const ds = extend::sum(extend::identity_like(inner) * inner, 1u << (inner.rank() - 1), true);
    r.give(detail::joined_along(inner.rank() - 1, du, dv, ds));
  }
  static constexpr void batch(batch_rule& r) { r.give(of(r.each(0))); }
};

/// The exponential of square matrices, in the first n of 6 n rows; the others are work space.
/// Adjoint: the derivative at A' in the direction of dY, which is a block of the exponential of [A', dY; 0, A'].
struct expm : detail::matrix_operation<expm, 1> {
  static constexpr char const* name = "expm";
  template <class T> static constexpr void one(whole_call const& c, std::int64_t k) {
    detail::expm_of(detail::matrix_at<T>(c.operand[0], k), detail::matrix_at<T>(c.result, k), c.result.size[c.result.rank - 1]);
  }
  static constexpr void infer(inference& r) {
    r.like(0);
    if (!detail::is_square(r)) return;
    extend::dimension const n = r.dims(0).size[r.dims(0).rank - 1];
    detail::gives_matrices(r, r.b.product(n, 6), n);
  }
  static constexpr term of(term a) { return detail::push(info_of<expm>(), {a}); }
  static constexpr term value(term y) { return detail::rows_of(y, 0, detail::column_count(y)); }
  /// The derivative at `a` in the direction of `da`, scaled to 1: it is linear, and the number of squarings must depend on `a` alone.
  static constexpr term along(term a, term da) {
    int const rank = a.rank();
    extend::dimension const n = detail::column_count(a);
    term const largest = extend::stop_gradient(extend::max(extend::apply<op::abs>(da), 3u << (rank - 2), true));
    term const size = extend::select(largest > 0, largest, extend::constant_like(largest, 1));
    term const upper = detail::joined_along(rank - 1, a, da / size), lower = detail::joined_along(rank - 1, extend::constant_like(a, 0), a);
    term const y = of(detail::joined_along(rank - 2, upper, lower));
    return detail::columns_of(detail::rows_of(y, 0, n), n, n) * size;
  }
  static constexpr void adjoint(adjoint_rule& r) { r.give(0, along(detail::turned(r.x()), value(r.dy()))); }
  static constexpr void tangent(tangent_rule& r) {
    term const dy = along(r.x(), r.dx());
    extend::dimensions rest = dy.dims();
    rest.size[rest.rank - 2] = r.b.product(rest.size[rest.rank - 1], 5);
    r.give(detail::joined_along(dy.rank() - 2, dy, extend::constant(r.b, dy.type(), r.b.shape(rest), 0)));
  }
  static constexpr void batch(batch_rule& r) { r.give(of(r.each(0))); }
};

} // namespace op

namespace detail {
using decomposition_operations = operations<op::qr, op::eigh, op::svd, op::expm>;
using linalg_operations =
    typename joined_operations<linear_system_operations, pivot_operations, decomposition_operations>::type;
} // namespace detail

namespace extend {

/// Part 0 of A = Q R is Q, part 1 is R.
constexpr term qr(term a, int part) {
  term const y = op::qr::of(a);
  if (a.b->failed().why != nullptr) return a;
  return transpose_matrices(part == 0 ? op::qr::q(y, a) : op::qr::r(y, a));
}
/// Part 0: the eigenvalues of the symmetric part of each matrix; part 1: the eigenvectors, in columns.
constexpr term eigh(term a, int part) {
  if (!has_matrices(a)) return a;
  builder& b = *a.b;
  dimension const rows = detail::row_count(a), columns = detail::column_count(a);
  if (rows != columns) return b.refuse<refusals::linalg_square>(rows, columns, b.place), a;
  if (!is_floating(a.type())) return b.refuse<refusals::element_not_floating>(0, 0, b.place), a;
  term const y = op::eigh::of(0.5 * (a + transpose_matrices(a)));
  if (part == 1) return transpose_matrices(op::eigh::vectors(y));
  dimensions d = a.dims();
  --d.rank;
  return op::reshape::of(op::eigh::values(y), b.shape(d));
}
/// Part 0 of A = U S V' is U, part 1 the singular values, part 2 V'.
constexpr term svd(term a, int part) {
  term const y = op::svd::of(a);
  if (a.b->failed().why != nullptr) return a;
  auto const p = op::svd::parts_of(y, a);
  if (part == 0) return transpose_matrices(p.u);
  if (part == 2) return p.v;
  dimensions d = p.s.dims();
  --d.rank;
  return op::reshape::of(p.s, a.b->shape(d));
}
constexpr term expm(term a) {
  term const y = op::expm::of(a);
  return a.b->failed().why != nullptr ? a : op::expm::value(y);
}
/// The least squares solution of A X = B for full rank: with fewer rows than columns, the shortest solution.
constexpr term lstsq(term a, term b) {
  return with_right_side(a, b, [](term m, term y) {
    builder& g = *m.b;
    dimension const rows = detail::row_count(m), columns = detail::column_count(m);
    if (detail::row_count(y) != rows) return g.refuse<refusals::linalg_right_side>(rows, detail::row_count(y), g.place), y;
    if (!detail::are_comparable(rows, columns)) return g.refuse<refusals::svd_extents>(rows, columns, g.place), y;
    bool const tall = rows >= columns;
    term const from = tall ? m : transpose_matrices(m), packed = op::qr::of(from);
    if (g.failed().why != nullptr) return y;
    term const q = op::qr::q(packed, from), r = op::qr::r(packed, from);
    return tall ? op::triangular_solve::of(r, matmul(q, y), true, true, false)
                : matmul(transpose_matrices(q), op::triangular_solve::of(r, y, true, false, false));
  });
}

} // namespace extend
} // namespace cotangent

#endif
