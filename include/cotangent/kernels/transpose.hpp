// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_TRANSPOSE_HPP
#define COTANGENT_KERNELS_TRANSPOSE_HPP

#include <cotangent/kernels/simd.hpp>
#include <cotangent/kernels/simd_join.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {

namespace detail {

/// The number of columns of W rows that are transposed at a time: the elements of 16 bytes. Square blocks of
/// whole registers would take twice the shuffles, and with AVX-512 more registers than exist.
template <class T>
inline constexpr int turned = 16 / static_cast<int>(sizeof(T));

/// True for elements that shuffles can transpose.
template <class T>
inline constexpr bool turns =
    std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8) && simd::width<T> > 1;

/// The lower, or the upper, halves of the 16-byte groups of a and b, alternating by Size elements.
template <int Size, int Upper, class V, int... I>
COTANGENT_INLINE V interleave(V const& a, V const& b, std::integer_sequence<int, I...>) {
  constexpr int w = simd::lanes<V>, group = turned<simd::lane_t<V>>;
  constexpr auto from = [](int i) {
    int const at = i % group;
    return i - at + Upper * group / 2 + at / (2 * Size) * Size + at % Size + (at / Size % 2) * w;
  };
  return __builtin_shufflevector(a, b, from(I)...);
}

/// The address of row i, computed in two steps, so that many rows need few registers.
template <class T>
COTANGENT_INLINE T const* row_of(T const* p, std::int64_t row, int i) {
  constexpr int n = turned<T>;
  return p + i / n * n * row + i % n * row;
}

/// The groups of 16 bytes of rows I, I + turned, ... as one vector.
template <int I, int Count, class T>
COTANGENT_INLINE auto collect(T const* p, std::int64_t row) {
  if constexpr (Count == 1) return simd::load<simd::pack<T, turned<T>>>(detail::row_of(p, row, I));
  else
    return simd::join(detail::collect<I, Count / 2>(p, row),
                      detail::collect<I + Count / 2 * turned<T>, Count / 2>(p, row));
}

/// Stores row I of columns, of which the first `Used` are kept.
template <int I, int Used, bool Whole, class V, class T, int... K>
COTANGENT_INLINE void put_row(V const* rows, T* p, std::int64_t row, std::integer_sequence<int, K...>) {
  constexpr int n = turned<T>;
  auto const one = simd::shuffle<I / n * n + K...>(rows[I % n], rows[I % n]);
  T* const to = p + I / n * n * row + I % n * row;
  if constexpr (Whole) simd::store(to, one);
  else
    for (int k = 0; k < Used; ++k) to[k] = one[k];
}
template <int Used, class V, class T, int... I>
COTANGENT_INLINE void put_rows(V const* rows, T* p, std::int64_t row, std::integer_sequence<int, I...>) {
  constexpr int n = turned<T>, last = static_cast<int>(sizeof...(I)) - 1;
  // in order: without the last column, the next row overwrites what a row stores there
  static_cast<void>(std::initializer_list<int>{
      (detail::put_row<I, Used, Used == n || I != last>(rows, p, row, std::make_integer_sequence<int, n>{}), 0)...});
}

} // namespace detail

/// Transposes the first columns of W rows: lane i of columns[j] is element j of row i.
template <class V, std::size_t N, class T>
COTANGENT_INLINE void turn(V (&columns)[N], T const* p, std::int64_t row) {
  constexpr int w = simd::lanes<V>, n = detail::turned<T>;
  static_assert(N == static_cast<std::size_t>(n));
  constexpr std::make_integer_sequence<int, w> all{};
  V const x = detail::collect<0, w / n>(p, row), y = detail::collect<1, w / n>(p, row);
  if constexpr (n == 2) {
    columns[0] = detail::interleave<1, 0>(x, y, all);
    columns[1] = detail::interleave<1, 1>(x, y, all);
  } else {
    V const z = detail::collect<2, w / n>(p, row), u = detail::collect<3, w / n>(p, row);
    V const a = detail::interleave<1, 0>(x, y, all), b = detail::interleave<1, 1>(x, y, all);
    V const c = detail::interleave<1, 0>(z, u, all), d = detail::interleave<1, 1>(z, u, all);
    columns[0] = detail::interleave<2, 0>(a, c, all);
    columns[1] = detail::interleave<2, 1>(a, c, all);
    columns[2] = detail::interleave<2, 0>(b, d, all);
    columns[3] = detail::interleave<2, 1>(b, d, all);
  }
}

/// The inverse: element j of row i is lane i of columns[j]. Stores the first `Used` columns: all of them, or all but one where rows
/// are that many elements apart.
template <int Used, class V, std::size_t N, class T>
COTANGENT_INLINE void turn_back(V const (&columns)[N], T* p, std::int64_t row) {
  constexpr int w = simd::lanes<V>, n = detail::turned<T>;
  static_assert(N == static_cast<std::size_t>(n) && Used >= n - 1);
  constexpr std::make_integer_sequence<int, w> all{};
  V const a = detail::interleave<1, 0>(columns[0], columns[1], all), b = detail::interleave<1, 1>(columns[0], columns[1], all);
  if constexpr (n == 2) {
    V const rows[]{a, b};
    detail::put_rows<Used>(rows, p, row, all);
  } else {
    V const c = detail::interleave<1, 0>(columns[2], columns[3], all), d = detail::interleave<1, 1>(columns[2], columns[3], all);
    V const rows[]{detail::interleave<2, 0>(a, c, all), detail::interleave<2, 1>(a, c, all),
                   detail::interleave<2, 0>(b, d, all), detail::interleave<2, 1>(b, d, all)};
    detail::put_rows<Used>(rows, p, row, all);
  }
}

namespace detail {

/// Transposes by blocks of W rows. The last block, of rows and of columns, overlaps the one before it.
/// Columns are processed in bands, so that the pages written stay in the TLB.
template <int W, class T>
[[gnu::noinline]] void transpose_blocks(std::int64_t rows, std::int64_t columns, T const* from,
                                        std::int64_t from_row, T* to, std::int64_t to_row) {
  using V = simd::pack<T, W>;
  constexpr std::int64_t n = turned<T>, band = 64;
  for (std::int64_t j0 = 0; j0 < columns; j0 += band)
    for (std::int64_t i = 0; i < rows; i += W) {
      if (rows - i < W) i = rows - W;
      for (std::int64_t j = j0; j < columns && j < j0 + band; j += n) {
        if (columns - j < n) j = columns - n;
        V column[static_cast<std::size_t>(n)];
        kernels::turn(column, from + i * from_row + j, from_row);
#pragma GCC unroll 4
        for (int q = 0; q < n; ++q) simd::store(to + (j + q) * to_row + i, column[q]);
      }
    }
}

// (g++ 12 warns of array bounds where this is inlined for an array of known size)
template <int W, class T>
[[gnu::noinline]] void transpose_by(std::int64_t rows, std::int64_t columns, T const* from, std::int64_t from_row, T* to,
                  std::int64_t to_row) {
  if (rows >= W && columns >= turned<T>)
    detail::transpose_blocks<W>(rows, columns, from, from_row, to, to_row);
  else if constexpr (W > turned<T>) detail::transpose_by<W / 2>(rows, columns, from, from_row, to, to_row);
  else
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t i = 0; i < rows; ++i) to[j * to_row + i] = from[i * from_row + j];
}

} // namespace detail

/// to[j * to_row + i] = from[i * from_row + j] for `rows` values of i and `columns` of j. The two must not
/// overlap.
/// Checked: tests/runtime/movement_kernels.cpp
template <class T>
void transpose(std::int64_t rows, std::int64_t columns, T const* from, std::int64_t from_row, T* to,
               std::int64_t to_row) {
  if constexpr (detail::turns<T>)
    detail::transpose_by<simd::width<T>>(rows, columns, from, from_row, to, to_row);
  else {
    // Squares whose cache lines are used up before they can be evicted.
    constexpr std::int64_t side = 16;
    for (std::int64_t i0 = 0; i0 < rows; i0 += side)
      for (std::int64_t j0 = 0; j0 < columns; j0 += side)
        for (std::int64_t j = j0; j < columns && j < j0 + side; ++j)
          for (std::int64_t i = i0; i < rows && i < i0 + side; ++i)
            to[j * to_row + i] = from[i * from_row + j];
  }
}

} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
