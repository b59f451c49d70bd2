// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_MATRIX_MATMUL_SMALL_HPP
#define COTANGENT_KERNELS_MATRIX_MATMUL_SMALL_HPP

#include <cotangent/kernels/matrix/matmul_tile.hpp>
#include <cotangent/kernels/simd.hpp>
#include <cotangent/kernels/simd_join.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

// Small products: of constant sizes, fully unrolled; of other sizes, in blocks of 4 x 4.

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {

/// Sizes and strides of a product c = a b. (A reference to it is passed on: a copy would take as long as a block of the product.)
struct product_shape {
  std::int64_t m = 0, n = 0, k = 0, a_row = 0, a_column = 0, b_row = 0, b_column = 0, c_row = 0;

  /// That of the transposed operands, if the result is contiguous and has one column: it has one row then, which fills lanes.
  constexpr bool is_turned() const { return n == 1 && c_row == 1; }
  constexpr product_shape turned() const { return {n, m, k, b_column, b_row, a_column, a_row, m}; }
};

namespace detail {

/// The number of remaining columns that go into one vector.
template <class T>
constexpr int chunk_of(int columns) {
  int w = simd::width<T>;
  while (w > columns) w /= 2;
  return w * static_cast<int>(sizeof(T)) < 16 ? 1 : w;
}

template <class T>
constexpr int chunks_of(int columns) {
  int count = 0;
  for (; columns > 0; columns -= chunk_of<T>(columns)) ++count;
  return count;
}

/// True if the unrolled code stays short.
template <class T>
constexpr bool is_small(int m, int n, int k) {
  return m <= 8 && k >= 1 && n >= 1 && m >= 1 && k <= matmul_chain && m * k * chunks_of<T>(n) <= 128;
}

template <bool TransposeLeft, bool TransposeRight, int M, int N, int K, class T>
COTANGENT_INLINE void small_product(T const* a, std::int64_t lda, T const* b, std::int64_t ldb, T* c,
                                    std::int64_t ldc) {
  constexpr int w = chunk_of<T>(N);
  using V = simd::pack<T, w>;
  V sum[M];
#pragma GCC unroll 8
  for (int i = 0; i < M; ++i) sum[i] = V{};
#pragma GCC unroll 128
  for (int p = 0; p < K; ++p) {
    V right;
    if constexpr (TransposeRight) right = simd::load_strided<V>(b + p, ldb);
    else right = simd::load<V>(b + p * ldb);
#pragma GCC unroll 8
    for (int i = 0; i < M; ++i)
      sum[i] = math::fma(math::broadcast<V>(a[TransposeLeft ? p * lda + i : i * lda + p]), right, sum[i]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < M; ++i) simd::store(c + i * ldc, sum[i]);
  if constexpr (w < N)
    detail::small_product<TransposeLeft, TransposeRight, M, N - w, K>(
        a, lda, b + w * (TransposeRight ? ldb : 1), ldb, c + w, ldc);
}

/// True for products in which the fixed cost of panels is larger than what blocks of 4 x 4 lose.
constexpr bool is_short(std::int64_t m, std::int64_t n, std::int64_t k) {
  if (m < 1 || n < 1 || k < 1 || k > 64 || m > 256 || n > 256) return false;
  if (m == 1 || n == 1) return m * n * k <= (simd::has_fma ? 64 : 32);
  return m * n * k <= (simd::has_fma ? 1024 : 512);
}

/// At most 4 x 4 elements of the result. The operands have the strides of the shape.
using block_kernel = void (*)(product_shape const&, void const* a, void const* b, void* c);

/// Four elements, in packs no wider than a register.
template <class T> struct quad {
  static constexpr int lanes = simd::width<T> < 4 ? simd::width<T> : 4, parts = 4 / lanes;
  using pack = simd::pack<T, lanes>;
  pack part[static_cast<std::size_t>(parts)];
};

/// The first Count of four elements, in memory. A processor forwards a store to a later load only if the load lies within the store,
/// and not at all with a mask: these are as wide as what other kernels load.
template <int Count, class V, class T> COTANGENT_INLINE void load_first(V& v, T const* p) {
  if constexpr (Count >= simd::lanes<V>) v = simd::load<V>(p);
  else if constexpr (Count == 3) v = V{p[0], p[1], p[2]};
  else if constexpr (Count == 2) v = V{p[0], p[1]};
  else if constexpr (Count == 1) v = V{p[0]};
  else v = V{};
}
template <int Count, class T> COTANGENT_INLINE void load_first(quad<T>& v, T const* p) {
  detail::load_first<Count>(v.part[0], p);
  if constexpr (quad<T>::parts == 2) detail::load_first<Count - 2>(v.part[1], p + 2);
}
template <int Count, class V, class T> COTANGENT_INLINE void store_first(T* p, V const& v) {
  if constexpr (Count >= simd::lanes<V>) simd::store(p, v);
  else if constexpr (Count == 1) p[0] = v[0];
  else if constexpr (Count > 1) {
    if constexpr (sizeof(T) == 8) simd::store(p, simd::shuffle<0, 1>(v, v));
    else {
      double const low = math::bit_cast<simd::pack<double, 2>>(v)[0];
      __builtin_memcpy(p, &low, 8);
    }
    if constexpr (Count == 3) p[2] = v[2];
  }
}
template <int Count, class T> COTANGENT_INLINE void store_first(T* p, quad<T> const& v) {
  detail::store_first<Count>(p, v.part[0]);
  if constexpr (quad<T>::parts == 2) detail::store_first<Count - 2>(p + 2, v.part[1]);
}
/// Stores Rows rows of four elements that follow each other, in whole packs.
template <int Rows, class T, class V> COTANGENT_INLINE void store_rows(T* c, V const* row) {
  if constexpr (Rows == 0) return;
  else if constexpr (Rows == 1 || simd::lanes<V> >= simd::width<T>) {
    simd::store(c, row[0]);
    detail::store_rows<Rows - 1>(c + simd::lanes<V>, row + 1);
  } else {
    using wide = simd::pack<T, 2 * simd::lanes<V>>;
    wide two[Rows / 2];
#pragma GCC unroll 2
    for (int i = 0; i < Rows / 2; ++i) two[i] = simd::join(row[2 * i], row[2 * i + 1]);
    detail::store_rows<Rows / 2>(c, two);
    if constexpr (Rows % 2 != 0) simd::store(c + (Rows - 1) * simd::lanes<V>, row[Rows - 1]);
  }
}

/// `Strided`: the columns of b are not consecutive.
template <int Rows, int Columns, bool Strided, class T>
void multiply_block(product_shape const& s, void const* left, void const* right, void* to) {
  using V = typename quad<T>::pack;
  constexpr int lanes = quad<T>::lanes, parts = quad<T>::parts;
  T const *a = static_cast<T const*>(left), *b = static_cast<T const*>(right);
  T* const c = static_cast<T*>(to);
  std::int64_t const row = s.a_row;
  quad<T> sum[Rows];
#pragma GCC unroll 4
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < parts; ++j) sum[i].part[j] = V{};
  for (std::int64_t p = s.k; p > 0; --p, a += s.a_column, b += s.b_row) {
    quad<T> x;
    if constexpr (Strided)
      for (int j = 0; j < parts; ++j) x.part[j] = simd::load_strided<V>(b + j * lanes * s.b_column, s.b_column, Columns - j * lanes);
    else detail::load_first<Columns>(x, b);
#pragma GCC unroll 4
    for (int i = 0; i < Rows; ++i) {
      V const by = math::broadcast<V>(a[i * row]);
#pragma GCC unroll 2
      for (int j = 0; j < parts; ++j) sum[i].part[j] = math::fma(by, x.part[j], sum[i].part[j]);
    }
  }
  if constexpr (Rows > 1 && Columns == 4 && parts == 1)
    if (s.c_row == 4) return detail::store_rows<Rows>(c, &sum[0].part[0]);
#pragma GCC unroll 4
  for (int i = 0; i < Rows; ++i) detail::store_first<Columns>(c + i * s.c_row, sum[i]);
}
/// The kernel of a block. More than 4 rows or columns count as 4.
template <class T> block_kernel block_for(std::int64_t rows, std::int64_t columns, bool strided) noexcept {
  static constexpr auto all = []<int... I>(std::integer_sequence<int, I...>) {
    return std::array<block_kernel, 32>{&multiply_block<I / 8 + 1, I / 2 % 4 + 1, I % 2 != 0 && I / 2 % 4 != 0, T>...};
  }(std::make_integer_sequence<int, 32>());
  auto const place = [](std::int64_t count) { return static_cast<std::size_t>(count < 4 ? count - 1 : 3); };
  return all[place(rows) * 8 + place(columns) * 2 + (strided ? 1 : 0)];
}

/// c = a b.
template <class T> [[gnu::noinline]] void short_product(product_shape const& s, T const* a, T const* b, T* c) {
  bool const strided = s.b_column != 1;
  for (std::int64_t i = 0; i < s.m; i += 4, a += 4 * s.a_row, c += 4 * s.c_row)
    for (std::int64_t j = 0; j < s.n; j += 4)
      detail::block_for<T>(s.m - i, s.n - j, strided)(s, a, b + j * s.b_column, c + j);
}

} // namespace detail
} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
