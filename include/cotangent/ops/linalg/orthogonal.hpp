// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_LINALG_ORTHOGONAL_HPP
#define COTANGENT_OPS_LINALG_ORTHOGONAL_HPP

#include <cotangent/core/math/roots.hpp>
#include <cotangent/ops/linalg/factorization.hpp>

#include <cstdint>
#include <limits>

// Decompositions by rotations and reflections, of one matrix. They keep vectors in rows, so that loops run over neighbors. Source: G. Golub,
// C. Van Loan, "Matrix Computations", 2013, sections 5.1, 8.3 and 8.6.

namespace cotangent::detail {

template <class T> constexpr T dot_of(T const* x, T const* y, std::int64_t count) {
  T sum[4]{};
  std::int64_t k = 0;
  for (; k + 4 <= count; k += 4)
    for (std::int64_t j = 0; j < 4; ++j) sum[j] = math::fma(x[k + j], y[k + j], sum[j]);
  for (; k < count; ++k) sum[0] = math::fma(x[k], y[k], sum[0]);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}
template <class T> constexpr void exchange_rows(T* x, T* y, std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k) {
    T const kept = x[k];
    x[k] = y[k], y[k] = kept;
  }
}
template <class T> constexpr T largest_in(T const* x, std::int64_t count) {
  T most{};
  for (std::int64_t k = 0; k < count; ++k)
    if (T const a = math::abs(x[k]); a > most || a != a) most = a; // a NaN stays
  return most;
}

/// The reflection 1 - tau v v', v[0] = 1, that takes x to (beta, 0, ...): v[1...] replaces x[1...]. If these are all 0, tau is 0.
template <class T> constexpr T reflection(T* x, std::int64_t count, T& beta) {
  beta = count > 0 ? x[0] : T{};
  T const scale = count > 1 ? detail::largest_in(x + 1, count - 1) : T{};
  if (scale == T{}) return T{};
  T sum{};
  for (std::int64_t k = 1; k < count; ++k) {
    T const part = x[k] / scale;
    sum = math::fma(part, part, sum);
  }
  T const alpha = x[0];
  beta = -math::copysign(math::hypot(alpha, scale * math::sqrt(sum)), alpha);
  for (std::int64_t k = 1; k < count; ++k) x[k] = x[k] / (alpha - beta);
  return (beta - alpha) / beta;
}
/// Applies it to y.
template <class T> constexpr void reflect(T const* v, T tau, T* y, std::int64_t count) {
  T const along = tau * (y[0] + detail::dot_of(v + 1, y + 1, count - 1));
  y[0] -= along;
  detail::subtract_row(y + 1, along, v + 1, count - 1);
}
/// The first `n` columns of the product of n reflections in rows of `v`, with `stride` between rows, of vectors of `m` elements: they
/// replace these rows. Reflection k has its 1 at element k.
template <class T> constexpr void multiply_reflections(T* v, T const* tau, std::int64_t tau_stride, std::int64_t n, std::int64_t m, std::int64_t stride) {
  for (std::int64_t k = n; k-- > 0;) {
    T* const row = v + k * stride;
    T const t = tau[k * tau_stride];
    for (std::int64_t j = k + 1; j < n; ++j) detail::reflect(row + k, t, v + j * stride + k, m - k);
    for (std::int64_t i = 0; i < k; ++i) row[i] = T{};
    row[k] = T{1} - t;
    for (std::int64_t i = k + 1; i < m; ++i) row[i] = -t * row[i];
  }
}

/// A = Q R, A with m rows and n columns, m >= n. Row j of `y` has column j of Q, column j of R, and one element of work space.
template <class T> constexpr void qr_of(T const* a, T* y, std::int64_t m, std::int64_t n) {
  std::int64_t const stride = m + n + 1;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) y[j * stride + i] = a[i * n + j];
  for (std::int64_t k = 0; k < n; ++k) {
    T* const row = y + k * stride;
    T& tau = row[m + n];
    for (std::int64_t i = 0; i < k; ++i) row[m + i] = row[i];
    tau = detail::reflection(row + k, m - k, row[m + k]);
    for (std::int64_t i = k + 1; i < n; ++i) row[m + i] = T{};
    for (std::int64_t j = k + 1; j < n && tau != T{}; ++j) detail::reflect(row + k, tau, y + j * stride + k, m - k);
  }
  detail::multiply_reflections(y, y + m + n, stride, n, m, stride);
}

/// The tridiagonal matrix V' A V of a symmetric A, whose rows are in `y`: its diagonal, the elements beside it; V' replaces A. `work`
/// and `tau` have n elements each.
template <class T> constexpr void tridiagonal_of(T* y, T* diagonal, T* beside, T* work, T* tau, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    T* const row = y + k * n;
    diagonal[k] = row[k];
    tau[k] = beside[k] = T{};
    if (k + 1 == n) break;
    std::int64_t const rest = n - k - 1;
    T* const v = row + k + 1;
    T const t = detail::reflection(v, rest, beside[k]);
    tau[k] = t;
    if (t == T{}) continue;
    v[0] = T{1};
    for (std::int64_t i = 0; i < rest; ++i) work[i] = t * detail::dot_of(y + (k + 1 + i) * n + k + 1, v, rest);
    T const half = T{0.5} * t * detail::dot_of(work, v, rest);
    detail::subtract_row(work, half, v, rest);
    for (std::int64_t i = 0; i < rest; ++i) {
      T* const x = y + (k + 1 + i) * n + k + 1;
      detail::subtract_row(x, v[i], work, rest);
      detail::subtract_row(x, work[i], v, rest);
    }
  }
  // Reflection k acts from element k + 1 on: as that of row k + 1, without the first row and column.
  for (std::int64_t k = n - 1; k-- > 0;)
    for (std::int64_t i = k + 1; i < n; ++i) y[(k + 1) * n + i] = y[k * n + i];
  for (std::int64_t i = 0; i < n; ++i) y[i] = y[i * n] = i == 0 ? T{1} : T{};
  if (n > 1) detail::multiply_reflections(y + n + 1, tau, 1, n - 1, n - 1, n);
}

/// The eigenvalues of a tridiagonal matrix, by implicit QL steps, whose rotations are applied to rows of `y`; false if they do not converge.
template <class T> constexpr bool diagonalize(T* y, T* diagonal, T* beside, std::int64_t n) {
  constexpr T epsilon = std::numeric_limits<T>::epsilon();
  for (std::int64_t first = 0; first < n; ++first)
    for (int step = 0;; ++step) {
      std::int64_t last = first; // of a block without zeros beside the diagonal
      while (last + 1 < n && !(math::abs(beside[last]) <= epsilon * (math::abs(diagonal[last]) + math::abs(diagonal[last + 1])))) ++last;
      if (last == first) break;
      if (step == 60) return false;
      T const apart = (diagonal[first + 1] - diagonal[first]) / (T{2} * beside[first]), root = math::hypot(apart, T{1});
      T g = diagonal[last] - diagonal[first] + beside[first] / (apart + math::copysign(root, apart));
      T sine{1}, cosine{1}, shift{};
      std::int64_t k = last;
      bool split = false;
      while (!split && k-- > first) {
        T const f = sine * beside[k], b = cosine * beside[k], r = math::hypot(f, g);
        beside[k + 1] = r;
        if (r == T{}) { // the block falls apart
          diagonal[k + 1] -= shift;
          beside[last] = T{};
          split = true;
          break;
        }
        sine = f / r, cosine = g / r;
        T const d = diagonal[k + 1] - shift, q = (diagonal[k] - d) * sine + T{2} * cosine * b;
        shift = sine * q;
        diagonal[k + 1] = d + shift;
        g = cosine * q - b;
        T *const low = y + k * n, *const high = low + n;
        for (std::int64_t i = 0; i < n; ++i) {
          T const h = high[i];
          high[i] = sine * low[i] + cosine * h;
          low[i] = cosine * low[i] - sine * h;
        }
      }
      if (split) continue;
      diagonal[first] -= shift;
      beside[first] = g;
      beside[last] = T{};
    }
  return true;
}

/// The eigenvectors of a symmetric A in n rows of `y`, by rising eigenvalues, which are row n; three rows of work space follow, set to 0.
template <class T> constexpr void eigh_of(T const* a, T* y, std::int64_t n) {
  T *const values = y + n * n, *const beside = values + n;
  for (std::int64_t k = 0; k < n * n; ++k) y[k] = a[k];
  detail::tridiagonal_of(y, values, beside, beside + n, beside + 2 * n, n);
  bool const right = detail::largest_in(a, n * n) <= std::numeric_limits<T>::max() && detail::diagonalize(y, values, beside, n);
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t least = i;
    for (std::int64_t k = i + 1; k < n; ++k)
      if (values[k] < values[least]) least = k;
    if (least == i) continue;
    detail::exchange_rows(values + i, values + least, 1);
    detail::exchange_rows(y + i * n, y + least * n, n);
  }
  if (!right)
    for (std::int64_t k = 0; k < n * n + n; ++k) y[k] = std::numeric_limits<T>::quiet_NaN();
  for (std::int64_t k = 0; k < 3 * n; ++k) beside[k] = T{};
}

/// Sums of squares below this have lost bits.
template <class T> inline constexpr T least_square = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
template <class T> constexpr T norm_of(T const* x, std::int64_t count) {
  T const square = detail::dot_of(x, x, count);
  if (!(square < least_square<T>)) return math::sqrt(square);
  T const size = detail::largest_in(x, count);
  if (size == T{}) return size;
  T sum{};
  for (std::int64_t k = 0; k < count; ++k) sum = math::fma(x[k] / size, x[k] / size, sum);
  return size * math::sqrt(sum);
}
/// Rotates two rows until they are orthogonal, and as many rows of `turned`; false if they were.
template <class T> constexpr bool rotate_apart(T* p, T* q, std::int64_t count, T* turned_p, T* turned_q, std::int64_t turned_count) {
  constexpr T epsilon = std::numeric_limits<T>::epsilon();
  T pp = detail::dot_of(p, p, count), qq = detail::dot_of(q, q, count), pq = detail::dot_of(p, q, count), ratio{1};
  if (pp < least_square<T> || qq < least_square<T>) { // products of small elements lose their bits
    T const size_p = detail::largest_in(p, count), size_q = detail::largest_in(q, count);
    if (size_p == T{} || size_q == T{}) return false;
    pp = qq = pq = T{};
    for (std::int64_t k = 0; k < count; ++k) {
      T const x = p[k] / size_p, z = q[k] / size_q;
      pp = math::fma(x, x, pp), qq = math::fma(z, z, qq), pq = math::fma(x, z, pq);
    }
    ratio = size_q / size_p;
  }
  if (!(math::abs(pq) > epsilon * math::sqrt(static_cast<T>(count)) * math::sqrt(pp) * math::sqrt(qq))) return false;
  T const zeta = (qq * ratio - pp / ratio) / (T{2} * pq);
  T const t = math::copysign(T{1} / (math::abs(zeta) + math::hypot(zeta, T{1})), zeta), c = T{1} / math::hypot(t, T{1}), s = c * t;
  auto const rotate = [&](T* x, T* z, std::int64_t n) {
    for (std::int64_t k = 0; k < n; ++k) {
      T const kept = x[k];
      x[k] = c * kept - s * z[k];
      z[k] = s * kept + c * z[k];
    }
  };
  if (t == T{}) return false; // they are too far apart
  rotate(p, q, count);
  rotate(turned_p, turned_q, turned_count);
  return true;
}
/// Replaces row `at` by a unit vector orthogonal to the `count` rows before it.
template <class T> constexpr void complete_row(T* y, std::int64_t at, std::int64_t m, std::int64_t stride) {
  T* const row = y + at * stride;
  std::int64_t best = 0;
  T least = std::numeric_limits<T>::max();
  for (std::int64_t i = 0; i < m; ++i) {
    T sum{};
    for (std::int64_t j = 0; j < at; ++j) sum = math::fma(y[j * stride + i], y[j * stride + i], sum);
    if (sum < least) least = sum, best = i;
  }
  for (std::int64_t i = 0; i < m; ++i) row[i] = i == best ? T{1} : T{};
  for (int pass = 0; pass < 2; ++pass) {
    for (std::int64_t j = 0; j < at; ++j) detail::subtract_row(row, detail::dot_of(y + j * stride, row, m), y + j * stride, m);
    T const inverse = T{1} / math::sqrt(detail::dot_of(row, row, m));
    for (std::int64_t i = 0; i < m; ++i) row[i] *= inverse;
  }
}

/// A = U S V', A with m rows and n columns. Row j of the k = min(m, n) rows of `y` has column j of U, column j of V, and singular value j;
/// these fall. By one-sided Jacobi rotations.
template <class T> constexpr void svd_of(T const* a, T* y, std::int64_t m, std::int64_t n) {
  bool const tall = m >= n;
  std::int64_t const k = tall ? n : m, stride = m + n + 1, count = tall ? m : n, other = tall ? n : m;
  T *const turned = tall ? y : y + m, *const unit = tall ? y + m : y, *const value = y + m + n;
  T const scale = detail::largest_in(a, m * n);
  T const inverse = scale > T{} ? T{1} / scale : T{1};
  for (std::int64_t j = 0; j < k; ++j) {
    for (std::int64_t i = 0; i < count; ++i) turned[j * stride + i] = inverse * (tall ? a[i * n + j] : a[j * n + i]);
    for (std::int64_t i = 0; i < other; ++i) unit[j * stride + i] = i == j ? T{1} : T{};
  }
  bool any = true;
  for (int sweep = 0; any && sweep < 60; ++sweep) {
    any = false;
    for (std::int64_t p = 0; p < k; ++p)
      for (std::int64_t q = p + 1; q < k; ++q)
        any = detail::rotate_apart(turned + p * stride, turned + q * stride, count, unit + p * stride, unit + q * stride, other) || any;
  }
  for (std::int64_t j = 0; j < k; ++j) value[j * stride] = detail::norm_of(turned + j * stride, count);
  for (std::int64_t i = 0; i < k; ++i) {
    std::int64_t most = i;
    for (std::int64_t j = i + 1; j < k; ++j)
      if (value[j * stride] > value[most * stride]) most = j;
    if (most != i) detail::exchange_rows(y + i * stride, y + most * stride, stride);
    T const s = value[i * stride];
    if (s == T{}) detail::complete_row(turned, i, count, stride);
    else
      for (std::int64_t c = 0; c < count; ++c) turned[i * stride + c] = turned[i * stride + c] / s;
    value[i * stride] = s * (scale > T{} ? scale : T{1});
  }
}

/// exp(A) in the first of six blocks of n rows; the others are work space, set to 0. By scaling, a Pade approximant, and squaring.
/// Source: N. Higham, "The scaling and squaring method for the matrix exponential revisited", 2005.
template <class T> constexpr void expm_of(T const* a, T* y, std::int64_t n) {
  std::int64_t const block = n * n;
  T norm{};
  for (std::int64_t c = 0; c < n; ++c) {
    T sum{};
    for (std::int64_t r = 0; r < n; ++r) sum += math::abs(a[r * n + c]);
    if (!(sum <= norm)) norm = sum;
  }
  int squarings = 0;
  for (T x = norm; x > T(5.371920351148152) && squarings < 1100; x *= T{0.5}) ++squarings;
  if (!(norm <= std::numeric_limits<T>::max())) {
    for (std::int64_t k = 0; k < 6 * block; ++k) y[k] = k < block ? std::numeric_limits<T>::quiet_NaN() : T{};
    return;
  }
  T scale{1};
  for (int k = 0; k < squarings; ++k) scale *= T{0.5};
  T *const x = y, *const two = x + block, *const four = two + block, *const six = four + block, *const u = six + block, *const v = u + block;
  auto const multiply = [n, block](T const* p, T const* q, T* to) {
    for (std::int64_t k = 0; k < block; ++k) to[k] = T{};
    for (std::int64_t r = 0; r < n; ++r)
      for (std::int64_t j = 0; j < n; ++j) detail::subtract_row(to + r * n, -p[r * n + j], q + j * n, n);
  };
  constexpr T b[]{1, T(1. / 2), T(3. / 25), T(11. / 600), T(11. / 5520), T(3. / 18400), T(1. / 96600), T(1. / 1932000),
                  T(1. / 48944000), T(1. / 1585785600), T(1. / 67395888000), T(1. / 3953892096000), T(1. / 355850288640000),
                  T(1. / 64764752532480000)};
  auto const combine = [&](T* to, T const* by_two, T const* by_four, T const* by_six, int odd) {
    for (std::int64_t k = 0; k < block; ++k) to[k] = b[8 + odd] * by_two[k] + b[10 + odd] * by_four[k] + b[12 + odd] * by_six[k];
  };
  auto const complete = [&](T* to, int odd) {
    for (std::int64_t k = 0; k < block; ++k) to[k] += b[2 + odd] * two[k] + b[4 + odd] * four[k] + b[6 + odd] * six[k];
    for (std::int64_t k = 0; k < n; ++k) to[k * n + k] += b[odd];
  };
  for (std::int64_t k = 0; k < block; ++k) x[k] = scale * a[k];
  multiply(x, x, two);
  multiply(two, two, four);
  multiply(two, four, six);
  combine(u, two, four, six, 1);
  multiply(six, u, v);
  complete(v, 1);
  multiply(x, v, u); // odd powers
  combine(x, two, four, six, 0);
  multiply(six, x, v);
  complete(v, 0); // even powers
  for (std::int64_t k = 0; k < block; ++k) {
    T const odd = u[k], even = v[k];
    x[k] = even - odd, six[k] = even + odd;
  }
  detail::lu_of(x, u, n); // fills u and a row of v
  detail::lu_solve_of(u, six, x, n, n, false);
  for (int k = 0; k < squarings; ++k) {
    multiply(x, x, two);
    for (std::int64_t j = 0; j < block; ++j) x[j] = two[j];
  }
  for (std::int64_t k = block; k < 6 * block; ++k) y[k] = T{};
}

} // namespace cotangent::detail

#endif
