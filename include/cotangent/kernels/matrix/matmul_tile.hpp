// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_MATRIX_MATMUL_TILE_HPP
#define COTANGENT_KERNELS_MATRIX_MATMUL_TILE_HPP

#include <cotangent/kernels/simd.hpp>

#include <cstddef>
#include <cstdint>

// The inner kernel of a matrix product: a few rows of the left operand times one panel of columns of the
// right.

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {

/// The number of consecutive terms of an element's sum before the next partial sum starts from zero.
inline constexpr std::int64_t matmul_chain = 128;

namespace detail {

// As many accumulators as registers allow, beside the panel's vectors and one broadcast (two registers if a
// product needs one of its own).
inline constexpr int tile_vectors = 2;
inline constexpr int tile_rows = COTANGENT_ABI_BYTES == 64                    ? 8
                                 : simd::has_fma && COTANGENT_ABI_BYTES == 32 ? 6
                                                                              : 4;

template <class T>
inline constexpr int panel_columns = tile_vectors * simd::width<T>;

/// A matrix with two strides; either may be 1.
template <class T>
struct matrix {
  T const* data;
  std::int64_t row, column;
};

/// The left operand of a panel; tiles of rows are `tile` elements apart.
template <class T>
struct left_operand {
  T const* data;
  std::int64_t row, column, tile;
};

/// The part of the result that one panel computes.
template <class T>
struct panel_result {
  T* data;
  std::int64_t rows, row;
  std::int64_t columns;
  bool first; // assign, or add to the old value
};

/// Stores the sums of a tile if plain stores do not suffice.
template <int Vectors, class T, class V>
[[gnu::noinline]] void put_rows(std::int64_t rows, V const* sum, panel_result<T> const& to, T* c) {
  constexpr int w = simd::width<T>;
  std::int64_t const last = to.columns - (Vectors - 1) * w;
  for (; rows > 0; --rows, c += to.row) {
    for (int v = 0; v + 1 < Vectors; ++v, ++sum)
      simd::store(c + v * w, to.first ? *sum : simd::load<V>(c + v * w) + *sum);
    T* const p = c + (Vectors - 1) * w;
    simd::store(p, to.first ? *sum : simd::load<V>(p, last) + *sum, last);
    ++sum;
  }
}

/// Rows x Vectors elements of the result, of which `rows` rows exist. A missing row repeats the last one and
/// is not stored: a smaller tile would be bound by the latency of its few sums, and take as long. `Continues`: the
/// sums start from the elements of the result, which they replace.
template <int Rows, int Vectors, bool Continues = false, class T>
COTANGENT_INLINE void tile(std::int64_t rows, std::int64_t k, T const* a, std::int64_t a_row,
                           std::int64_t a_column, T const* b, std::int64_t b_row, panel_result<T> const& to,
                           T* c) {
  using V = simd::pack<T, simd::width<T>>;
  constexpr int w = simd::width<T>;
  T const* left[Rows];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) left[i] = a + (i < rows ? i : rows - 1) * a_row;
  V sum[Rows][Vectors];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) sum[i][v] = V{};
  if constexpr (Continues) {
    std::int64_t const last = to.columns - (Vectors - 1) * w;
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      T const* const old = c + (i < rows ? i : rows - 1) * to.row;
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v)
        sum[i][v] = v + 1 < Vectors || last == w ? simd::load<V>(old + v * w) : simd::load<V>(old + v * w, last);
    }
  }
  for (std::int64_t p = 0, at = 0; p < k; ++p, at += a_column, b += b_row) {
    V right[Vectors];
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) right[v] = simd::load<V>(b + v * w);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      V const x = math::broadcast<V>(left[i][at]);
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) sum[i][v] = math::fma(x, right[v], sum[i][v]);
    }
  }
  constexpr bool masked = Vectors == 1 && COTANGENT_ABI_BYTES == 64; // a mask is free there
  if (to.first && (masked || to.columns == Vectors * w)) {
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      if (i >= rows) break;
      if constexpr (masked) simd::store(c + i * to.row, sum[i][0], to.columns);
      else
#pragma GCC unroll 16
        for (int v = 0; v < Vectors; ++v) simd::store(c + i * to.row + v * w, sum[i][v]);
    }
  } else {
    V part[Rows][Vectors];
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) part[i][v] = sum[i][v];
    detail::put_rows<Vectors>(rows < Rows ? rows : Rows, &part[0][0], to, c);
  }
}

/// One panel of Vectors vectors of columns, all of which are readable.
template <int Vectors, bool Continues = false, class T>
[[gnu::noinline]] void panel(std::int64_t k, left_operand<T> a, T const* b, std::int64_t b_row,
                             panel_result<T> const& to) {
  T* c = to.data;
  std::int64_t rows = to.rows;
  for (; rows > tile_rows / 2; rows -= tile_rows) {
    detail::tile<tile_rows, Vectors, Continues>(rows, k, a.data, a.row, a.column, b, b_row, to, c);
    a.data += a.tile;
    c += tile_rows * to.row;
  }
  if (rows > 0) detail::tile<tile_rows / 2, Vectors, Continues>(rows, k, a.data, a.row, a.column, b, b_row, to, c);
}

} // namespace detail
} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
