// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_TRANSPOSE_HPP
#define COTANGENT_KERNELS_TRANSPOSE_HPP

#include <cotangent/kernels/simd.hpp>
#include <cotangent/kernels/simd_join.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {

namespace detail {

/// How many columns of W rows are turned at a time: as many elements as 16 bytes hold. Square blocks of whole registers
/// would take twice the shuffles, and with AVX-512 more registers than there are.
template <class T>
inline constexpr int turned = 16 / static_cast<int>(sizeof(T));

/// Elements that shuffles can turn.
template <class T>
inline constexpr bool turns = std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8) && simd::width<T> > 1;

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

/// Where W rows lie, as many as a register has lanes.
template <class T>
struct row_block {
  std::int64_t row;
  COTANGENT_INLINE row_block(std::int64_t from_row, std::int64_t) : row(from_row) {}
  COTANGENT_INLINE T const* at(T const* p, int i) const {
    constexpr int n = turned<T>; // in two steps, so that all rows need few registers
    return p + i / n * n * row + i % n * row;
  }
};

/// Fewer of them: what does not exist repeats the last one.
template <class T>
struct few_rows {
  std::int64_t row, last;
  COTANGENT_INLINE few_rows(std::int64_t from_row, std::int64_t rows) : row(from_row), last(rows - 1) {}
  COTANGENT_INLINE T const* at(T const* p, int i) const { return p + (i < last ? i : last) * row; }
};

/// Groups of 16 bytes from the rows I, I + turned, ... as one vector.
template <int I, int Count, class Rows, class T, class Load>
COTANGENT_INLINE auto collect(Rows const& rows, T const* p, Load const& load) {
  if constexpr (Count == 1)
    return load(rows.at(p, I));
  else
    return simd::join(detail::collect<I, Count / 2>(rows, p, load),
                      detail::collect<I + Count / 2 * turned<T>, Count / 2>(rows, p, load));
}

/// The first columns of W rows: lane i of columns[j] is element j of row i.
template <class V, std::size_t N, class Rows, class T, class Load>
COTANGENT_INLINE void turn(V (&columns)[N], Rows const& rows, T const* p, Load const& load) {
  constexpr int w = simd::lanes<V>, n = turned<T>;
  static_assert(N == static_cast<std::size_t>(n));
  constexpr std::make_integer_sequence<int, w> all{};
  V const x = detail::collect<0, w / n>(rows, p, load), y = detail::collect<1, w / n>(rows, p, load);
  if constexpr (n == 2) {
    columns[0] = detail::interleave<1, 0>(x, y, all);
    columns[1] = detail::interleave<1, 1>(x, y, all);
  } else {
    V const z = detail::collect<2, w / n>(rows, p, load), u = detail::collect<3, w / n>(rows, p, load);
    V const a = detail::interleave<1, 0>(x, y, all), b = detail::interleave<1, 1>(x, y, all);
    V const c = detail::interleave<1, 0>(z, u, all), d = detail::interleave<1, 1>(z, u, all);
    columns[0] = detail::interleave<2, 0>(a, c, all);
    columns[1] = detail::interleave<2, 1>(a, c, all);
    columns[2] = detail::interleave<2, 0>(b, d, all);
    columns[3] = detail::interleave<2, 1>(b, d, all);
  }
}

template <class V, std::size_t N, class Rows, class T>
COTANGENT_INLINE void turn(V (&columns)[N], Rows const& rows, T const* p) {
  detail::turn(columns, rows, p, [](T const* q) { return simd::load<simd::pack<T, turned<T>>>(q); });
}

/// The same with fewer columns than there are; the others are zero.
template <class V, std::size_t N, class Rows, class T>
COTANGENT_INLINE void turn(V (&columns)[N], Rows const& rows, T const* p, std::int64_t count) {
  detail::turn(columns, rows, p, [count](T const* q) { return simd::load<simd::pack<T, turned<T>>>(q, count); });
}

/// W rows, or fewer, become columns.
template <class Rows, class T>
COTANGENT_INLINE void transpose_rows(std::int64_t count, std::int64_t columns, T const* from, std::int64_t from_row,
                                     T* to, std::int64_t to_row) {
  using V = simd::pack<T, simd::width<T>>;
  constexpr int n = turned<T>;
  Rows const rows(from_row, count);
  V column[static_cast<std::size_t>(n)];
  auto const put = [&](int q) {
    count == simd::width<T> ? simd::store(to, column[q]) : simd::store(to, column[q], count);
    to += to_row;
  };
  for (; columns >= n; columns -= n, from += n) {
    detail::turn(column, rows, from);
#pragma GCC unroll 4
    for (int q = 0; q < n; ++q) put(q);
  }
  if (columns == 0) return;
  detail::turn(column, rows, from, columns);
#pragma GCC unroll 4
  for (int q = 0; q < n; ++q)
    if (q < columns) put(q);
}

} // namespace detail

/// to[j * to_row + i] = from[i * from_row + j] for `rows` values of i and `columns` of j. The two must not overlap.
template <class T>
void transpose(std::int64_t rows, std::int64_t columns, T const* from, std::int64_t from_row, T* to,
               std::int64_t to_row) {
  if constexpr (detail::turns<T>) {
    constexpr std::int64_t w = simd::width<T>;
    if (rows < w) {
      if (rows > 0) detail::transpose_rows<detail::few_rows<T>>(rows, columns, from, from_row, to, to_row);
    } else
      for (std::int64_t i = 0; i < rows; i += w) {
        if (rows - i < w) i = rows - w; // the last block overlaps the one before it
        detail::transpose_rows<detail::row_block<T>>(w, columns, from + i * from_row, from_row, to + i, to_row);
      }
  } else {
    // squares whose cache lines are used up before they may be lost
    constexpr std::int64_t side = 16;
    for (std::int64_t i0 = 0; i0 < rows; i0 += side)
      for (std::int64_t j0 = 0; j0 < columns; j0 += side)
        for (std::int64_t j = j0; j < columns && j < j0 + side; ++j)
          for (std::int64_t i = i0; i < rows && i < i0 + side; ++i) to[j * to_row + i] = from[i * from_row + j];
  }
}

} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
