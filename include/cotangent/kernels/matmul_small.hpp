// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_MATMUL_SMALL_HPP
#define COTANGENT_KERNELS_MATMUL_SMALL_HPP

#include <cotangent/kernels/matmul_tile.hpp>
#include <cotangent/kernels/simd.hpp>

#include <cstdint>

// Small products, fully unrolled.

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {
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

} // namespace detail
} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
