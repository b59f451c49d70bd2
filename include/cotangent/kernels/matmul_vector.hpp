// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_MATMUL_VECTOR_HPP
#define COTANGENT_KERNELS_MATMUL_VECTOR_HPP

#include <cotangent/kernels/matmul_tile.hpp>
#include <cotangent/kernels/simd.hpp>
#include <cotangent/kernels/transpose.hpp>

#include <cstddef>
#include <cstdint>

// Products of a matrix and a vector, in the same order of terms as products of matrices.

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {
namespace detail {

/// Elements at equal distances.
template <class T>
struct strided {
  T* data;
  std::int64_t stride;
  COTANGENT_INLINE T& operator[](std::int64_t i) const { return data[i * stride]; }
};

template <class T, class V>
COTANGENT_INLINE void store_lanes(strided<T> y, V const& v, std::int64_t count) {
  if (y.stride == 1)
    count >= simd::lanes<V> ? simd::store(y.data, v) : simd::store(y.data, v, count);
  else
    for (int i = 0; i < simd::lanes<V>; ++i)
      if (i < count) y[i] = v[i];
}

/// The sum of x[p] * y[p]. One chain waits for itself, so eight run side by side.
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

/// Groups x W rows of the next function, or `count` of them where Rows stands for fewer than W.
template <int Groups, class Rows, class T>
COTANGENT_INLINE void rows_in_lanes(std::int64_t count, std::int64_t k, T const* m, std::int64_t m_row,
                                    strided<T const> x, strided<T> y) {
  constexpr int w = simd::width<T>, n = turned<T>;
  using V = simd::pack<T, w>;
  Rows const rows(m_row, count);
  V total[Groups], sum[Groups];
#pragma GCC unroll 4
  for (int g = 0; g < Groups; ++g) total[g] = V{};
  for (std::int64_t p0 = 0; p0 < k; p0 += matmul_chain) {
    std::int64_t const end = k - p0 < matmul_chain ? k : p0 + matmul_chain;
#pragma GCC unroll 4
    for (int g = 0; g < Groups; ++g) sum[g] = V{};
    std::int64_t p = p0;
    V column[static_cast<std::size_t>(n)];
    for (; p + n <= end; p += n) {
#pragma GCC unroll 4
      for (int g = 0; g < Groups; ++g) {
        detail::turn(column, rows, m + g * w * m_row + p);
#pragma GCC unroll 4
        for (int q = 0; q < n; ++q) sum[g] = math::fma(column[q], math::broadcast<V>(x[p + q]), sum[g]);
      }
    }
    if (p < end)
#pragma GCC unroll 4
      for (int g = 0; g < Groups; ++g) {
        detail::turn(column, rows, m + g * w * m_row + p, end - p);
#pragma GCC unroll 4
        for (int q = 0; q < n; ++q) // 0 * -0 added leaves every sum as it is, -0 too
          sum[g] = math::fma(column[q], math::broadcast<V>(p + q < end ? x[p + q] : T(-0.0)), sum[g]);
      }
#pragma GCC unroll 4
    for (int g = 0; g < Groups; ++g) total[g] = p0 == 0 ? sum[g] : total[g] + sum[g];
  }
#pragma GCC unroll 4
  for (int g = 0; g < Groups; ++g)
    detail::store_lanes(strided<T>{y.data + g * w * y.stride, y.stride}, total[g], count - g * w);
}

/// y[i] = the sum of m(i, p) * x[p], where the rows of m are contiguous: rows go into lanes.
template <class T>
[[gnu::noinline]] void rows_times_vector(std::int64_t rows, std::int64_t k, T const* m, std::int64_t m_row,
                                         strided<T const> x, strided<T> y) {
  constexpr std::int64_t w = simd::width<T>;
  if (rows == 1)
    y[0] = detail::dot<T>(k, {m, 1}, x);
  else if (rows < w)
    detail::rows_in_lanes<1, few_rows<T>>(rows, k, m, m_row, x, y);
  else
    for (std::int64_t i = 0; i < rows;) {
      // two groups, for a sum to wait for while the other goes on; the last one may overlap the one before it
      if (rows - i >= 2 * w) {
        detail::rows_in_lanes<2, row_block<T>>(2 * w, k, m + i * m_row, m_row, x, {y.data + i * y.stride, y.stride});
        i += 2 * w;
      } else {
        if (rows - i < w) i = rows - w;
        detail::rows_in_lanes<1, row_block<T>>(w, k, m + i * m_row, m_row, x, {y.data + i * y.stride, y.stride});
        i += w;
      }
    }
}

/// Vectors x W columns of the next function; the vectors lie at `at`, and overlap where there are fewer columns.
template <int Vectors, class T>
COTANGENT_INLINE void combine(std::int64_t k, strided<T const> x, T const* m, std::int64_t m_row,
                              std::int64_t columns, strided<T> y) {
  constexpr int w = simd::width<T>;
  using V = simd::pack<T, w>;
  std::int64_t at[Vectors];
  V total[Vectors], sum[Vectors];
#pragma GCC unroll 8
  for (int v = 0; v < Vectors; ++v) {
    at[v] = (v + 1) * w <= columns ? v * w : columns - w;
    total[v] = V{};
  }
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
  for (int v = 0; v < Vectors; ++v) detail::store_lanes(strided<T>{y.data + at[v] * y.stride, y.stride}, total[v], w);
}

/// y[j] = the sum of x[p] * m(p, j), where the rows of m are contiguous.
template <class T>
[[gnu::noinline]] void vector_times_rows(std::int64_t columns, std::int64_t k, T const* m, std::int64_t m_row,
                                         strided<T const> x, strided<T> y) {
  constexpr int w = simd::width<T>;
  using V = simd::pack<T, w>;
  if (columns == 1)
    y[0] = detail::dot<T>(k, x, {m, m_row});
  else if (columns < w) {
    V total{};
    for (std::int64_t p0 = 0; p0 < k; p0 += matmul_chain) {
      std::int64_t const end = k - p0 < matmul_chain ? k : p0 + matmul_chain;
      V sum{};
      for (std::int64_t p = p0; p < end; ++p)
        sum = math::fma(math::broadcast<V>(x[p]), simd::load<V>(m + p * m_row, columns), sum);
      total = p0 == 0 ? sum : total + sum;
    }
    detail::store_lanes(y, total, columns);
  } else
    while (columns > 0) {
      // what remains is never narrower than a vector
      std::int64_t const part = columns <= 8 * w ? columns : columns < 9 * w ? 7 * w : 8 * w;
      if (part > 4 * w)
        detail::combine<8>(k, x, m, m_row, part, y);
      else
        detail::combine<4>(k, x, m, m_row, part, y);
      columns -= part;
      m += part;
      y.data += part * y.stride;
    }
}

} // namespace detail
} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
