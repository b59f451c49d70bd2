// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_MATRIX_MATMUL_HPP
#define COTANGENT_KERNELS_MATRIX_MATMUL_HPP

#include <cotangent/kernels/matrix/matmul_panel.hpp>
#include <cotangent/kernels/matrix/matmul_small.hpp>
#include <cotangent/kernels/matrix/matmul_tile.hpp>
#include <cotangent/kernels/matrix/matmul_vector.hpp>
#include <cotangent/kernels/simd.hpp>

#include <cstdint>
#include <type_traits>

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {

namespace detail {

/// Plain loops for integers; overflow wraps.
template <class T>
void integer_product(std::int64_t m, std::int64_t n, std::int64_t k, matrix<T> a, matrix<T> b, T* c,
                     std::int64_t ldc) {
  using U = std::make_unsigned_t<T>;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      U sum = 0;
      for (std::int64_t p = 0; p < k; ++p)
        sum = static_cast<U>(sum + static_cast<U>(a.data[i * a.row + p * a.column]) *
                                       static_cast<U>(b.data[p * b.row + j * b.column]));
      c[i * ldc + j] = static_cast<T>(sum);
    }
}

/// Selects the fastest algorithm; all give the same bits.
template <class T>
[[gnu::noinline]] void product(std::int64_t m, std::int64_t n, std::int64_t k, matrix<T> const& a, matrix<T> const& b,
                               T* c, std::int64_t ldc, T* scratch) {
  if (m <= 0 || n <= 0) return;
  if (k <= 0) {
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) c[i * ldc + j] = T{};
    return;
  }
  if (n == 1 && a.column == 1)
    return detail::rows_times_vector<T>(m, k, a.data, a.row, {b.data, b.row}, {c, ldc});
  if (n == 1) return detail::vector_times_rows<T>(m, k, a.data, a.column, {b.data, b.row}, {c, ldc});
  if (m == 1 && b.column == 1)
    return detail::vector_times_rows<T>(n, k, b.data, b.row, {a.data, a.column}, {c, 1});
  if (m == 1) return detail::rows_times_vector<T>(n, k, b.data, b.column, {a.data, a.column}, {c, 1});

  way const best = detail::choose<T>(m, n, k, a.column == 1);
  if (best == way::turned) return detail::turned_product<T>(m, n, k, a, b, c, ldc);
  std::int64_t const rest = best == way::split ? n % simd::width<T> : 0, main = n - rest;
  detail::matrix_product<T>(m, main, k, a, b, c, ldc, scratch);
  if (rest > 0)
    detail::product<T>(m, rest, k, a, {b.data + main * b.column, b.row, b.column}, c + main, ldc, nullptr);
}

/// Selects for constant sizes; only the selected algorithm is instantiated.
template <bool TransposeLeft, bool TransposeRight, int M, int N, int K, class T>
COTANGENT_INLINE void fixed_product(T const* a, std::int64_t lda, T const* b, std::int64_t ldb, T* c,
                                    std::int64_t ldc, T* scratch) {
  matrix<T> const left{a, TransposeLeft ? 1 : lda, TransposeLeft ? lda : 1};
  matrix<T> const right{b, TransposeRight ? 1 : ldb, TransposeRight ? ldb : 1};
  constexpr way best = detail::choose<T>(M, N, K, !TransposeLeft);
  if constexpr (detail::is_small<T>(M, N, K))
    detail::small_product<TransposeLeft, TransposeRight, M, N, K>(a, lda, b, ldb, c, ldc);
  else if constexpr (M <= 0 || N <= 0 || K <= 0) detail::product<T>(M, N, K, left, right, c, ldc, nullptr);
  else if constexpr (N == 1 && !TransposeLeft)
    detail::rows_times_vector<T>(M, K, a, lda, {b, right.row}, {c, ldc});
  else if constexpr (N == 1) detail::vector_times_rows<T>(M, K, a, lda, {b, right.row}, {c, ldc});
  else if constexpr (M == 1 && !TransposeRight)
    detail::vector_times_rows<T>(N, K, b, ldb, {a, left.column}, {c, 1});
  else if constexpr (M == 1) detail::rows_times_vector<T>(N, K, b, ldb, {a, left.column}, {c, 1});
  else if constexpr (best == way::turned) detail::turned_product<T>(M, N, K, left, right, c, ldc);
  else if constexpr (best == way::split) {
    constexpr int rest = N % simd::width<T>, main = N - rest;
    detail::matrix_product<T>(M, main, K, left, right, c, ldc, scratch);
    detail::fixed_product<TransposeLeft, TransposeRight, M, rest, K>(a, lda, b + main * right.column, ldb,
                                                                     c + main, ldc, scratch);
  } else detail::matrix_product<T>(M, N, K, left, right, c, ldc, scratch);
}

} // namespace detail

/// The bytes of `scratch` that make a product fastest: none for small ones, never more than 256 KiB. (Any
/// product uses 4 KiB of stack, 8 KiB with AVX, 18 KiB with AVX-512.)
template <class T>
constexpr std::int64_t matmul_scratch_bytes(std::int64_t m, std::int64_t n, std::int64_t k) {
  if (!std::is_floating_point_v<T> || !detail::pays_to_pack_left(m, n, k)) return 0;
  constexpr std::int64_t r = detail::tile_rows, most = detail::packed_rows<T>;
  return (m < most ? (m + r - 1) / r * r : most) * matmul_chain * static_cast<std::int64_t>(sizeof(T));
}

/// Like `matmul`, for any strides of which one is 1, without the algorithm for short products.
template <class T> void long_product(product_shape const& s, T const* a, T const* b, T* c, T* scratch) {
  detail::matrix<T> const left{a, s.a_row, s.a_column}, right{b, s.b_row, s.b_column};
  if constexpr (std::is_floating_point_v<T>) detail::product<T>(s.m, s.n, s.k, left, right, c, s.c_row, scratch);
  else detail::integer_product<T>(s.m, s.n, s.k, left, right, c, s.c_row);
}

/// c = op(a) op(b).
/// Shapes: op(a) is [m, k], op(b) [k, n], c [m, n]; rows of a, b, c are lda, ldb, ldc elements apart.
/// TransposeLeft: a is stored [k, m]. TransposeRight: b is stored [n, k]. c must not overlap a or b.
/// Value: each element is summed over k in chains of `matmul_chain` terms. A chain starts from +0 and
/// computes `sum = fma(a, b, sum)` in the order of k (two roundings without fma); the sums of chains are
/// added in order. An element therefore depends on its row, its column and k alone: not on its position, m,
/// n, strides, transposition or the width of registers. If k == 0, c is zero. Integers wrap.
/// Cost: 2 m n k flops; no allocation. `scratch` is null or has matmul_scratch_bytes.
/// Checked: tests/runtime/matmul.cpp
template <bool TransposeLeft, bool TransposeRight, class T>
void matmul(std::int64_t m, std::int64_t n, std::int64_t k, T const* a, std::int64_t lda, T const* b,
            std::int64_t ldb, T* c, std::int64_t ldc, T* scratch = nullptr) {
  product_shape const s{m, n, k, TransposeLeft ? 1 : lda, TransposeLeft ? lda : 1, TransposeRight ? 1 : ldb, TransposeRight ? ldb : 1, ldc};
  if (std::is_floating_point_v<T> && detail::is_short(m, n, k))
    return s.is_turned() ? detail::short_product<T>(s.turned(), b, a, c) : detail::short_product<T>(s, a, b, c);
  kernels::long_product<T>(s, a, b, c, scratch);
}

/// For constant sizes: straight-line code if they are small.
template <bool TransposeLeft, bool TransposeRight, int M, int N, int K, class T>
COTANGENT_INLINE void matmul(T const* a, std::int64_t lda, T const* b, std::int64_t ldb, T* c,
                             std::int64_t ldc, T* scratch = nullptr) {
  if constexpr (std::is_floating_point_v<T>)
    detail::fixed_product<TransposeLeft, TransposeRight, M, N, K>(a, lda, b, ldb, c, ldc, scratch);
  else kernels::matmul<TransposeLeft, TransposeRight>(M, N, K, a, lda, b, ldb, c, ldc);
}

} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
