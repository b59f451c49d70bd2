// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_LINEAR_SYSTEMS_HPP
#define COTANGENT_RUN_LINEAR_SYSTEMS_HPP

#include <cotangent/core/math/arithmetic.hpp>
#include <cotangent/kernels/matrix/factorization.hpp>
#include <cotangent/kernels/matrix/small_systems.hpp>
#include <cotangent/ops/linalg/systems.hpp>
#include <cotangent/run/whole.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

// The kernels of decompositions and linear systems, for static programs and the interpreter.

namespace cotangent::run {
inline namespace COTANGENT_ABI {

/// The common base: `Self::one<T, Rows>(call, matrix, scratch)`, and `Self::lanes<T>(call, first matrix)` for as many small ones as a
/// register has lanes.
template <class Self> struct matrix_kernel {
  template <class T, std::int64_t Rows> static void on(whole_call const& c) noexcept {
    T* const scratch = reinterpret_cast<T*>(c.scratch);
    std::int64_t const n = detail::matrices_in(c.operand[0]);
    std::int64_t k = 0;
    if constexpr (Rows <= kernels::most_lane_rows && requires { &Self::template lanes<T>; })
      if (rows(c) <= kernels::most_lane_rows)
        for (; n - k >= simd::width<T>; k += simd::width<T>) Self::template lanes<T>(c, k);
    for (; k < n; ++k) Self::template one<T, Rows>(c, k, scratch);
  }
  template <std::int64_t Rows, std::int64_t Block> static constexpr bool is_blocked = Rows < 0 || Rows > Block;
  static constexpr std::int64_t rows(whole_call const& c) { return c.operand[0].size[c.operand[0].rank - 1]; }
  static constexpr std::int64_t columns(whole_call const& c) { return c.result.size[c.result.rank - 1]; }
  /// Of an update, and an index for each row.
  static constexpr std::int64_t scratch_bytes(whole_call const& c) {
    std::int64_t const n = rows(c), index = n * static_cast<std::int64_t>(sizeof(std::int64_t));
    if (n <= kernels::detail::lu_columns) return index;
    return index + (c.result.type == element::float32 ? 4 * kernels::detail::update_scratch<float>(n, n)
                                                      : 8 * kernels::detail::update_scratch<double>(n, n));
  }
  /// Tensors without elements may have no memory, and then a copy of 0 bytes is undefined.
  template <class T> static void copy(T* to, T const* from, std::int64_t count) noexcept {
    if (count > 0) std::memmove(to, from, static_cast<std::size_t>(count) * sizeof(T));
  }
  /// Solves op(A) X = B in place of B, as detail::triangular_solve_of does.
  template <class T, std::int64_t Rows>
  static void solve(T const* a, T* x, std::int64_t n, std::int64_t m, bool lower, bool transposed, bool unit, T* scratch) noexcept {
    if (n == 0 || m == 0) return;
    kernels::diagonal const d = unit ? kernels::diagonal::one : kernels::diagonal::divides;
    std::int64_t const row = transposed ? 1 : n, column = transposed ? n : 1;
    constexpr bool blocked = is_blocked<Rows, kernels::detail::block_rows>;
    if (lower != transposed) kernels::solve_lower<T, blocked>(n, m, {a, row, column}, x, m, d, scratch);
    else kernels::solve_lower<T, blocked>(n, m, {a + (n * n - 1), -row, -column}, x + (n - 1) * m, -m, d, scratch);
  }
  template <class T> static bool has_zero(T const* a, std::int64_t n) noexcept {
    bool found = false;
    for (std::int64_t i = 0; i < n; ++i) found = found || a[i * n + i] == T{};
    return found;
  }
};

template <> struct whole_kernel<op::cholesky> : matrix_kernel<whole_kernel<op::cholesky>> {
  template <class T, std::int64_t Rows> static void one(whole_call const& c, std::int64_t k, T* scratch) noexcept {
    if (kernels::cholesky<T, matrix_kernel::is_blocked<Rows, kernels::detail::block_rows>>(rows(c), detail::matrix_at<T>(c.operand[0], k), detail::matrix_at<T>(c.result, k), scratch))
      c.report(status::singular_matrix);
  }
};
/// The steps of the adjoint of a Cholesky decomposition, with the bits of detail::scalar_steps.
template <class T> struct kernel_steps {
  T* scratch;
  void subtract_product(std::int64_t m, std::int64_t n, std::int64_t k, T const* a, T const* b, T* c, std::int64_t ld) const noexcept {
    kernels::subtract_product<T>(m, n, k, {a, ld, 1}, b, ld, c, ld, scratch);
  }
  void solve_transposed(std::int64_t n, std::int64_t m, T const* l, T* x, std::int64_t ld) const noexcept {
    kernels::solve_lower<T>(n, m, {l + (n - 1) * (ld + 1), -1, -ld}, x + (n - 1) * ld, -ld, kernels::diagonal::divides, scratch);
  }
  void transpose(std::int64_t rows, std::int64_t columns, T const* from, T* to, std::int64_t ld) const noexcept {
    kernels::transpose(rows, columns, from, ld, to, ld);
  }
  void subtract_row(T* y, T c, T const* x, std::int64_t count) const noexcept { kernels::detail::subtract_scaled(y, c, x, count); }
};
template <> struct whole_kernel<op::cholesky_adjoint> : matrix_kernel<whole_kernel<op::cholesky_adjoint>> {
  template <class T, std::int64_t Rows> static void one(whole_call const& c, std::int64_t k, T* scratch) noexcept {
    cotangent::detail::cholesky_adjoint_of<matrix_kernel::is_blocked<Rows, cotangent::detail::adjoint_rows>>(
        detail::matrix_at<T>(c.operand[0], k), detail::matrix_at<T>(c.operand[1], k), detail::matrix_at<T>(c.result, k), rows(c),
        kernel_steps<T>{scratch});
  }
};
template <> struct whole_kernel<op::lu> : matrix_kernel<whole_kernel<op::lu>> {
  template <class T, std::int64_t Rows> static void one(whole_call const& c, std::int64_t k, T* scratch) noexcept {
    kernels::lu<T, matrix_kernel::is_blocked<Rows, kernels::detail::lu_columns>>(rows(c), detail::matrix_at<T>(c.operand[0], k), detail::matrix_at<T>(c.result, k), scratch);
  }
  template <class T> static void lanes(whole_call const& c, std::int64_t k) noexcept {
    kernels::lu_lanes(rows(c), detail::matrix_at<T>(c.operand[0], k), detail::matrix_at<T>(c.result, k));
  }
};
template <> struct whole_kernel<op::triangular_solve> : matrix_kernel<whole_kernel<op::triangular_solve>> {
  template <class T, std::int64_t Rows> static void one(whole_call const& c, std::int64_t k, T* scratch) noexcept {
    std::int64_t const n = rows(c), m = columns(c);
    T const* const a = detail::matrix_at<T>(c.operand[0], k);
    T* const x = detail::matrix_at<T>(c.result, k);
    matrix_kernel::copy(x, detail::matrix_at<T>(c.operand[1], k), n * m);
    bool const unit = c.attribute[2] != 0;
    matrix_kernel::template solve<T, Rows>(a, x, n, m, c.attribute[0] != 0, c.attribute[1] != 0, unit, scratch);
    if (!unit && has_zero(a, n)) c.report(status::singular_matrix);
  }
  template <class T> static void lanes(whole_call const& c, std::int64_t k) noexcept {
    if (kernels::triangular_solve_lanes(rows(c), columns(c), detail::matrix_at<T>(c.operand[0], k), detail::matrix_at<T>(c.operand[1], k),
                                        detail::matrix_at<T>(c.result, k), c.attribute[0] != 0, c.attribute[1] != 0, c.attribute[2] != 0))
      c.report(status::singular_matrix);
  }
};
template <> struct whole_kernel<op::lu_solve> : matrix_kernel<whole_kernel<op::lu_solve>> {
  template <class T, std::int64_t Rows> static void one(whole_call const& c, std::int64_t k, T* scratch) noexcept {
    std::int64_t const n = rows(c), m = columns(c);
    T const *const lu = detail::matrix_at<T>(c.operand[1], k), *const b = detail::matrix_at<T>(c.operand[2], k);
    T* const x = detail::matrix_at<T>(c.result, k);
    if (has_zero(lu, n)) {
      for (std::int64_t i = 0; i < n * m; ++i) x[i] = std::numeric_limits<T>::quiet_NaN();
      return c.report(status::singular_matrix);
    }
    auto const from = [&](std::int64_t i) { return static_cast<std::int64_t>(math::abs(lu[n * n + i])) - 1; };
    bool const transposed = c.attribute[0] == op::lu_solve::transposed;
    if (kernels::lu_solve_short(n, m, lu, b, x, transposed, from)) return;
    std::int64_t* const to = reinterpret_cast<std::int64_t*>(c.scratch); // before the solve uses the scratch, and after
    if (!transposed) {
      for (std::int64_t i = 0; i < n; ++i) matrix_kernel::copy(x + i * m, b + from(i) * m, m);
      matrix_kernel::template solve<T, Rows>(lu, x, n, m, true, false, true, scratch);
      return matrix_kernel::template solve<T, Rows>(lu, x, n, m, false, false, false, scratch);
    }
    matrix_kernel::copy(x, b, n * m);
    matrix_kernel::template solve<T, Rows>(lu, x, n, m, false, true, false, scratch);
    matrix_kernel::template solve<T, Rows>(lu, x, n, m, true, true, true, scratch);
    // A' = U' L' P: row i of the solution goes to row from(i). Each exchange brings a row to its place.
    for (std::int64_t i = 0; i < n; ++i) to[i] = from(i);
    for (std::int64_t i = 0; i < n; ++i)
      while (to[i] != i) {
        std::int64_t const at = to[i];
        kernels::detail::exchange_rows(x + i * m, x + at * m, m);
        to[i] = to[at];
        to[at] = at;
      }
  }
  template <class T> static void lanes(whole_call const& c, std::int64_t k) noexcept {
    if (kernels::lu_solve_lanes(rows(c), columns(c), detail::matrix_at<T>(c.operand[1], k), detail::matrix_at<T>(c.operand[2], k),
                                detail::matrix_at<T>(c.result, k), c.attribute[0] == op::lu_solve::transposed))
      c.report(status::singular_matrix);
  }
};

} // namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
