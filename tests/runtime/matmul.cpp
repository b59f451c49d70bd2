// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/kernels/matrix/matmul.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace {

namespace kernels = cotangent::kernels;
namespace math = cotangent::math;
using std::int64_t;

/// A matrix that begins `shift` elements behind an allocation's start and ends with it.
template <class T>
struct storage {
  std::vector<T> all;
  int64_t shift, ld;
  storage(int64_t rows, int64_t columns, int64_t gap, int64_t from, T fill = T(7))
      : all(static_cast<std::size_t>(from + (rows > 0 ? (rows - 1) * (columns + gap) + columns : 0)), fill),
        shift(from), ld(columns + gap) {}
  T* data() { return all.data() + shift; }
  T& at(int64_t i, int64_t j) { return data()[i * ld + j]; }
};

template <class T>
bool same_bits(T x, T y) {
  return std::memcmp(&x, &y, sizeof x) == 0 || (x != x && y != y);
}

/// What the documentation says of an element.
template <class T, class Left, class Right>
T in_chains(int64_t k, Left left, Right right) {
  T total{};
  for (int64_t p0 = 0; p0 < k; p0 += kernels::matmul_chain) {
    T sum{};
    for (int64_t p = p0; p < k && p < p0 + kernels::matmul_chain; ++p)
      sum = math::fma(left(p), right(p), sum);
    total = p0 == 0 ? sum : total + sum;
  }
  return total;
}

struct layout {
  int64_t gap, shift;
  bool scratch;
};

/// How many elements are wrong, in bits or against long double, or were written outside of the result.
template <bool TA, bool TB, class T>
int64_t wrong(int64_t m, int64_t n, int64_t k, layout how, std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  storage<T> a(TA ? k : m, TA ? m : k, how.gap, how.shift), b(TB ? n : k, TB ? k : n, how.gap * 2, how.shift);
  storage<T> c(m, n, how.gap, how.shift), before = c;
  for (T& x : a.all) x = static_cast<T>(uniform(random));
  for (T& x : b.all) x = static_cast<T>(uniform(random));
  std::vector<T> scratch(static_cast<std::size_t>(kernels::matmul_scratch_bytes<T>(m, n, k)) / sizeof(T));
  kernels::matmul<TA, TB>(m, n, k, a.data(), a.ld, b.data(), b.ld, c.data(), c.ld,
                          how.scratch ? scratch.data() : nullptr);
  int64_t count = 0;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      auto const left = [&](int64_t p) { return TA ? a.at(p, i) : a.at(i, p); };
      auto const right = [&](int64_t p) { return TB ? b.at(j, p) : b.at(p, j); };
      T const x = c.at(i, j), y = in_chains<T>(k, left, right);
      long double exact = 0, size = 0;
      for (int64_t p = 0; p < k; ++p) {
        long double const term = static_cast<long double>(left(p)) * static_cast<long double>(right(p));
        exact += term;
        size += std::abs(term);
      }
      auto const bound = size * static_cast<long double>(k) * std::numeric_limits<T>::epsilon();
      count +=
          !(std::abs(static_cast<long double>(x) - exact) <= bound) || (!math::is_fast && !same_bits(x, y));
      c.at(i, j) = T(7);
    }
  return count + !(c.all == before.all);
}

template <class T>
int64_t wrong(int64_t m, int64_t n, int64_t k, layout how, std::mt19937& random) {
  return wrong<false, false, T>(m, n, k, how, random) + wrong<false, true, T>(m, n, k, how, random) +
         wrong<true, false, T>(m, n, k, how, random) + wrong<true, true, T>(m, n, k, how, random);
}

} // namespace

TEMPLATE_TEST_CASE("matmul has the specified bits for every small size, layout and alignment",
                   "", float, double) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int64_t> size(0, 33), gap(0, 3), shift(0, 17);
  for (int trial = 0; trial < 600; ++trial) {
    int64_t const m = size(random), n = size(random), k = size(random);
    CAPTURE(m, n, k);
    REQUIRE(wrong<TestType>(m, n, k, {gap(random), shift(random), false}, random) == 0);
  }
}

TEMPLATE_TEST_CASE("matmul has the specified bits if a size is 1", "", float, double) {
  std::mt19937 random(2);
  for (int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 100, 127, 128, 130, 145})
    for (int64_t k : {1, 2, 3, 4, 5, 16, 30, 128, 129, 1030}) {
      CAPTURE(n, k);
      REQUIRE(wrong<TestType>(1, n, k, {n % 3, k % 5, false}, random) == 0);
      REQUIRE(wrong<TestType>(n, 1, k, {n % 3, k % 5, false}, random) == 0);
      REQUIRE(wrong<TestType>(n, k > 200 ? 2 : k, 1, {n % 3, k % 5, false}, random) == 0);
    }
}

TEMPLATE_TEST_CASE("matmul has the specified bits beyond one chain, one panel and one cache",
                   "", float, double) {
  std::mt19937 random(3);
  int64_t const sizes[][3] = {{64, 32, 64},    {50, 10, 32},    {32, 10, 100},   {64, 32, 127},
                              {20, 34, 128},   {9, 65, 129},    {33, 2, 260},    {40, 3, 300},
                              {70, 17, 256},   {65, 33, 257},   {40, 600, 40},   {100, 300, 135},
                              {200, 192, 193}, {261, 195, 192}, {520, 192, 192}, {200, 4, 9}};
  for (auto const& [m, n, k] : sizes)
    for (bool scratch : {false, true}) {
      CAPTURE(m, n, k, scratch);
      REQUIRE(wrong<TestType>(m, n, k, {m % 2, n % 2, scratch}, random) == 0);
    }
  // rows that begin at equal addresses modulo 4096
  REQUIRE(wrong<false, false, TestType>(193, 192, 1024, {0, 0, true}, random) == 0);
}

TEMPLATE_TEST_CASE("an empty matmul writes nothing, and sums of no terms are zero",
                   "", float, double, std::int32_t) {
  using T = TestType;
  T const a[4] = {1, 2, 3, 4};
  T c[6] = {7, 7, 7, 7, 7, 7};
  kernels::matmul<false, false>(0, 2, 2, a, 2, a, 2, c, 3);
  kernels::matmul<false, false>(2, 0, 2, a, 2, a, 2, c, 3);
  for (T x : c) REQUIRE(x == 7);
  kernels::matmul<false, false>(2, 2, 0, a, 2, a, 2, c, 3);
  REQUIRE((c[0] == 0 && c[1] == 0 && c[2] == 7 && c[3] == 0 && c[4] == 0 && c[5] == 7));
}

#if !COTANGENT_ABI_FAST
TEMPLATE_TEST_CASE("matmul propagates NaN and infinity, and only to their row and column",
                   "", float, double) {
  using T = TestType;
  T const inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  for (int64_t n : {1, 2, 3, 10, 17, 33, 70})
    for (int64_t m : {1, 2, 9, 33}) {
      int64_t const k = 131;
      std::vector<T> a(static_cast<std::size_t>(m * k), 1), b(static_cast<std::size_t>(k * n), 1),
          c(static_cast<std::size_t>(m * n));
      a[static_cast<std::size_t>((m - 1) * k + 130)] = nan; // the last row
      b[static_cast<std::size_t>(129 * n + n / 2)] = inf;   // a column
      a[static_cast<std::size_t>(m / 2 * k + 129)] = 0;     // meets it in one element
      kernels::matmul<false, false>(m, n, k, a.data(), k, b.data(), n, c.data(), n);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          T const x = c[static_cast<std::size_t>(i * n + j)];
          bool const none = i == m - 1 || (i == m / 2 && j == n / 2);
          T const finite = i == m / 2 ? T(130) : T(131);
          CAPTURE(m, n, i, j, x);
          REQUIRE((none ? x != x : j == n / 2 ? x == inf : x == finite));
        }
    }
}

TEMPLATE_TEST_CASE("matmul keeps the zero that a sum of negative zeros starts from", "", float, double) {
  using T = TestType;
  std::vector<T> const a(33 * 33, T(-0.0)), b(33 * 33, T(1));
  for (int64_t m : {1, 2, 33})
    for (int64_t n : {1, 2, 33})
      for (int64_t k : {1, 3, 33}) {
        std::vector<T> c(33 * 33, T(7));
        kernels::matmul<false, false>(m, n, k, a.data(), 33, b.data(), 33, c.data(), 33);
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) REQUIRE(same_bits(c[static_cast<std::size_t>(i * 33 + j)], T(0)));
      }
  T c[9];
  kernels::matmul<false, false, 3, 3, 3>(a.data(), 33, b.data(), 33, c, 3);
  for (T x : c) REQUIRE(same_bits(x, T(0)));
}

TEMPLATE_TEST_CASE("an element of a matmul does not depend on the other rows and columns",
                   "", float, double) {
  using T = TestType;
  int64_t const m = 37, n = 45, k = 150;
  std::mt19937 random(4);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> a(m * k), b(k * n), c(m * n), row(n), column(m);
  for (T& x : a) x = static_cast<T>(uniform(random));
  for (T& x : b) x = static_cast<T>(uniform(random));
  kernels::matmul<false, false>(m, n, k, a.data(), k, b.data(), n, c.data(), n);
  for (int64_t i = 0; i < m; ++i) {
    kernels::matmul<false, false>(1, n, k, a.data() + i * k, k, b.data(), n, row.data(), n);
    REQUIRE(std::memcmp(row.data(), c.data() + i * n, n * sizeof(T)) == 0);
  }
  for (int64_t j = 0; j < n; ++j) {
    kernels::matmul<false, false>(m, 1, k, a.data(), k, b.data() + j, n, column.data(), 1);
    for (int64_t i = 0; i < m; ++i)
      REQUIRE(same_bits(column[static_cast<std::size_t>(i)], c[static_cast<std::size_t>(i * n + j)]));
  }
}
#endif

namespace {

template <bool TA, bool TB, int M, int N, int K, class T>
bool fixed_agrees() {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  T a[M * K + 1], b[K * N + 1], c[M * N + 1], d[M * N + 1];
  for (T& x : a) x = static_cast<T>(uniform(random));
  for (T& x : b) x = static_cast<T>(uniform(random));
  for (T& x : c) x = T(7);
  for (T& x : d) x = T(7);
  kernels::matmul<TA, TB, M, N, K>(a, TA ? M : K, b, TB ? K : N, c, N);
  kernels::matmul<TA, TB>(M, N, K, a, TA ? M : K, b, TB ? K : N, d, N);
  if (!math::is_fast) return std::memcmp(c, d, sizeof c) == 0;
  for (int i = 0; i < M * N; ++i)
    if (!(std::abs(c[i] - d[i]) <= 8 * K * std::numeric_limits<T>::epsilon())) return false;
  return c[M * N] == T(7);
}

template <int M, int N, int K, class T>
bool fixed_agree() {
  return fixed_agrees<false, false, M, N, K, T>() && fixed_agrees<false, true, M, N, K, T>() &&
         fixed_agrees<true, false, M, N, K, T>() && fixed_agrees<true, true, M, N, K, T>();
}

} // namespace

TEMPLATE_TEST_CASE("straight-line code for constant sizes gives the bits of the loops", "", float, double) {
  REQUIRE(fixed_agree<1, 1, 1, TestType>());
  REQUIRE(fixed_agree<2, 2, 2, TestType>());
  REQUIRE(fixed_agree<3, 3, 3, TestType>());
  REQUIRE(fixed_agree<4, 4, 4, TestType>());
  REQUIRE(fixed_agree<3, 1, 3, TestType>());
  REQUIRE(fixed_agree<2, 15, 3, TestType>());
  REQUIRE(fixed_agree<8, 8, 8, TestType>());
  REQUIRE(fixed_agree<0, 2, 3, TestType>());
  REQUIRE(fixed_agree<3, 2, 0, TestType>());
  REQUIRE(fixed_agree<12, 7, 5, TestType>()); // no straight code from here on
  REQUIRE(fixed_agree<1, 40, 20, TestType>());
  REQUIRE(fixed_agree<40, 1, 20, TestType>());
  REQUIRE(fixed_agree<64, 10, 32, TestType>());
  REQUIRE(fixed_agree<32, 10, 50, TestType>());
  REQUIRE(fixed_agree<64, 33, 40, TestType>());
}

TEST_CASE("matmul of integers wraps around") {
  std::int32_t const big = std::numeric_limits<std::int32_t>::max();
  std::int32_t const a[2] = {big, 2}, b[2] = {2, 5};
  std::int32_t c = 0;
  kernels::matmul<false, true>(1, 1, 2, a, 2, b, 2, &c, 1);
  REQUIRE(c == 8);
  std::int64_t const d[6] = {1, 2, 3, 4, 5, 6}; // [3, 2], transposed on the left
  std::int64_t e[4];
  kernels::matmul<true, false>(2, 2, 3, d, 2, d, 2, e, 2);
  REQUIRE((e[0] == 35 && e[1] == 44 && e[2] == 44 && e[3] == 56));
}

TEST_CASE("small products need no scratch memory, large ones little") {
  STATIC_REQUIRE(kernels::matmul_scratch_bytes<float>(100, 64, 64) == 0);
  STATIC_REQUIRE(kernels::matmul_scratch_bytes<float>(1, 100000, 100000) == 0);
  STATIC_REQUIRE(kernels::matmul_scratch_bytes<float>(200, 200, 200) >= 200 * 128 * 4);
  STATIC_REQUIRE(kernels::matmul_scratch_bytes<float>(200, 200, 200) <= 208 * 128 * 4);
  STATIC_REQUIRE(kernels::matmul_scratch_bytes<double>(5000, 5000, 5000) <= 256 * 1024);
}
