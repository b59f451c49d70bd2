// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_MATRIX_MATMUL_PANEL_HPP
#define COTANGENT_KERNELS_MATRIX_MATMUL_PANEL_HPP

#include <cotangent/kernels/matrix/matmul_tile.hpp>
#include <cotangent/kernels/simd.hpp>
#include <cotangent/kernels/transpose.hpp>

#include <cstddef>
#include <cstdint>

// Matrix products by panels of columns of the right operand; all rows of the left operand pass over each
// panel.

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {
namespace detail {

/// Packs k rows of a panel contiguously, padded with zeros to whole vectors.
template <class T>
[[gnu::noinline]] void pack_panel(std::int64_t k, std::int64_t columns, matrix<T> b, T* to,
                                  std::int64_t to_row) {
  using V = simd::pack<T, simd::width<T>>;
  constexpr std::int64_t w = simd::width<T>;
  if (b.column != 1) {
    kernels::transpose(columns, k, b.data, b.column, to, to_row);
    if (columns < to_row)
      for (std::int64_t p = 0; p < k; ++p)
        for (std::int64_t j = columns; j < to_row; ++j) to[p * to_row + j] = T{};
  } else
    for (std::int64_t p = 0; p < k; ++p, b.data += b.row, to += to_row)
      for (std::int64_t j = 0; j < to_row; j += w)
        simd::store(to + j,
                    columns - j >= w ? simd::load<V>(b.data + j) : simd::load<V>(b.data + j, columns - j));
}

/// Packs rows of the left operand so that the elements of a tile are contiguous in the order of use.
template <class T>
[[gnu::noinline]] void pack_tiles(std::int64_t m, std::int64_t k, matrix<T> a, T* to) {
  constexpr std::int64_t r = tile_rows;
  for (; m > 0; m -= r, a.data += r * a.row, to += r * k)
    if (a.row == 1 && m >= r)
      for (std::int64_t p = 0; p < k; ++p)
        __builtin_memcpy(to + p * r, a.data + p * a.column, static_cast<std::size_t>(r) * sizeof(T));
    else if (a.row == 1)
      for (std::int64_t p = 0; p < k; ++p)
        for (std::int64_t i = 0; i < m; ++i) to[p * r + i] = a.data[i + p * a.column];
    else kernels::transpose(m < r ? m : r, k, a.data, a.row, to, r);
}

/// The largest number of rows of the left operand that are packed at a time.
template <class T>
inline constexpr std::int64_t packed_rows =
    256 * 1024 / static_cast<std::int64_t>(sizeof(T)) / matmul_chain / tile_rows * tile_rows;

/// True if packing pays for a left operand that is column-major, or whose rows map to the same few cache
/// sets.
constexpr bool pays_to_pack_left(std::int64_t m, std::int64_t n, std::int64_t k) {
  return m >= 192 && n >= 192 && k >= 192;
}

template <class T>
constexpr bool collides(std::int64_t stride) {
  return stride == 1 || stride * static_cast<std::int64_t>(sizeof(T)) % 4096 == 0;
}

/// If the rows of a panel are so far apart that they do not fit the L1 cache together, a packed copy is
/// faster to read.
template <class T>
constexpr bool pays_to_pack(std::int64_t m, std::int64_t k, std::int64_t b_row) {
  return m >= 4 * tile_rows && k * b_row * static_cast<std::int64_t>(sizeof(T)) > 32768;
}

template <class T>
[[gnu::noinline]] void matrix_product(std::int64_t m, std::int64_t n, std::int64_t k, matrix<T> const& a,
                                      matrix<T> const& b, T* c, std::int64_t ldc, T* scratch, bool adds = false) {
  constexpr std::int64_t w = simd::width<T>, wide = panel_columns<T>;
  alignas(64) T packed[static_cast<std::size_t>(matmul_chain * wide)];
  bool const tiles = scratch != nullptr && pays_to_pack_left(m, n, k) && collides<T>(a.row);
  std::int64_t const most = tiles ? packed_rows<T> : m;
  for (std::int64_t p0 = 0; p0 < k; p0 += matmul_chain)
    for (std::int64_t i0 = 0; i0 < m; i0 += most) {
      std::int64_t const terms = k - p0 < matmul_chain ? k - p0 : matmul_chain,
                         rows = m - i0 < most ? m - i0 : most;
      left_operand<T> left{a.data + i0 * a.row + p0 * a.column, a.row, a.column, tile_rows * a.row};
      if (tiles) {
        detail::pack_tiles<T>(rows, terms, {left.data, a.row, a.column}, scratch);
        left = {scratch, 1, tile_rows, tile_rows * terms};
      }
      for (std::int64_t j0 = 0; j0 < n; j0 += wide) {
        std::int64_t const columns = n - j0 < wide ? n - j0 : wide, padded = columns > w ? wide : w;
        T const* right = b.data + p0 * b.row + j0 * b.column;
        std::int64_t right_row = b.row;
        if (b.column != 1 || columns != padded || detail::pays_to_pack<T>(m, terms, b.row)) {
          detail::pack_panel<T>(terms, columns, {right, b.row, b.column}, packed, padded);
          right = packed;
          right_row = padded;
        }
        panel_result<T> const to{c + i0 * ldc + j0, rows, ldc, columns, p0 == 0 && !adds};
        if (padded == wide) detail::panel<tile_vectors>(terms, left, right, right_row, to);
        else detail::panel<1>(terms, left, right, right_row, to);
      }
    }
}

/// The transpose of the product of the transposed operands, of at most `turned_columns` columns: the rows of
/// a narrow result then fill the lanes.
inline constexpr std::int64_t turned_columns = 2 * tile_rows;

template <class T>
[[gnu::noinline]] void turned_product(std::int64_t m, std::int64_t n, std::int64_t k, matrix<T> const& a,
                                      matrix<T> const& b, T* c, std::int64_t ldc) {
  constexpr std::int64_t wide = panel_columns<T>;
  alignas(64) T part[static_cast<std::size_t>(turned_columns * wide)];
  for (std::int64_t i0 = 0; i0 < m; i0 += wide) {
    std::int64_t const rows = m - i0 < wide ? m - i0 : wide;
    detail::matrix_product<T>(n, rows, k, {b.data, b.column, b.row}, {a.data + i0 * a.row, a.column, a.row},
                              part, wide, nullptr);
    kernels::transpose(n, rows, part, wide, c + i0 * ldc, ldc);
  }
}

/// The cost of the tiles of an [m, n] result for each term, in quarters of a cycle.
template <class T>
constexpr std::int64_t tiles_cost(std::int64_t m, std::int64_t n) {
  constexpr std::int64_t r = tile_rows, w = simd::width<T>;
  std::int64_t const half = m % r > 0 && m % r <= r / 2, tall = m / r + (m % r > r / 2);
  std::int64_t const narrow = n % (2 * w) > 0 && n % (2 * w) <= w, wide = n / (2 * w) + (n % (2 * w) > w);
  return tall * (4 * r * wide + 3 * r * narrow) + half * 2 * r * (wide + narrow);
}

/// The cost of the transposed product for all terms; a row-major left operand is transposed on the way.
template <class T>
constexpr std::int64_t turned_cost(std::int64_t m, std::int64_t n, std::int64_t k, bool by_rows) {
  return k * (tiles_cost<T>(n, m) + (by_rows ? m : 0)) + 2 * m * n;
}

enum class way { tiles, turned, split };

/// The fastest algorithm for a result of at least two rows and columns: direct, transposed, or with the
/// columns that do not fill a vector computed separately.
template <class T>
constexpr way choose(std::int64_t m, std::int64_t n, std::int64_t k, bool by_rows) {
  if (m * n * k <= 4096) return way::tiles; // too small for a choice to pay
  std::int64_t const cost = k * tiles_cost<T>(m, n), rest = n % simd::width<T>;
  if (n <= turned_columns && turned_cost<T>(m, n, k, by_rows) < cost) return way::turned;
  if (rest == n || rest == 0 || rest > turned_columns) return way::tiles;
  std::int64_t const other = rest == 1 ? k * m : turned_cost<T>(m, rest, k, by_rows);
  return k * tiles_cost<T>(m, n - rest) + other + 400 < cost ? way::split : way::tiles;
}

} // namespace detail
} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
