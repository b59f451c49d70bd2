// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_LINALG_SYSTEMS_HPP
#define COTANGENT_OPS_LINALG_SYSTEMS_HPP

#include <cotangent/ops/linalg/factorization.hpp>
#include <cotangent/ops/linalg/small.hpp>

#include <cstdint>

// The operations of decompositions and linear systems, and the functions composed of them.

namespace cotangent {
namespace detail {
/// The base of operations on stacks of matrices: `Self::one<T>(call, k)` computes matrix k of the stack. It is defined before the
/// rules, which emit the same operation: clang evaluates it there.
template <class Self, int Arity> struct matrix_operation : extend::primitive<operation_kind::whole, Arity> {
  static constexpr float cost = 100;
  template <class T> static constexpr void all(whole_call const& c) {
    for (std::int64_t k = 0, n = detail::matrices_in(c.operand[0]); k < n; ++k) Self::template one<T>(c, k);
  }
  static constexpr void whole(whole_call const& c) {
    if (c.result.type == element::float32) all<float>(c);
    else all<double>(c);
  }
};

} // namespace detail

namespace op {

/// Solves A X = B, or A' X = B, for a triangle of A. Attributes: lower, transposed, whether the diagonal is taken to be 1.
/// Adjoint: dB solves the transposed system; dA = -dB X', or -X dB', of the triangle. (Giles 2008, section 2.2.)
/// Domain: infinities and NaN if an element of the diagonal is 0, which is reported.
struct triangular_solve : detail::matrix_operation<triangular_solve, 2> {
  static constexpr char const *name = "triangular_solve", *reports = name;
  static constexpr term regular(term a) { return extend::identity_like(a); }
  template <class T> static constexpr void one(whole_call const& c, std::int64_t k) {
    std::int64_t const n = c.result.size[c.result.rank - 2], m = c.result.size[c.result.rank - 1];
    T const* const b = detail::matrix_at<T>(c.operand[1], k);
    T* const x = detail::matrix_at<T>(c.result, k);
    for (std::int64_t j = 0; j < n * m; ++j) x[j] = b[j];
    T const* const a = detail::matrix_at<T>(c.operand[0], k);
    detail::triangular_solve_of(a, x, n, m, c.attribute[0] != 0, c.attribute[1] != 0, c.attribute[2] != 0);
    bool singular = false;
    for (std::int64_t i = 0; i < n && c.attribute[2] == 0; ++i) singular = singular || a[i * n + i] == T{};
    if (singular) c.report(status::singular_matrix);
  }
  static constexpr void infer(inference& r) {
    r.like(0);
    if (!detail::is_square(r) || !detail::right_side_fits(r, 1)) return;
    r.like(1);
  }
  static constexpr term of(term a, term b, bool lower, bool transposed, bool unit) {
    return detail::push(info_of<triangular_solve>(), {a, b}, {lower, transposed, unit});
  }
  static constexpr term formula(rule const& r) { return extend::small_triangular_solve(r.x(0), r.x(1), r.attribute(0) != 0, r.attribute(1) != 0, r.attribute(2) != 0); }
  static constexpr int formula_steps(extend::graph_view const& g, extend::node const& n) {
    return detail::steps_of_formula(g, n, extend::most_triangle_rows, [](auto k) { return 5 * k; }, [](auto k) { return k * (k + 1) / 2; });
  }
  /// The triangle of A that is read.
  static constexpr term part(rule const& r, term x) { return extend::triangle(x, r.attribute(0) != 0, r.attribute(2) != 0); }
  static constexpr void adjoint(adjoint_rule& r) {
    bool const transposed = r.attribute(1) != 0;
    term const db = of(r.x(0), r.dy(), r.attribute(0) != 0, !transposed, r.attribute(2) != 0);
    if (r.wanted(1)) r.give(1, db);
    if (!r.wanted(0)) return;
    term const product = transposed ? extend::matmul(r.y(), extend::transpose_matrices(db))
                                    : extend::matmul(db, extend::transpose_matrices(r.y()));
    r.give(0, part(r, -product));
  }
  static constexpr void tangent(tangent_rule& r) {
    term change = r.has(1) ? r.dx(1) : term{};
    if (r.has(0)) {
      term const da = part(r, r.dx(0));
      term const product = extend::matmul(r.attribute(1) != 0 ? extend::transpose_matrices(da) : da, r.y());
      change = change.present() ? change - product : -product;
    }
    r.give(of(r.x(0), change, r.attribute(0) != 0, r.attribute(1) != 0, r.attribute(2) != 0));
  }
  static constexpr void batch(batch_rule& r) {
    r.give(of(r.every(0), r.every(1), r.attribute(0) != 0, r.attribute(1) != 0, r.attribute(2) != 0));
  }
};

/// The cotangent dA of `cholesky` from L and the cotangent dL of L, of which the lower triangles are read:
/// the symmetric 1/2 L^-T (P + P') L^-1, where P is the lower triangle of L' dL with half the diagonal (Murray 2016, 10).
/// Adjoint: with Q = L^-1 S L^-T of the symmetric part S of the cotangent, and H its lower triangle with half the diagonal:
/// L H toward dL, and the lower triangle of dL H' - 2 dA S L^-T toward L.
struct cholesky_adjoint : detail::matrix_operation<cholesky_adjoint, 2> {
  static constexpr char const* name = "cholesky_adjoint";
  template <class T> static constexpr void one(whole_call const& c, std::int64_t k) {
    detail::cholesky_adjoint_of(detail::matrix_at<T>(c.operand[0], k), detail::matrix_at<T>(c.operand[1], k), detail::matrix_at<T>(c.result, k),
                                c.result.size[c.result.rank - 1], detail::scalar_steps<T>{});
  }
  static constexpr void infer(inference& r) {
    r.like(0);
    if (detail::is_square(r)) r.like(0);
  }
  static constexpr term of(term l, term dl) { return detail::push(info_of<cholesky_adjoint>(), {l, dl}); }
  /// The lower triangle with half of the diagonal.
  static constexpr term halved(term x) { return 0.5 * (extend::triangle(x, true) + extend::triangle(x, true, true)); }
  /// X L^-T.
  static constexpr term over(term x, term l) {
    return extend::transpose_matrices(triangular_solve::of(l, extend::transpose_matrices(x), true, false, false));
  }
  static constexpr void adjoint(adjoint_rule& r) {
    term const l = r.x(0), s = 0.5 * (r.dy() + extend::transpose_matrices(r.dy())), right = over(s, l);
    term const h = halved(triangular_solve::of(l, right, true, false, false));
    if (r.wanted(1)) r.give(1, extend::triangle(extend::matmul(l, h), true));
    if (r.wanted(0))
      r.give(0, extend::triangle(extend::matmul(r.x(1), extend::transpose_matrices(h)) - 2 * extend::matmul(r.y(), right), true));
  }
  static constexpr void tangent(tangent_rule& r) {
    term const l = r.x(0);
    term change{}, moved = r.has(1) ? r.dx(1) : term{};
    if (r.has(0)) {
      term const turned = extend::transpose_matrices(extend::triangle(r.dx(0), true));
      term const x = triangular_solve::of(l, extend::matmul(turned, r.x(1)), true, true, false);
      term const z = triangular_solve::of(l, extend::matmul(turned, r.y()), true, true, false);
      moved = moved.present() ? moved + x : x;
      change = z + extend::transpose_matrices(z);
    }
    term const y = of(l, moved);
    r.give(change.present() ? y - change : y);
  }
  static constexpr void batch(batch_rule& r) { r.give(of(r.every(0), r.every(1))); }
};

/// The lower triangle L with L L' = A, of a symmetric A, whose lower triangle is read.
/// Adjoint: `cholesky_adjoint`.
/// Domain: NaN if A is not positive definite. A pivot of 0 or below is reported.
struct cholesky : detail::matrix_operation<cholesky, 1> {
  static constexpr char const *name = "cholesky", *reports = name;
  static constexpr term regular(term a) { return extend::identity_like(a); }
  template <class T> static constexpr void one(whole_call const& c, std::int64_t k) {
    if (detail::cholesky_of(detail::matrix_at<T>(c.operand[0], k), detail::matrix_at<T>(c.result, k), c.result.size[c.result.rank - 1]))
      c.report(status::singular_matrix);
  }
  static constexpr void infer(inference& r) {
    r.like(0);
    if (detail::is_square(r)) r.like(0);
  }
  static constexpr term of(term a) { return detail::push(info_of<cholesky>(), {a}); }
  static constexpr void adjoint(adjoint_rule& r) { r.give(0, cholesky_adjoint::of(r.y(), r.dy())); }
  static constexpr void tangent(tangent_rule& r) {
    term const l = r.y(), left = triangular_solve::of(l, r.dx(), true, false, false);
    term const both = triangular_solve::of(l, extend::transpose_matrices(left), true, false, false);
    r.give(extend::matmul(l, cholesky_adjoint::halved(both)));
  }
  static constexpr void batch(batch_rule& r) { r.give(of(r.each(0))); }
};

/// P A = L U with partial pivoting. The result has the rows of U with the elements of L below the diagonal, and one more row
/// about P (see detail::lu_of), which has no derivative.
/// Adjoint: dA = P' L^-T (strict lower triangle of L' dL + upper triangle of dU U') U^-T.
struct lu : detail::matrix_operation<lu, 1> {
  static constexpr char const* name = "lu";
  static constexpr term regular(term a) { return extend::identity_like(a); } // (that its `lu_solve` does not report)
  template <class T> static constexpr void one(whole_call const& c, std::int64_t k) {
    detail::lu_of(detail::matrix_at<T>(c.operand[0], k), detail::matrix_at<T>(c.result, k), c.result.size[c.result.rank - 1]);
  }
  static constexpr void infer(inference& r) {
    r.like(0);
    if (!detail::is_square(r)) return;
    extend::dimensions d = r.dims(0);
    d.size[d.rank - 2] = r.b.sum(d.size[d.rank - 2], 1);
    r.result(r.type, d);
  }
  static constexpr term of(term a) { return detail::push(info_of<lu>(), {a}); }
  static constexpr term formula(rule const& r) { return extend::small_lu(r.x()); }
  static constexpr int formula_steps(extend::graph_view const& g, extend::node const& n) {
    return detail::steps_of_formula(g, n, extend::most_formula_rows, [](auto k) { return 3 * k * k * k; }, [](auto) { return 0; });
  }
  /// Rows of the result that L and U share.
  static constexpr term packed(term y, std::int32_t shape) {
    std::int64_t window[2 * max_rank]{};
    for (int k = 0; k < max_rank; ++k) window[2 * k + 1] = 1;
    return slice::of(y, window, shape);
  }
  /// The row about P, with its axis.
  static constexpr term order(term y, std::int32_t shape) {
    std::int64_t window[2 * max_rank]{};
    for (int k = 0; k < max_rank; ++k) window[2 * k + 1] = 1;
    extend::dimensions d = y.b->get().shapes[shape];
    window[2 * (d.rank - 2)] = d.size[d.rank - 2];
    d.size[d.rank - 2] = 1;
    return slice::of(y, window, y.b->shape(d));
  }
  /// P' as a matrix: entry [i, k] is 1 if row k of L U is row i of A.
  static constexpr term permutation(term y, std::int32_t shape) {
    term const row = extend::positions(packed(y, shape), y.rank() - 2);
    return extend::convert(extend::convert(extend::apply<abs>(order(y, shape)), element::int64) == row + 1, y.type());
  }
  static constexpr void adjoint(adjoint_rule& r) {
    std::int32_t const shape = r.x().shape_id();
    term const y = packed(r.y(), shape), dy = packed(r.dy(), shape);
    term const l = extend::triangle(y, true, true) + extend::identity_like(y), u = extend::triangle(y, false);
    term const of_l = extend::triangle(extend::matmul(extend::transpose_matrices(l), extend::triangle(dy, true, true)), true, true);
    term const of_u = extend::triangle(extend::matmul(extend::triangle(dy, false), extend::transpose_matrices(u)), false);
    term const left = triangular_solve::of(y, of_l + of_u, true, true, true);
    term const both = triangular_solve::of(y, extend::transpose_matrices(left), false, false, false);
    r.give(0, extend::matmul(permutation(r.y(), shape), extend::transpose_matrices(both)));
  }
  static constexpr void tangent(tangent_rule& r) {
    std::int32_t const shape = r.x().shape_id();
    term const y = packed(r.y(), shape);
    term const l = extend::triangle(y, true, true) + extend::identity_like(y), u = extend::triangle(y, false);
    term const moved = extend::matmul(extend::transpose_matrices(permutation(r.y(), shape)), r.dx());
    term const left = triangular_solve::of(y, moved, true, false, true);
    term const both = extend::transpose_matrices(triangular_solve::of(y, extend::transpose_matrices(left), false, true, false));
    term const change = extend::matmul(l, extend::triangle(both, true, true)) + extend::matmul(extend::triangle(both, false), u);
    r.give(detail::joined_along(r.y().rank() - 2, change, extend::constant_like(order(r.y(), shape), 0)));
  }
  static constexpr void batch(batch_rule& r) { r.give(of(r.each(0))); }
};

/// Solves A X = B, or A' X = B, from A, the result of `lu` for A, and B. The derivative is that toward A and B.
/// Adjoint: dB solves the transposed system; dA = -dB X', or -X dB'. (Giles 2008, section 2.2.1.) Of an inverse, dA = -X' dX X'.
/// Domain: NaN if A is singular: a pivot of 0 is reported.
struct lu_solve : detail::matrix_operation<lu_solve, 3> {
  static constexpr char const *name = "lu_solve", *reports = "solve";
  static constexpr term regular(term a) { return extend::identity_like(a); }
  enum system : std::int64_t { plain, transposed, inverse }; // the attribute; `inverse`: B is the identity
  template <class T> static constexpr void one(whole_call const& c, std::int64_t k) {
    if (detail::lu_solve_of(detail::matrix_at<T>(c.operand[1], k), detail::matrix_at<T>(c.operand[2], k), detail::matrix_at<T>(c.result, k),
                            c.result.size[c.result.rank - 2], c.result.size[c.result.rank - 1], c.attribute[0] == transposed))
      c.report(status::singular_matrix);
  }
  static constexpr void infer(inference& r) {
    r.like(0);
    if (!detail::is_square(r) || !detail::right_side_fits(r, 2)) return;
    r.like(2);
  }
  static constexpr term of(term a, term factors, term b, std::int64_t which) {
    return detail::push(info_of<lu_solve>(), {a, factors, b}, {which});
  }
  static constexpr term formula(rule const& r) { return extend::small_lu_solve(r.x(1), r.x(2), r.attribute() == transposed); }
  static constexpr int formula_steps(extend::graph_view const& g, extend::node const& n) {
    return detail::steps_of_formula(g, n, extend::most_formula_rows, [](auto k) { return k * (k + 4); }, [](auto k) { return 2 * k * k; });
  }
  static constexpr void adjoint(adjoint_rule& r) {
    bool const turns = r.attribute() == transposed;
    if (r.attribute() == inverse && !r.wanted(2)) {
      term const x = extend::transpose_matrices(r.y());
      return r.give(0, -extend::matmul(x, extend::matmul(r.dy(), x)));
    }
    term const db = of(r.x(0), r.x(1), r.dy(), turns ? plain : transposed);
    if (r.wanted(2)) r.give(2, db);
    if (r.wanted(0))
      r.give(0, -(turns ? extend::matmul(r.y(), extend::transpose_matrices(db)) : extend::matmul(db, extend::transpose_matrices(r.y()))));
  }
  static constexpr void tangent(tangent_rule& r) {
    bool const turns = r.attribute() == transposed;
    if (r.attribute() == inverse && !r.has(2)) return r.give(-extend::matmul(r.y(), extend::matmul(r.dx(0), r.y())));
    term change = r.has(2) ? r.dx(2) : extend::constant_like(r.x(2), 0);
    if (r.has(0)) change = change - extend::matmul(turns ? extend::transpose_matrices(r.dx(0)) : r.dx(0), r.y());
    r.give(of(r.x(0), r.x(1), change, turns ? transposed : plain));
  }
  static constexpr void batch(batch_rule& r) { r.give(of(r.every(0), r.every(1), r.every(2), r.attribute())); }
};

/// The determinant of A, or the logarithm of its magnitude (attribute 0), from A and the result of `lu` for A. The derivative is that
/// toward A.
/// Value: the product of the pivots in the order of rows, with the sign of P; or the sum of the logarithms of their magnitudes.
/// Adjoint: dA = dy y A^-T; of the logarithm, dy A^-T. (Giles 2008, section 2.2.)
/// Domain: the derivative is NaN if A is singular, which is reported.
struct lu_determinant : detail::matrix_operation<lu_determinant, 2> {
  static constexpr char const* name = "lu_determinant";
  template <class T> static constexpr void one(whole_call const& c, std::int64_t k) {
    std::int64_t const n = c.operand[0].size[c.operand[0].rank - 1];
    T const* const lu = c.operand[1].data<T>() + k * n * (n + 1);
    T y = c.attribute[0] == 0 && n > 0 && lu[n * n] < T{} ? T{-1} : c.attribute[0] == 0 ? T{1} : T{};
    for (std::int64_t i = 0; i < n; ++i) {
      T const pivot = lu[i * n + i];
      y = c.attribute[0] == 0 ? y * pivot : y + math::log(math::abs(pivot));
    }
    c.result.data<T>()[k] = y;
  }
  static constexpr void infer(inference& r) {
    r.like(0);
    if (!detail::is_square(r)) return;
    extend::dimensions d = r.dims(0);
    d.rank -= 2;
    r.result(r.type, d);
  }
  static constexpr term of(term a, term factors, bool logarithm) {
    return detail::push(info_of<lu_determinant>(), {a, factors}, {logarithm});
  }
  static constexpr void adjoint(adjoint_rule& r) {
    if (!r.wanted(0)) return;
    extend::dimensions d = r.dy().dims();
    for (int const at : {0, 1}) d.size[d.rank + at] = 1;
    d.rank += 2;
    term const dy = r.attribute() != 0 ? r.dy() : r.dy() * r.y();
    // (the system depends on dy: else pullbacks would solve it before, and report a singular matrix whose determinant is asked for)
    term const right = op::reshape::of(dy, dy.b->shape(d)) * extend::identity_like(r.x(0));
    r.give(0, lu_solve::of(r.x(0), r.x(1), right, lu_solve::transposed));
  }
  static constexpr void tangent(tangent_rule& r) {
    term const part = extend::diagonal_of_matrices(lu_solve::of(r.x(0), r.x(1), r.dx(0), lu_solve::plain));
    term const change = extend::sum(part, 1u << (part.rank() - 1));
    r.give(r.attribute() != 0 ? change : change * r.y());
  }
  static constexpr void batch(batch_rule& r) { r.give(of(r.every(0), r.every(1), r.attribute() != 0)); }
};

} // namespace op

namespace detail {
using linear_system_operations = operations<op::cholesky, op::cholesky_adjoint, op::triangular_solve, op::lu, op::lu_solve, op::lu_determinant>;
} // namespace detail

namespace extend {

/// A is replaced by its symmetric part, so that the gradient is symmetric too.
constexpr term cholesky(term a) {
  if (!has_matrices(a)) return a;
  dimensions const d = a.dims();
  dimension const rows = d.size[d.rank - 2], columns = d.size[d.rank - 1];
  if (rows != columns) return a.b->refuse<refusals::linalg_square>(rows, columns, a.b->place), a;
  if (!is_floating(a.type())) return a.b->refuse<refusals::element_not_floating>(0, 0, a.b->place), a;
  term const symmetric = 0.5 * (a + transpose_matrices(a));
  return is_small(a, 6) ? small_cholesky(symmetric) : op::cholesky::of(symmetric);
}

/// `solver(a, b)` for b as matrices of the stack of `a`. A vector b is one column; leading axes broadcast.
template <class Solver> constexpr term with_right_side(term a, term b, Solver solver) {
  builder& g = *a.b;
  if (!has_matrices(a)) return a;
  bool const is_vector = b.rank() == 1;
  if (is_vector) b = op::reshape::of(b, g.shape({2, {b.dims().size[0], 1}}));
  if (!has_matrices(b)) return b;
  dimensions const p = a.dims(), q = b.dims();
  std::int32_t const common = broadcast_shape(g, g.shape(stack_axes(p)), g.shape(stack_axes(q)));
  if (common == none) return a;
  dimensions const stack = g.get().shapes[common];
  a = broadcast_to(a, g.shape(stack_of(stack, p.size[p.rank - 2], p.size[p.rank - 1])));
  b = broadcast_to(b, g.shape(stack_of(stack, q.size[q.rank - 2], q.size[q.rank - 1])));
  term const x = solver(a, b);
  if (!is_vector || g.failed().why != nullptr) return x;
  dimensions d = x.dims();
  --d.rank;
  return op::reshape::of(x, g.shape(d));
}
constexpr term triangular_solve(term a, term b, bool lower, bool transposed, bool unit) {
  return with_right_side(a, b, [&](term m, term y) { return op::triangular_solve::of(m, y, lower, transposed, unit); });
}
/// The decomposition has no derivative here: `lu_solve` has that toward A.
constexpr term solve(term a, term b) {
  return with_right_side(a, b, [](term m, term y) {
    term const factors = op::lu::of(stop_gradient(m));
    return m.b->failed().why != nullptr ? y : op::lu_solve::of(m, factors, y, op::lu_solve::plain);
  });
}
/// Part k of A = P L U: P, L or U.
constexpr term lu(term a, int k) {
  if (!has_matrices(a)) return a;
  std::int32_t const shape = a.shape_id();
  term const y = op::lu::of(a);
  if (a.b->failed().why != nullptr) return a;
  if (k == 0) return stop_gradient(op::lu::permutation(y, shape));
  term const both = op::lu::packed(y, shape);
  return k == 1 ? triangle(both, true, true) + identity_like(both) : triangle(both, false);
}
constexpr term inverse(term a) {
  if (!has_matrices(a)) return a;
  if (is_small(a, 4)) return small_inverse(a);
  term const factors = op::lu::of(stop_gradient(a));
  return a.b->failed().why != nullptr ? a : op::lu_solve::of(a, factors, identity_like(a), op::lu_solve::inverse);
}

/// The sign of the determinant, or the logarithm of its magnitude.
constexpr term slogdet(term a, bool sign) {
  if (!has_matrices(a)) return a;
  term const y = op::lu::of(stop_gradient(a));
  if (a.b->failed().why != nullptr) return a;
  if (!sign) return op::lu_determinant::of(a, y, true);
  term const pivots = diagonal_of_matrices(op::lu::packed(y, a.shape_id()));
  std::uint32_t const last = 1u << (pivots.rank() - 1);
  term const order = op::reshape::of(op::lu::order(y, a.shape_id()), pivots.shape_id());
  term const first = convert(positions(pivots, pivots.rank() - 1) == 0, y.type());
  term const negative = convert(pivots < 0, y.type()) + first * convert(order < 0, y.type());
  term const half = 0.5 * sum(negative, last), odd = 2 * (half - apply<op::floor>(half));
  term const zeros = sum(convert(pivots == 0, y.type()), last);
  return select(zeros == 0, 1 - 2 * odd, constant_like(odd, 0));
}
/// Up to 4 rows by minors, whose derivatives exist for singular matrices too.
constexpr term determinant(term a) {
  if (!has_matrices(a)) return a;
  if (is_small(a, 4)) return small_determinant(a);
  term const factors = op::lu::of(stop_gradient(a));
  return a.b->failed().why != nullptr ? a : op::lu_determinant::of(a, factors, false);
}

} // namespace extend
} // namespace cotangent

#endif
