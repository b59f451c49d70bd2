// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_MATRIX_SMALL_SYSTEMS_HPP
#define COTANGENT_KERNELS_MATRIX_SMALL_SYSTEMS_HPP

#include <cotangent/kernels/matrix/factorization.hpp>
#include <cotangent/kernels/matrix/matmul_small.hpp>
#include <cotangent/kernels/simd.hpp>
#include <cotangent/kernels/transpose.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

// Systems of a few rows, in registers: as many of a stack as a register has lanes, or one of them. All bits are those of the blocked kernels.

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {

// ---- of a stack

/// The most rows of such matrices.
inline constexpr std::int64_t most_lane_rows = 8;

namespace detail {

template <class T> using matrix_lanes = simd::pack<T, simd::width<T>>;

/// Calls `block(k)` for blocks of the elements that 16 bytes hold, of which the last one may overlap the one before it, and `one(k)` for
/// each element if there are fewer.
template <class T, class Block, class One> COTANGENT_INLINE void for_blocks(std::int64_t count, Block const& block, One const& one) {
  constexpr std::int64_t n = turned<T>;
  if (count < n)
    for (std::int64_t k = 0; k < count; ++k) one(k);
  else {
    for (std::int64_t k = 0; k + n <= count; k += n) block(k);
    if (count % n != 0) block(count - n);
  }
}
/// Element k of each of the matrices, which lie `size` elements apart.
template <class T> COTANGENT_INLINE void load_matrices(matrix_lanes<T>* to, T const* from, std::int64_t count, std::int64_t size) {
  constexpr int n = turned<T>;
  detail::for_blocks<T>(
      count,
      [&](std::int64_t k) {
        matrix_lanes<T> of[static_cast<std::size_t>(n)];
        kernels::turn(of, from + k, size);
        for (int j = 0; j < n; ++j) to[k + j] = of[j];
      },
      [&](std::int64_t k) { to[k] = simd::load_strided<matrix_lanes<T>>(from + k, size); });
}
template <class T> COTANGENT_INLINE void store_matrices(T* to, matrix_lanes<T> const* from, std::int64_t count, std::int64_t size) {
  constexpr int n = turned<T>;
  detail::for_blocks<T>(
      count,
      [&](std::int64_t k) {
        matrix_lanes<T> of[static_cast<std::size_t>(n)];
        for (int j = 0; j < n; ++j) of[j] = from[k + j];
        kernels::turn_back<n>(of, to + k, size);
      },
      [&](std::int64_t k) {
        for (int j = 0; j < simd::width<T>; ++j) to[k + j * size] = from[k][j];
      });
}
/// The rows of x where `order` says: row i is row order[i] - 1, or the other way round.
template <class T>
COTANGENT_INLINE void permute_rows(matrix_lanes<T>* y, matrix_lanes<T> const* x, matrix_lanes<T> const* order, std::int64_t n, bool back) {
  using V = matrix_lanes<T>;
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[0];
  for (std::int64_t i = 0; i < n; ++i) {
    V const row = math::abs(order[i]);
    for (std::int64_t k = 0; k < n; ++k) {
      auto const here = row == math::broadcast<V>(static_cast<T>(k + 1));
      V& to = y[back ? k : i];
      to = math::select(here, x[back ? i : k], to);
    }
  }
}
/// Solves op(A) x = b in place of b, for a triangle of A, in the order of `solve_lower`.
template <class T>
COTANGENT_INLINE void solve_triangle(matrix_lanes<T> const* a, matrix_lanes<T>* x, std::int64_t n, bool lower, bool transposed, bool unit) {
  bool const down = lower != transposed;
  for (std::int64_t s = 0; s < n; ++s) {
    std::int64_t const i = down ? s : n - 1 - s;
    auto sum = x[i];
    for (std::int64_t t = 0; t < s; ++t) {
      std::int64_t const k = down ? t : n - 1 - t;
      sum = math::fma(-a[transposed ? k * n + i : i * n + k], x[k], sum);
    }
    x[i] = unit ? sum : sum / a[i * n + i];
  }
}
template <class T> COTANGENT_INLINE auto zeros_on_diagonal(matrix_lanes<T> const* a, std::int64_t n) {
  math::mask_t<matrix_lanes<T>> found{};
  for (std::int64_t i = 0; i < n; ++i) found = found | (a[i * n + i] == matrix_lanes<T>{});
  return found;
}
/// Replaces each column of the right sides by what `f` leaves in it.
template <class T, class F>
COTANGENT_INLINE void for_right_sides(std::int64_t n, std::int64_t m, T const* b, T* x, F const& f) {
  constexpr int block = turned<T>;
  matrix_lanes<T> v[static_cast<std::size_t>(block)][most_lane_rows];
  if (m == 1) {
    detail::load_matrices<T>(v[0], b, n, n);
    f(v[0]);
    return detail::store_matrices<T>(x, v[0], n, n);
  }
  for (std::int64_t c = 0, count = block; c < m; c += count) {
    if (m - c < block) count = 1;
    matrix_lanes<T> row[static_cast<std::size_t>(block)];
    for (std::int64_t i = 0; i < n; ++i) {
      detail::load_matrices<T>(row, b + i * m + c, count, n * m);
      for (std::int64_t k = 0; k < count; ++k) v[k][i] = row[k];
    }
    for (std::int64_t k = 0; k < count; ++k) f(v[k]);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t k = 0; k < count; ++k) row[k] = v[k][i];
      detail::store_matrices<T>(x + i * m + c, row, count, n * m);
    }
  }
}

} // namespace detail

/// `lu` for simd::width<T> matrices of at most most_lane_rows rows, with equal bits.
/// Checked: tests/runtime/factorization.cpp
template <class T> [[gnu::noinline]] void lu_lanes(std::int64_t n, T const* a, T* y) {
  using V = detail::matrix_lanes<T>;
  V f[most_lane_rows * (most_lane_rows + 1)];
  V* const order = f + n * n;
  detail::load_matrices<T>(f, a, n * n, n * n);
  for (std::int64_t k = 0; k < n; ++k) order[k] = math::broadcast<V>(static_cast<T>(k + 1));
  math::mask_t<V> odd{};
  for (std::int64_t i = 0; i < n; ++i) {
    V most = math::abs(f[i * n + i]), best = math::broadcast<V>(static_cast<T>(i));
    for (std::int64_t k = i + 1; k < n; ++k) {
      V const size = math::abs(f[k * n + i]);
      auto const larger = size > most;
      most = math::select(larger, size, most);
      best = math::select(larger, math::broadcast<V>(static_cast<T>(k)), best);
    }
    for (std::int64_t k = i + 1; k < n; ++k) {
      auto const here = best == math::broadcast<V>(static_cast<T>(k));
      odd = odd ^ here;
      for (std::int64_t c = 0; c <= n; ++c) {
        V &above = c == n ? order[i] : f[i * n + c], &below = c == n ? order[k] : f[k * n + c];
        V const kept = above;
        above = math::select(here, below, above);
        below = math::select(here, kept, below);
      }
    }
    V const pivot = f[i * n + i], inverse = math::broadcast<V>(T{1}) / pivot;
    auto const regular = pivot != V{};
    for (std::int64_t k = i + 1; k < n; ++k) {
      V const factor = f[k * n + i] * inverse;
      f[k * n + i] = math::select(regular, factor, f[k * n + i]);
      for (std::int64_t c = i + 1; c < n; ++c)
        f[k * n + c] = math::select(regular, V(math::fma(-factor, f[i * n + c], f[k * n + c])), f[k * n + c]);
    }
  }
  for (std::int64_t k = 0; k < n; ++k) order[k] = math::select(odd, V(-order[k]), order[k]);
  detail::store_matrices<T>(y, f, n * (n + 1), n * (n + 1));
}

/// Solves op(A) X = B for simd::width<T> matrices and right sides, from the result of `lu_lanes` or `lu`, with the bits of single
/// solutions. True if one of the matrices is singular; its solution is NaN.
template <class T>
[[gnu::noinline]] bool lu_solve_lanes(std::int64_t n, std::int64_t m, T const* lu, T const* b, T* x, bool transposed) {
  using V = detail::matrix_lanes<T>;
  V f[most_lane_rows * (most_lane_rows + 1)];
  detail::load_matrices<T>(f, lu, n * (n + 1), n * (n + 1));
  auto const singular = detail::zeros_on_diagonal<T>(f, n);
  detail::for_right_sides<T>(n, m, b, x, [&](V* v) {
    V other[most_lane_rows];
    if (transposed) {
      detail::solve_triangle<T>(f, v, n, false, true, false);
      detail::solve_triangle<T>(f, v, n, true, true, true);
      detail::permute_rows<T>(other, v, f + n * n, n, true);
    } else {
      detail::permute_rows<T>(other, v, f + n * n, n, false);
      detail::solve_triangle<T>(f, other, n, true, false, true);
      detail::solve_triangle<T>(f, other, n, false, false, false);
    }
    for (std::int64_t i = 0; i < n; ++i)
      v[i] = math::select(singular, math::broadcast<V>(std::numeric_limits<T>::quiet_NaN()), other[i]);
  });
  return math::any(singular);
}

/// The same for a triangle of each matrix. True if a diagonal that counts has a zero.
template <class T>
[[gnu::noinline]] bool triangular_solve_lanes(std::int64_t n, std::int64_t m, T const* a, T const* b, T* x, bool lower, bool transposed, bool unit) {
  using V = detail::matrix_lanes<T>;
  V f[most_lane_rows * most_lane_rows];
  detail::load_matrices<T>(f, a, n * n, n * n);
  detail::for_right_sides<T>(n, m, b, x, [&](V* v) { detail::solve_triangle<T>(f, v, n, lower, transposed, unit); });
  return !unit && math::any(detail::zeros_on_diagonal<T>(f, n));
}

// ---- one

namespace detail {

/// As `solve_block`, for N rows: row 0 is *x, the next ones are `step` rows from each other.
template <int N, class T>
COTANGENT_INLINE void solve_in_registers(matrix<T> const& a, quad<T>* x, std::int64_t step, diagonal d) {
  using V = typename quad<T>::pack;
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i) {
    V const pivot = math::broadcast<V>(a.data[i * (a.row + a.column)]);
#pragma GCC unroll 2
    for (int j = 0; j < quad<T>::parts; ++j) {
      V sum = x[i * step].part[j];
#pragma GCC unroll 4
      for (int p = 0; p < i; ++p) sum = math::fma(math::broadcast<V>(-a.data[i * a.row + p * a.column]), x[p * step].part[j], sum);
      x[i * step].part[j] = d == diagonal::divides ? sum / pivot : sum;
    }
  }
}

template <int N, int M, class T, class From>
void lu_solve_short(T const* lu, T const* b, T* x, bool transposed, From const& from) noexcept {
  quad<T> row[N];
  matrix<T> const l{lu, N, 1}, u{lu + (N * N - 1), -N, -1}, l_turned{u.data, -1, -N}, u_turned{lu, 1, N};
  for (int i = 0; i < N; ++i) detail::load_first<M>(row[i], b + (transposed ? i : from(i)) * M);
  detail::solve_in_registers<N, T>(transposed ? u_turned : l, row, 1, transposed ? diagonal::divides : diagonal::one);
  detail::solve_in_registers<N, T>(transposed ? l_turned : u, row + (N - 1), -1, transposed ? diagonal::one : diagonal::divides);
  for (int i = 0; i < N; ++i) detail::store_first<M>(x + (transposed ? from(i) : i) * M, row[i]);
}
template <int N, class T, class From>
bool lu_solve_short(std::int64_t m, T const* lu, T const* b, T* x, bool transposed, From const& from) noexcept {
  switch (m) {
  case 1: return detail::lu_solve_short<N, 1>(lu, b, x, transposed, from), true;
  case 2: return detail::lu_solve_short<N, 2>(lu, b, x, transposed, from), true;
  case 3: return detail::lu_solve_short<N, 3>(lu, b, x, transposed, from), true;
  case 4: return detail::lu_solve_short<N, 4>(lu, b, x, transposed, from), true;
  default: return false;
  }
}

} // namespace detail

/// X with op(A) X = B, from the factors of A (see op::lu); row i of the factors is row from(i) of A. False if the system has other sizes.
template <class T, class From>
bool lu_solve_short(std::int64_t n, std::int64_t m, T const* lu, T const* b, T* x, bool transposed, From const& from) noexcept {
  switch (n) {
  case 2: return detail::lu_solve_short<2>(m, lu, b, x, transposed, from);
  case 3: return detail::lu_solve_short<3>(m, lu, b, x, transposed, from);
  case 4: return detail::lu_solve_short<4>(m, lu, b, x, transposed, from);
  default: return false;
  }
}

} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
