// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_MATRIX_MATMUL_UPDATE_HPP
#define COTANGENT_KERNELS_MATRIX_MATMUL_UPDATE_HPP

#include <cotangent/kernels/matrix/matmul_panel.hpp>
#include <cotangent/kernels/matrix/matmul_tile.hpp>
#include <cotangent/kernels/simd.hpp>

#include <cstddef>
#include <cstdint>

// Matrix products that are subtracted from their result: the updates of blocked decompositions.

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {
namespace detail {

/// Packs the negative of rows of the left operand as `pack_tiles` does. Strides may be negative.
template <class T>
[[gnu::noinline]] void pack_negative_tiles(std::int64_t m, std::int64_t k, matrix<T> a, T* to) {
  constexpr std::int64_t r = tile_rows;
  for (; m > 0; m -= r, a.data += r * a.row, to += r * k) {
    std::int64_t const rows = m < r ? m : r;
    if (rows == r && a.row == 1)
      for (std::int64_t p = 0; p < k; ++p)
        for (std::int64_t i = 0; i < r; ++i) to[p * r + i] = -a.data[i + p * a.column];
    else
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t p = 0; p < k; ++p) to[p * r + i] = -a.data[i * a.row + p * a.column];
  }
}

/// The elements of scratch of an update of m rows with k terms.
template <class T>
constexpr std::int64_t update_scratch(std::int64_t m, std::int64_t k) {
  constexpr std::int64_t r = tile_rows, most = packed_rows<T>;
  return (m < most ? (m + r - 1) / r * r : most) * (k < matmul_chain ? k : matmul_chain);
}

} // namespace detail

/// c -= a b, for c of m rows and n columns; a, b and the rows of c may have negative strides, the columns of b and c are
/// contiguous. `upper`: only elements (i, j) with i <= j must be right, and others may have any value.
/// Value: c = fma(-a, b, c) in the order of k, in one chain.
template <class T>
void subtract_product(std::int64_t m, std::int64_t n, std::int64_t k, detail::matrix<T> a, T const* b,
                      std::int64_t ldb, T* c, std::int64_t ldc, T* scratch, bool upper = false) {
  constexpr std::int64_t w = simd::width<T>, wide = detail::panel_columns<T>, most = detail::packed_rows<T>;
  alignas(64) T packed[static_cast<std::size_t>(matmul_chain * wide)];
  for (std::int64_t p0 = 0; p0 < k; p0 += matmul_chain)
    for (std::int64_t i0 = 0; i0 < m; i0 += most) {
      std::int64_t const terms = k - p0 < matmul_chain ? k - p0 : matmul_chain, rows = m - i0 < most ? m - i0 : most;
      detail::pack_negative_tiles<T>(rows, terms, {a.data + i0 * a.row + p0 * a.column, a.row, a.column}, scratch);
      detail::left_operand<T> const left{scratch, 1, detail::tile_rows, detail::tile_rows * terms};
      for (std::int64_t j0 = upper ? i0 / wide * wide : 0; j0 < n; j0 += wide) {
        std::int64_t const columns = n - j0 < wide ? n - j0 : wide, padded = columns > w ? wide : w;
        std::int64_t const above = j0 + columns - i0, height = upper && above < rows ? above : rows;
        T const* right = b + p0 * ldb + j0;
        std::int64_t right_row = ldb;
        if (columns != padded || height > 2 * detail::tile_rows) {
          detail::pack_panel<T>(terms, columns, {right, ldb, 1}, packed, padded);
          right = packed;
          right_row = padded;
        }
        detail::panel_result<T> const to{c + i0 * ldc + j0, height, ldc, columns, true};
        if (padded == wide) detail::panel<detail::tile_vectors, true>(terms, left, right, right_row, to);
        else detail::panel<1, true>(terms, left, right, right_row, to);
      }
    }
}

} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
