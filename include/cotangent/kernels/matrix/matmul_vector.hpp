// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_MATRIX_MATMUL_VECTOR_HPP
#define COTANGENT_KERNELS_MATRIX_MATMUL_VECTOR_HPP

#include <cotangent/kernels/matrix/matmul_tile.hpp>
#include <cotangent/kernels/simd.hpp>
#include <cotangent/kernels/transpose.hpp>

#include <cstddef>
#include <cstdint>

// Products of a matrix and a vector, with the terms in the order of matrix products.

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {
namespace detail {

/// Strided elements.
template <class T>
struct strided {
  T* data;
  std::int64_t stride;
  COTANGENT_INLINE T& operator[](std::int64_t i) const { return data[i * stride]; }
};

template <class T, class V>
COTANGENT_INLINE void store_lanes(strided<T> y, V const& v) {
  if (y.stride == 1) simd::store(y.data, v);
  else {
    T lane[static_cast<std::size_t>(simd::lanes<V>)];
    simd::store(lane, v);
    for (int i = 0; i < simd::lanes<V>; ++i) y[i] = lane[i];
  }
}

/// The sum of x[p] * y[p]. A chain is bound by latency, so eight chains run interleaved.
template <class T>
[[gnu::noinline]] T dot(std::int64_t k, strided<T const> x, strided<T const> y) {
  constexpr std::int64_t side = 8;
  T total{};
  for (std::int64_t p0 = 0; p0 < k; p0 += side * matmul_chain) {
    std::int64_t const rest = k - p0;
    T sum[side] = {};
    if (rest >= side * matmul_chain) {
      for (std::int64_t p = 0; p < matmul_chain; ++p)
#pragma GCC unroll 8
        for (std::int64_t c = 0; c < side; ++c)
          sum[c] = math::fma(x[p0 + c * matmul_chain + p], y[p0 + c * matmul_chain + p], sum[c]);
    } else
      for (std::int64_t p = 0; p < rest; ++p)
        sum[p / matmul_chain] = math::fma(x[p0 + p], y[p0 + p], sum[p / matmul_chain]);
    for (std::int64_t c = 0; c < side && c * matmul_chain < rest; ++c)
      total = p0 + c == 0 ? sum[c] : total + sum[c];
  }
  return total;
}

/// `Groups` times W rows of `rows_by`, of at least `turned` terms.
template <int Groups, int W, class T>
[[gnu::noinline]] void rows_in_lanes(std::int64_t k, T const* m, std::int64_t m_row, strided<T const> x,
                                     strided<T> y) {
  constexpr int n = turned<T>;
  using V = simd::pack<T, W>;
  V total[Groups] = {}, sum[Groups];
  for (std::int64_t p0 = 0; p0 < k; p0 += matmul_chain) {
    std::int64_t const end = k - p0 < matmul_chain ? k : p0 + matmul_chain;
#pragma GCC unroll 4
    for (int g = 0; g < Groups; ++g) sum[g] = V{};
    for (std::int64_t p = p0; p < end; p += n) {
      std::int64_t const at =
          p + n <= end ? p : end - n; // the last columns overlap the previous ones, which are skipped
      V column[Groups][static_cast<std::size_t>(n)];
#pragma GCC unroll 4
      for (int g = 0; g < Groups; ++g) kernels::turn(column[g], m + g * W * m_row + at, m_row);
#pragma GCC unroll 4
      for (int q = 0; q < n; ++q) {
        if (at + q < p) continue;
        V const factor = math::broadcast<V>(x[at + q]);
#pragma GCC unroll 4
        for (int g = 0; g < Groups; ++g) sum[g] = math::fma(column[g][q], factor, sum[g]);
      }
    }
#pragma GCC unroll 4
    for (int g = 0; g < Groups; ++g) total[g] = p0 == 0 ? sum[g] : total[g] + sum[g];
  }
#pragma GCC unroll 4
  for (int g = 0; g < Groups; ++g)
    detail::store_lanes(strided<T>{y.data + g * W * y.stride, y.stride}, total[g]);
}

/// All rows in blocks; the last block overlaps the one before it. Two groups hide each other's latency.
template <int W, class T>
void rows_by(std::int64_t rows, std::int64_t k, T const* m, std::int64_t m_row, strided<T const> x,
             strided<T> y) {
  auto const blocks = [&](std::int64_t block, auto const& make) {
    for (std::int64_t i = 0; i < rows; i += block) {
      if (rows - i < block) i = rows - block;
      make(k, m + i * m_row, m_row, x, strided<T>{y.data + i * y.stride, y.stride});
    }
  };
  if (rows >= 2 * W) blocks(2 * W, detail::rows_in_lanes<2, W, T>);
  else if constexpr (W > turned<T>) detail::rows_by<W / 2, T>(rows, k, m, m_row, x, y);
  else if (rows >= W) blocks(W, detail::rows_in_lanes<1, W, T>);
  else
    for (std::int64_t i = 0; i < rows; ++i) y[i] = detail::dot<T>(k, {m + i * m_row, 1}, x);
}

/// y[i] = the sum of m(i, p) * x[p] if the rows of m are contiguous: one row in each lane.
template <class T>
[[gnu::noinline]] void rows_times_vector(std::int64_t rows, std::int64_t k, T const* m, std::int64_t m_row,
                                         strided<T const> x, strided<T> y) {
  if constexpr (turns<T>)
    if (rows > 1 && k >= turned<T>) return detail::rows_by<simd::width<T>, T>(rows, k, m, m_row, x, y);
  for (std::int64_t i = 0; i < rows; ++i) y[i] = detail::dot<T>(k, {m + i * m_row, 1}, x);
}

/// Vectors x W columns of `vector_times_rows`. The vectors begin at `at`, and overlap if there are fewer
/// columns.
template <int Vectors, int W, class T>
[[gnu::noinline]] void combine(std::int64_t k, strided<T const> x, T const* m, std::int64_t m_row,
                               std::int64_t columns, strided<T> y) {
  using V = simd::pack<T, W>;
  std::int64_t at[Vectors];
  V total[Vectors] = {}, sum[Vectors];
#pragma GCC unroll 8
  for (int v = 0; v < Vectors; ++v) at[v] = (v + 1) * W <= columns ? v * W : columns - W;
  for (std::int64_t p0 = 0; p0 < k; p0 += matmul_chain) {
    std::int64_t const end = k - p0 < matmul_chain ? k : p0 + matmul_chain;
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sum[v] = V{};
    for (std::int64_t p = p0; p < end; ++p, m += m_row) {
      V const factor = math::broadcast<V>(x[p]);
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sum[v] = math::fma(factor, simd::load<V>(m + at[v]), sum[v]);
    }
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) total[v] = p0 == 0 ? sum[v] : total[v] + sum[v];
  }
#pragma GCC unroll 8
  for (int v = 0; v < Vectors; ++v)
    detail::store_lanes(strided<T>{y.data + at[v] * y.stride, y.stride}, total[v]);
}

/// For fewer columns than lanes of a register.
template <int W, class T>
void few_columns(std::int64_t columns, std::int64_t k, T const* m, std::int64_t m_row, strided<T const> x,
                 strided<T> y) {
  if constexpr (W < turned<T> || W == 1)
    for (std::int64_t j = 0; j < columns; ++j) y[j] = detail::dot<T>(k, x, {m + j, m_row});
  else if (columns >= W) detail::combine<2, W>(k, x, m, m_row, columns, y);
  else detail::few_columns<W / 2, T>(columns, k, m, m_row, x, y);
}

/// y[j] = the sum of x[p] * m(p, j) if the rows of m are contiguous.
template <class T>
[[gnu::noinline]] void vector_times_rows(std::int64_t columns, std::int64_t k, T const* m, std::int64_t m_row,
                                         strided<T const> x, strided<T> y) {
  constexpr int w = simd::width<T>;
  if (columns < w) return detail::few_columns<w / 2, T>(columns, k, m, m_row, x, y);
  while (columns > 0) {
    // The rest is never narrower than a vector.
    std::int64_t const part = columns <= 8 * w ? columns : columns < 9 * w ? 7 * w : 8 * w;
    if (part > 4 * w) detail::combine<8, w>(k, x, m, m_row, part, y);
    else detail::combine<4, w>(k, x, m, m_row, part, y);
    columns -= part;
    m += part;
    y.data += part * y.stride;
  }
}

} // namespace detail
} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
