// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_MATRIX_FACTORIZATION_HPP
#define COTANGENT_KERNELS_MATRIX_FACTORIZATION_HPP

#include <cotangent/core/math/arithmetic.hpp>
#include <cotangent/kernels/matrix/matmul_update.hpp>
#include <cotangent/kernels/simd.hpp>
#include <cotangent/kernels/transpose.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

// Blocked decompositions and triangular solves, by recursion to blocks of a few rows. Every element is computed from the same terms in the
// same order as by the scalar code (ops/linalg/factorization.hpp), so all bits are equal.

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {

/// How a row of the solution is divided by the element of the diagonal.
enum class diagonal { one, divides, reciprocal };

namespace detail {

inline constexpr std::int64_t block_rows = 24, lu_columns = 16; // not decomposed further

/// The first part of n rows that are more than a block.
constexpr std::int64_t first_rows(std::int64_t n, std::int64_t block) { return (n / 2 + block - 1) / block * block; }

/// Elements of a row, in Vectors registers or fewer: row -= the sum of a[p] x[p], for k rows of x, in that order.
template <int Vectors, class V, class T>
COTANGENT_INLINE void subtract_terms(V* sum, std::int64_t k, T const* a, std::int64_t stride, T const* x, std::int64_t ldx) {
  for (std::int64_t p = 0; p < k; ++p, x += ldx) {
    V const factor = math::broadcast<V>(-a[p * stride]);
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sum[v] = math::fma(factor, simd::load<V>(x + v * simd::lanes<V>), sum[v]);
  }
}
/// Calls f(the first column, std::integral_constant<int, Vectors>) for vectors of elements, then f for single elements.
template <int Vectors, class V, class F> COTANGENT_INLINE void by_vectors(std::int64_t& j, std::int64_t m, F const& f) {
  for (; m - j >= Vectors * simd::lanes<V>; j += Vectors * simd::lanes<V>) f.template operator()<Vectors, V>(j);
}
template <class T, class F> COTANGENT_INLINE void by_columns(std::int64_t j, std::int64_t m, F const& f) {
  using V = simd::pack<T, simd::width<T>>;
  detail::by_vectors<8, V>(j, m, f);
  detail::by_vectors<4, V>(j, m, f);
  detail::by_vectors<2, V>(j, m, f);
  detail::by_vectors<1, V>(j, m, f);
  if constexpr (simd::width<T> > 8) detail::by_vectors<1, simd::pack<T, 8>>(j, m, f);
  if constexpr (simd::width<T> > 4) detail::by_vectors<1, simd::pack<T, 4>>(j, m, f);
  detail::by_vectors<1, T>(j, m, f);
}

/// A block of `solve_lower`.
template <class T>
[[gnu::noinline]] void solve_block(std::int64_t n, std::int64_t m, matrix<T> const& a, T* x, std::int64_t ldx, diagonal d) {
  detail::by_columns<T>(0, m, [&]<int Vectors, class V>(std::int64_t j) {
    for (std::int64_t i = 0; i < n; ++i) {
      T* const row = x + i * ldx + j;
      V sum[Vectors];
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sum[v] = simd::load<V>(row + v * simd::lanes<V>);
      detail::subtract_terms<Vectors, V>(sum, i, a.data + i * a.row, a.column, x + j, ldx);
      T const pivot = d == diagonal::one ? T{1} : a.data[i * (a.row + a.column)];
      V const by = math::broadcast<V>(d == diagonal::reciprocal ? T{1} / pivot : pivot);
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) {
        if (d == diagonal::divides) sum[v] = sum[v] / by;
        else if (d == diagonal::reciprocal) sum[v] = sum[v] * by;
        simd::store(row + v * simd::lanes<V>, sum[v]);
      }
    }
  });
}

/// A block of `cholesky`.
template <class T> [[gnu::noinline]] T upper_block(std::int64_t n, T* u, std::int64_t ld) {
  for (std::int64_t i = 0; i < n; ++i) {
    T* const row = u + i * ld;
    detail::by_columns<T>(i, n, [&]<int Vectors, class V>(std::int64_t j) {
      V sum[Vectors];
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sum[v] = simd::load<V>(row + j + v * simd::lanes<V>);
      detail::subtract_terms<Vectors, V>(sum, i, u + i, ld, u + j, ld);
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) simd::store(row + j + v * simd::lanes<V>, sum[v]);
    });
    if (!(row[i] > T{})) return row[i];
    T const root = math::sqrt(row[i]), inverse = T{1} / root;
    row[i] = root;
    for (std::int64_t j = i + 1; j < n; ++j) row[j] = row[j] * inverse;
  }
  return T{1};
}

/// y -= factor x.
template <class T> COTANGENT_INLINE void subtract_scaled(T* y, T factor, T const* x, std::int64_t count) {
  detail::by_columns<T>(0, count, [&]<int Vectors, class V>(std::int64_t j) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      T* const p = y + j + v * simd::lanes<V>;
      simd::store(p, math::fma(math::broadcast<V>(-factor), simd::load<V>(x + j + v * simd::lanes<V>), simd::load<V>(p)));
    }
  });
}
template <class T> void exchange_rows(T* a, T* b, std::int64_t count) {
  detail::by_columns<T>(0, count, [&]<int Vectors, class V>(std::int64_t j) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      std::int64_t const k = j + v * simd::lanes<V>;
      V const kept = simd::load<V>(a + k);
      simd::store(a + k, simd::load<V>(b + k));
      simd::store(b + k, kept);
    }
  });
}

} // namespace detail

// `Blocked` is false where the number of rows is known to be that of one block: then the code of products is not emitted.

/// Solves A X = B in place of B, for the lower triangle of A, of n rows, and m columns of B. Strides of A, and that of rows of X, may be
/// negative or exchanged: then A is an upper triangle, or transposed.
/// Value: x -= a x' in the order of rows, in one chain; then the division.
/// Cost: n n m flops. `scratch` has update_scratch(n, n) elements.
/// Checked: tests/runtime/factorization.cpp
template <class T, bool Blocked = true>
void solve_lower(std::int64_t n, std::int64_t m, detail::matrix<T> const& a, T* x, std::int64_t ldx, diagonal d, T* scratch) {
  if constexpr (Blocked)
    if (n > detail::block_rows) {
      std::int64_t const h = detail::first_rows(n, detail::block_rows);
      kernels::solve_lower<T>(h, m, a, x, ldx, d, scratch);
      kernels::subtract_product<T>(n - h, m, h, {a.data + h * a.row, a.row, a.column}, x, ldx, x + h * ldx, ldx, scratch);
      return kernels::solve_lower<T>(n - h, m, {a.data + h * (a.row + a.column), a.row, a.column}, x + h * ldx, ldx, d, scratch);
    }
  detail::solve_block<T>(n, m, a, x, ldx, d);
}

/// U with U'U = A, in place of the upper triangle; elements below it may change. The result is the first pivot that is not above 0, else 1.
template <class T, bool Blocked = true> T upper_root(std::int64_t n, T* u, std::int64_t ld, T* scratch) {
  if constexpr (Blocked)
    if (n > detail::block_rows) {
      std::int64_t const h = detail::first_rows(n, detail::block_rows);
      if (T const pivot = kernels::upper_root<T>(h, u, ld, scratch); !(pivot > T{})) return pivot;
      T *const right = u + h, *const below = u + h * ld + h;
      kernels::solve_lower<T>(h, n - h, {u, 1, ld}, right, ld, diagonal::reciprocal, scratch);
      kernels::subtract_product<T>(n - h, n - h, h, {right, 1, ld}, right, ld, below, ld, scratch, true);
      return kernels::upper_root<T>(n - h, below, ld, scratch);
    }
  return detail::upper_block<T>(n, u, ld);
}

/// L with L L' = A in `u`, from the lower triangle of A, row-major, zeros above the diagonal. NaN if A is not positive definite. True if a
/// pivot is 0 or below.
/// Checked: tests/runtime/factorization.cpp
template <class T, bool Blocked = true> bool cholesky(std::int64_t n, T const* a, T* u, T* scratch) {
  kernels::transpose(n, n, a, n, u, n);
  T const pivot = kernels::upper_root<T, Blocked>(n, u, n, scratch);
  if (!(pivot > T{})) {
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) u[i * n + j] = j > i ? T{} : std::numeric_limits<T>::quiet_NaN();
    return pivot <= T{};
  }
  constexpr std::int64_t side = 16;
  for (std::int64_t i0 = 0; i0 < n; i0 += side)
    for (std::int64_t j0 = i0; j0 < n; j0 += side)
      for (std::int64_t i = i0; i < n && i < i0 + side; ++i)
        for (std::int64_t j = j0 > i ? j0 : i + 1; j < n && j < j0 + side; ++j) {
          u[j * n + i] = u[i * n + j];
          u[i * n + j] = T{};
        }
  return false;
}

namespace detail {

/// Of `rows` rows of lu_columns columns below a pivot's: column `at` by the inverse of the pivot, and those behind it less that times the
/// pivot's row. In whole vectors: single columns would take most of the time.
template <class T> void update_panel(std::int64_t rows, T* y, T const* pivot, std::int64_t ld, std::int64_t at, T inverse) {
  constexpr std::int64_t W = simd::width<T>, vectors = lu_columns / W;
  using V = simd::pack<T, W>;
  std::int64_t const first = (at + 1) / W;
  auto const behind = simd::iota<V>(static_cast<T>(first * W)) > math::broadcast<V>(static_cast<T>(at));
  for (std::int64_t k = 0; k < rows; ++k, y += ld) {
    T const factor = y[at] * inverse;
    V const by = math::broadcast<V>(-factor);
    if (first < vectors) {
      V const old = simd::load<V>(y + first * W);
      simd::store(y + first * W, math::select(behind, math::fma(by, simd::load<V>(pivot + first * W), old), old));
    }
    for (std::int64_t v = first + 1; v < vectors; ++v)
      simd::store(y + v * W, math::fma(by, simd::load<V>(pivot + v * W), simd::load<V>(y + v * W)));
    y[at] = factor; // (stored before, it would delay the load of its vector)
  }
}

/// Columns `begin` to `end` of `lu`, after the updates by those before.
template <class T, bool Blocked = true> bool lu_part(std::int64_t n, T* y, std::int64_t begin, std::int64_t end, T* scratch) {
  if constexpr (Blocked)
    if (end - begin > lu_columns) {
      std::int64_t const middle = begin + first_rows(end - begin, lu_columns), rest = end - middle;
      bool const odd = detail::lu_part<T>(n, y, begin, middle, scratch);
      bool regular = true;
      for (std::int64_t i = begin; i < middle; ++i) regular = regular && y[i * n + i] != T{};
      T *const above = y + begin * n + middle, *const below = y + middle * n + middle;
      if (regular) {
        kernels::solve_lower<T>(middle - begin, rest, {y + begin * n + begin, n, 1}, above, n, diagonal::one, scratch);
        kernels::subtract_product<T>(n - middle, rest, middle - begin, {y + middle * n + begin, n, 1}, above, n, below, n, scratch);
      } else // columns of pivots of 0 are omitted, since they may contain NaN
        for (std::int64_t i = begin; i < middle; ++i)
          for (std::int64_t k = i + 1; k < n && y[i * n + i] != T{}; ++k)
            detail::subtract_scaled(y + k * n + middle, y[k * n + i], y + i * n + middle, rest);
      return detail::lu_part<T>(n, y, middle, end, scratch) != odd;
    }
  T* const order = y + n * n;
  bool odd = false;
  for (std::int64_t i = begin; i < end; ++i) {
    std::int64_t best = i;
    T most = math::abs(y[i * n + i]);
    for (std::int64_t k = i + 1; k < n; ++k)
      if (T const size = math::abs(y[k * n + i]); size > most) best = k, most = size;
    T const* const row = y + i * n;
    if (best != i) {
      odd = !odd;
      detail::exchange_rows(y + i * n, y + best * n, n);
      T const kept = order[i];
      order[i] = order[best];
      order[best] = kept;
    }
    if (row[i] == T{}) continue;
    T const inverse = T{1} / row[i];
    if (end - begin == lu_columns) {
      detail::update_panel(n - i - 1, y + (i + 1) * n + begin, row + begin, n, i - begin, inverse);
      continue;
    }
    for (std::int64_t k = i + 1; k < n; ++k) {
      T const factor = y[k * n + i] * inverse;
      y[k * n + i] = factor;
      detail::subtract_scaled(y + k * n + i + 1, factor, row + i + 1, end - i - 1);
    }
  }
  return odd;
}

} // namespace detail

/// P A = L U in the rows of `y`, and the row about P of `op::lu`.
/// Checked: tests/runtime/factorization.cpp
template <class T, bool Blocked = true> void lu(std::int64_t n, T const* a, T* y, T* scratch) {
  for (std::int64_t k = 0; k < n * n; ++k) y[k] = a[k];
  T* const order = y + n * n;
  for (std::int64_t k = 0; k < n; ++k) order[k] = static_cast<T>(k + 1);
  if (detail::lu_part<T, Blocked>(n, y, 0, n, scratch))
    for (std::int64_t k = 0; k < n; ++k) order[k] = -order[k];
}

} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
