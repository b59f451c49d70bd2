// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_LINALG_FACTORIZATION_HPP
#define COTANGENT_OPS_LINALG_FACTORIZATION_HPP

#include <cotangent/graph/whole.hpp>
#include <cotangent/ops/linalg/products.hpp>

#include <cstdint>
#include <limits>

// Decompositions of matrices and of stacks of matrices, and linear systems. Derivatives: M. Giles, "Collected matrix
// derivative results for forward and reverse mode algorithmic differentiation", 2008, sections 2.2 and 2.3; I. Murray,
// "Differentiation of the Cholesky decomposition", 2016, equations 8 and 10.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(linalg_square, equal, rows_of_matrix, columns_of_matrix, "cotangent: decompositions and linear systems need square matrices")
COTANGENT_REFUSAL(linalg_right_side, equal, rows_of_matrix, rows_of_right_side, "cotangent: a linear system needs as many rows on the right as the matrix has")
COTANGENT_REFUSAL(linalg_stack, equal, extent_of_matrices, extent_of_right_sides, "cotangent: both operands of a linear system must be stacks of one shape")
// clang-format on
} // namespace refusals

namespace detail {

/// True if operand k has square matrices of floating-point numbers; else the failure is recorded.
constexpr bool is_square(inference& r, int k = 0) {
  dimensions const d = r.dims(k);
  if (d.rank < 2) return r.refuse<refusals::linalg_rank>(2, d.rank), false;
  if (!is_floating(r.type)) return r.refuse<refusals::element_not_floating>(), false;
  dimension const rows = d.size[d.rank - 2], columns = d.size[d.rank - 1];
  if (rows != columns) return r.refuse<refusals::linalg_square>(rows, columns), false;
  return true;
}
/// True if the right sides, operand k, fit the matrices of operand 0; else the failure is recorded.
constexpr bool right_side_fits(inference& r, int k) {
  dimensions const a = r.dims(0), b = r.dims(k);
  if (r.tensor(k).type != r.type) return r.refuse<refusals::elements_differ>(), false;
  if (b.rank != a.rank) return r.refuse<refusals::linalg_stack>(a.rank, b.rank), false;
  for (int j = 0; j + 2 < a.rank; ++j)
    if (a.size[j] != b.size[j]) return r.refuse<refusals::linalg_stack>(a.size[j], b.size[j]), false;
  if (a.size[a.rank - 2] != b.size[b.rank - 2])
    return r.refuse<refusals::linalg_right_side>(a.size[a.rank - 2], b.size[b.rank - 2]), false;
  return true;
}
/// The number of matrices of a stack.
constexpr std::int64_t matrices_in(whole_tensor const& x) {
  std::int64_t n = 1;
  for (int k = 0; k + 2 < x.rank; ++k) n *= x.size[k];
  return n;
}
// (g++ -O3 makes copies of a loop over matrices that are never entered, and warns of them.)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Waggressive-loop-optimizations"
#endif
/// Matrix k of a stack.
template <class T> constexpr T* matrix_at(whole_tensor const& x, std::int64_t k) {
  return x.data<T>() + k * x.size[x.rank - 1] * x.size[x.rank - 2];
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
/// y[k] -= c x[k].
template <class T> COTANGENT_FORMULA constexpr void subtract_row(T* y, T c, T const* x, std::int64_t count) {
  T const factor = -c;
  for (std::int64_t k = 0; k < count; ++k) y[k] = math::fma(factor, x[k], y[k]);
}

/// One matrix: U with U'U = A is computed by rows in `u`, from the lower triangle of A; its transpose replaces it. NaN if A is
/// not positive definite. True if a pivot is 0 or below; false if the first pivot that is not above 0 is NaN.
template <class T> constexpr bool cholesky_of(T const* a, T* u, std::int64_t n) {
  bool definite = true, refused = false;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = i; j < n; ++j) u[i * n + j] = a[j * n + i];
  for (std::int64_t i = 0; i < n; ++i) {
    T* const row = u + i * n;
    if (definite) {
      definite = row[i] > T{};
      refused = row[i] <= T{};
    }
    T const root = math::sqrt(row[i]), inverse = T{1} / root;
    row[i] = root;
    for (std::int64_t j = i + 1; j < n; ++j) row[j] = row[j] * inverse;
    for (std::int64_t k = i + 1; k < n; ++k) detail::subtract_row(u + k * n + k, row[k], row + k, n - k);
  }
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = i; j < n; ++j) {
      T const x = definite ? u[i * n + j] : std::numeric_limits<T>::quiet_NaN();
      u[j * n + i] = x;
      if (j != i) u[i * n + j] = T{};
    }
  return refused;
}

/// The steps of `cholesky_adjoint_of`, element by element. Rows of all matrices are `ld` elements apart.
template <class T> struct scalar_steps {
  /// c -= a b, for c of m rows and n columns.
  static constexpr void subtract_product(std::int64_t m, std::int64_t n, std::int64_t k, T const* a, T const* b, T* c, std::int64_t ld) {
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t p = 0; p < k; ++p) detail::subtract_row(c + i * ld, a[i * ld + p], b + p * ld, n);
  }
  /// Solves L' X = B in place of B, for n rows and m columns of B.
  static constexpr void solve_transposed(std::int64_t n, std::int64_t m, T const* l, T* x, std::int64_t ld) {
    for (std::int64_t i = n - 1; i >= 0; --i) {
      for (std::int64_t p = n - 1; p > i; --p) detail::subtract_row(x + i * ld, l[p * ld + i], x + p * ld, m);
      for (std::int64_t j = 0; j < m; ++j) x[i * ld + j] = x[i * ld + j] / l[i * ld + i];
    }
  }
  static constexpr void transpose(std::int64_t rows, std::int64_t columns, T const* from, T* to, std::int64_t ld) {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) to[j * ld + i] = from[i * ld + j];
  }
  static constexpr void subtract_row(T* y, T c, T const* x, std::int64_t count) { detail::subtract_row(y, c, x, count); }
};

inline constexpr std::int64_t adjoint_rows = 24; // not divided further

/// A block of `cholesky_adjoint_of`: from the lower triangle of dL in `w`, twice dA, symmetric.
template <bool Blocked, class T, class Steps>
constexpr void cholesky_adjoint_part(std::int64_t n, T const* l, T* w, std::int64_t ld, Steps const& steps) {
  if constexpr (Blocked)
    if (n > adjoint_rows) { // L22 L22' is A22 - L21 L21', and L21 is A21 L11^-T
      std::int64_t const h = (n / 2 + adjoint_rows - 1) / adjoint_rows * adjoint_rows;
      T const* const below = l + h * ld;
      T *const low = w + h * ld, *const right = w + h;
      cholesky_adjoint_part<true>(n - h, below + h, low + h, ld, steps);
      steps.subtract_product(n - h, h, n - h, low + h, below, low, ld);
      steps.transpose(n - h, h, low, right, ld);
      steps.solve_transposed(h, n - h, l, right, ld);
      steps.subtract_product(h, h, n - h, right, below, w, ld);
      cholesky_adjoint_part<true>(h, l, w, ld, steps);
      return steps.transpose(h, n - h, right, low, ld);
    }
  for (std::int64_t j = n - 1; j >= 0; --j) {
    T const* const root = l + j * ld;
    T* const row = w + j * ld;
    T const inverse = T{1} / root[j];
    T pivot = row[j];
    for (std::int64_t i = j + 1; i < n; ++i) {
      T const x = w[i * ld + j] * inverse;
      w[i * ld + j] = x;
      pivot = math::fma(-x, l[i * ld + j], pivot);
    }
    row[j] = pivot * inverse;
    for (std::int64_t i = j + 1; i < n; ++i) {
      T const x = w[i * ld + j];
      steps.subtract_row(row, x, l + i * ld, j);
      steps.subtract_row(w + i * ld, x, root, j);
    }
    steps.subtract_row(row, row[j], root, j);
    for (std::int64_t i = j + 1; i < n; ++i) row[i] = w[i * ld + j];
  }
}
/// The symmetric dA from the lower triangles of L and dL, in `w`: the steps of the blocked decomposition in reverse (Murray 2016).
/// Cost: 5/6 n^3 flops, two and a half times those of the decomposition. `Blocked` is false if there is one block.
template <bool Blocked = true, class T, class Steps>
constexpr void cholesky_adjoint_of(T const* l, T const* dl, T* w, std::int64_t n, Steps const& steps) {
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) w[i * n + j] = j <= i ? dl[i * n + j] : T{};
  cholesky_adjoint_part<Blocked>(n, l, w, n, steps);
  for (std::int64_t k = 0; k < n * n; ++k) w[k] = w[k] * T{0.5};
}

/// Solves op(A) X = B in place of B, for a triangle of A. Rows are subtracted in the order in which they are solved.
template <class T>
constexpr void triangular_solve_of(T const* a, T* x, std::int64_t n, std::int64_t m, bool lower, bool transposed, bool unit) {
  bool const down = lower != transposed;
  for (std::int64_t step = 0; step < n; ++step) {
    std::int64_t const i = down ? step : n - 1 - step;
    T* const row = x + i * m;
    if (!transposed)
      for (std::int64_t k = down ? 0 : n - 1; k != i; k += down ? 1 : -1) detail::subtract_row(row, a[i * n + k], x + k * m, m);
    if (!unit)
      for (std::int64_t c = 0; c < m; ++c) row[c] = row[c] / a[i * n + i];
    if (transposed)
      for (std::int64_t k = down ? i + 1 : 0, end = down ? n : i; k < end; ++k) detail::subtract_row(x + k * m, a[i * n + k], row, m);
  }
}

/// P A = L U in the rows of `y`, and a row about P: entry i is the row of A that is row i of L U, plus 1; all are negative if P is
/// odd. A pivot of 0 leaves its column as it is.
template <class T> constexpr void lu_of(T const* a, T* y, std::int64_t n) {
  for (std::int64_t k = 0; k < n * n; ++k) y[k] = a[k];
  T* const order = y + n * n;
  bool odd = false;
  for (std::int64_t k = 0; k < n; ++k) order[k] = static_cast<T>(k + 1);
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t best = i;
    for (std::int64_t k = i + 1; k < n; ++k)
      if (math::abs(y[k * n + i]) > math::abs(y[best * n + i])) best = k;
    if (best != i) {
      odd = !odd;
      for (std::int64_t c = 0; c <= n; ++c) {
        T& above = c == n ? order[i] : y[i * n + c];
        T& below = c == n ? order[best] : y[best * n + c];
        T const kept = above;
        above = below;
        below = kept;
      }
    }
    T const* const row = y + i * n;
    if (row[i] == T{}) continue;
    T const inverse = T{1} / row[i];
    for (std::int64_t k = i + 1; k < n; ++k) {
      T const factor = y[k * n + i] * inverse;
      y[k * n + i] = factor;
      detail::subtract_row(y + k * n + i + 1, factor, row + i + 1, n - i - 1);
    }
  }
  if (odd)
    for (std::int64_t k = 0; k < n; ++k) order[k] = -order[k];
}

/// Solves A X = B, or A' X = B, from the result of `lu_of`. NaN if A is singular: a pivot is 0. Then the result is true.
template <class T>
constexpr bool lu_solve_of(T const* lu, T const* b, T* x, std::int64_t n, std::int64_t m, bool transposed) {
  T const* const order = lu + n * n;
  auto const from = [&](std::int64_t i) { return static_cast<std::int64_t>(math::abs(order[i])) - 1; };
  bool singular = false;
  for (std::int64_t i = 0; i < n; ++i) singular = singular || lu[i * n + i] == T{};
  if (singular) {
    for (std::int64_t k = 0; k < n * m; ++k) x[k] = std::numeric_limits<T>::quiet_NaN();
    return true;
  }
  if (!transposed) {
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t c = 0; c < m; ++c) x[i * m + c] = b[from(i) * m + c];
    detail::triangular_solve_of(lu, x, n, m, true, false, true);
    detail::triangular_solve_of(lu, x, n, m, false, false, false);
    return false;
  }
  // A' = U' L' P. Each column of P x is solved in one of the rows of `x`, then moved: cycles of P by repeated exchange.
  for (std::int64_t k = 0; k < n * m; ++k) x[k] = b[k];
  detail::triangular_solve_of(lu, x, n, m, false, true, false);
  detail::triangular_solve_of(lu, x, n, m, true, true, true);
  for (std::int64_t i = 0; i < n; ++i) {
    // Row i of the solution is row k with from(k) == i, unless an earlier exchange moved that row.
    std::int64_t k = 0;
    while (from(k) != i) ++k;
    while (k < i) { // row k was exchanged when it was position k's turn: follow it to its new place
      std::int64_t next = 0;
      while (from(next) != k) ++next;
      k = next;
    }
    if (k != i)
      for (std::int64_t c = 0; c < m; ++c) {
        T const kept = x[i * m + c];
        x[i * m + c] = x[k * m + c];
        x[k * m + c] = kept;
      }
  }
  return false;
}

} // namespace detail
} // namespace cotangent

#endif
