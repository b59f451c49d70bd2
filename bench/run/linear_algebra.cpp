// SPDX-License-Identifier: BSL-1.0
// Decompositions and linear systems of 50, 200 and 1,000 rows, values and gradients, against LAPACK (OpenBLAS on one thread) with the
// adjoints of Giles and Murray by hand. Where OpenBLAS is not installed a sentence says so.
#include "harness.hpp"

#include <cstdio>

#ifndef COTANGENT_BENCH_LAPACK

namespace {
bench::entry const absent("linear algebra", [](bench::suite& suite) {
  if (suite.wanted("linear algebra")) std::puts("linear algebra: left out: there is no OpenBLAS");
});
} // namespace

#else

#  include "inputs.hpp"
#  include "ours.hpp"

#  include <cotangent/linalg.hpp>

#  include <algorithm>
#  include <cmath>
#  include <cstddef>
#  include <functional>
#  include <memory>
#  include <string>
#  include <utility>
#  include <vector>

// LAPACK stores columns: it reads a matrix of rows as its transpose.
extern "C" {
void openblas_set_num_threads(int);
#  define BENCH_LAPACK(Prefix, T)                                                                                               \
    void Prefix##potrf_(char const*, int const*, T*, int const*, int*);                                                         \
    void Prefix##getrf_(int const*, int const*, T*, int const*, int*, int*);                                                    \
    void Prefix##getrs_(char const*, int const*, int const*, T const*, int const*, int const*, T*, int const*, int*);           \
    void Prefix##getri_(int const*, T*, int const*, int const*, T*, int const*, int*);                                          \
    void Prefix##trsm_(char const*, char const*, char const*, char const*, int const*, int const*, T const*, T const*,          \
                       int const*, T*, int const*);                                                                             \
    void Prefix##trmm_(char const*, char const*, char const*, char const*, int const*, int const*, T const*, T const*,          \
                       int const*, T*, int const*);                                                                             \
    void Prefix##gemm_(char const*, char const*, int const*, int const*, int const*, T const*, T const*, int const*, T const*,  \
                       int const*, T const*, T*, int const*)
BENCH_LAPACK(s, float);
BENCH_LAPACK(d, double);
}

namespace {

template <class T> struct lapack {
  static constexpr bool is_float = sizeof(T) == 4;
  static int potrf(int n, T* a) {
    int info = 0;
    if constexpr (is_float) spotrf_("U", &n, a, &n, &info);
    else dpotrf_("U", &n, a, &n, &info);
    return info;
  }
  static void getrf(int n, T* a, int* order) {
    int info = 0;
    if constexpr (is_float) sgetrf_(&n, &n, a, &n, order, &info);
    else dgetrf_(&n, &n, a, &n, order, &info);
  }
  static void getrs(char const* trans, int n, int sides, T const* a, int const* order, T* b) {
    int info = 0;
    if constexpr (is_float) sgetrs_(trans, &n, &sides, a, &n, order, b, &n, &info);
    else dgetrs_(trans, &n, &sides, a, &n, order, b, &n, &info);
  }
  static void getri(int n, T* a, int const* order, T* work, int size) {
    int info = 0;
    if constexpr (is_float) sgetri_(&n, a, &n, order, work, &size, &info);
    else dgetri_(&n, a, &n, order, work, &size, &info);
  }
  static void trsm(char const* side, char const* trans, int n, T alpha, T const* a, T* b) {
    if constexpr (is_float) strsm_(side, "U", trans, "N", &n, &n, &alpha, a, &n, b, &n);
    else dtrsm_(side, "U", trans, "N", &n, &n, &alpha, a, &n, b, &n);
  }
  static void trmm(char const* side, char const* trans, int n, T const* a, T* b) {
    T const one = 1;
    if constexpr (is_float) strmm_(side, "U", trans, "N", &n, &n, &one, a, &n, b, &n);
    else dtrmm_(side, "U", trans, "N", &n, &n, &one, a, &n, b, &n);
  }
  static void gemm(char const* left, char const* right, int n, T alpha, T const* a, T const* b, T* c) {
    T const zero = 0;
    if constexpr (is_float) sgemm_(left, right, &n, &n, &n, &alpha, a, &n, b, &n, &zero, c, &n);
    else dgemm_(left, right, &n, &n, &n, &alpha, a, &n, b, &n, &zero, c, &n);
  }
};

inline constexpr auto decomposed = [](auto a, auto) { return ct::cholesky(a); };
inline constexpr auto decomposed_sum = [](auto a, auto w) { return ct::sum(ct::cholesky(a) * w); };
inline constexpr auto forward_solved = [](auto l, auto b, auto) { return ct::triangular_solve(l, b); };
inline constexpr auto forward_solved_sum = [](auto l, auto b, auto w) { return ct::sum(ct::triangular_solve(l, b) * w); };
inline constexpr auto solved = [](auto a, auto b, auto) { return ct::solve(a, b); };
inline constexpr auto solved_sum = [](auto a, auto b, auto w) { return ct::sum(ct::solve(a, b) * w); };
inline constexpr auto inverted = [](auto a, auto) { return ct::inverse(a); };
inline constexpr auto inverted_sum = [](auto a, auto w) { return ct::sum(ct::inverse(a) * w); };
inline constexpr auto log_determinant = [](auto a) { return std::get<1>(ct::slogdet(a)); };

/// The arguments and results of one size, and the contestants that use them.
template <class T> struct contest {
  std::ptrdiff_t n, all = n * n;
  bench::buffer<T> definite{all}, general{all}, lower{all}, weight{all}, right{all}, b{n}, w{n};
  bench::buffer<T> value{1}, y{all}, da{all}, db{all}, work{all}, more{all}, x{n}, dx{n}, sides{64 * n};
  std::vector<int> order = std::vector<int>(static_cast<std::size_t>(n));

  using matrix = ct::view<T, "n", "n">;
  using constant_matrix = ct::view<T const, "n", "n">;
  using vector = ct::view<T, "n">;
  using constant_vector = ct::view<T const, "n">;

  explicit contest(std::ptrdiff_t size) : n(size) {
    bench::numbers random;
    for (auto* m : {&general, &weight, &right}) random.fill(*m, T(-1), T(1));
    random.fill(b, T(-1), T(1)), random.fill(w, T(-1), T(1));
    for (std::ptrdiff_t i = 0; i < n; ++i)
      for (std::ptrdiff_t k = 0; k <= i; ++k) {
        T const entry = random.between(T(-1), T(1)), much = static_cast<T>(2 * std::sqrt(static_cast<double>(n)));
        definite.data()[i * n + k] = definite.data()[k * n + i] = i == k ? much : entry;
        lower.data()[i * n + k] = i == k ? much : entry;
      }
    // Large entries off the diagonal: nearly every column exchanges two rows.
    for (std::ptrdiff_t i = 0; i < n; ++i)
      general.data()[i * n + (7 * i + 3) % n] += static_cast<T>(2 * std::sqrt(static_cast<double>(n)));
  }

  constant_matrix given(bench::buffer<T>& m) { return constant_matrix(m.data(), n); }
  matrix result(bench::buffer<T>& m) { return matrix(m.data(), n); }

  void copy(bench::buffer<T>& from, bench::buffer<T>& to) { std::copy(from.begin(), from.end(), to.begin()); }
  T dot(bench::buffer<T>& p, bench::buffer<T>& q) {
    T sum[8] = {}; // so that it is not bound by the latency of one addition
    std::ptrdiff_t const count = p.size();
    for (std::ptrdiff_t k = 0; k < count; ++k) sum[k % 8] += p.data()[k] * q.data()[k];
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
  }
  void clear_above(bench::buffer<T>& m) {
    for (std::ptrdiff_t i = 0; i < n; ++i) std::fill(m.data() + i * n + i + 1, m.data() + (i + 1) * n, T(0));
  }
  /// The results to compare. The condition of these matrices makes rounding errors of n terms up to n times as large.
  bench::result of(char const* name, bench::buffer<T>& m) { return bench::written(name, m.data(), m.size(), all * n); }

  void decompose() {
    copy(definite, y);
    lapack<T>::potrf(size(), y.data());
    clear_above(y);
  }
  void decompose_gradient() {
    decompose();
    *value.data() = dot(y, weight);
    copy(weight, work), clear_above(work);
    lapack<T>::trmm("R", "T", size(), y.data(), work.data()); // (L' dL)'
    for (std::ptrdiff_t i = 0; i < n; ++i)
      for (std::ptrdiff_t k = 0; k <= i; ++k) da.data()[i * n + k] = da.data()[k * n + i] = T(0.5) * work.data()[i * n + k];
    lapack<T>::trsm("L", "N", size(), 1, y.data(), da.data());
    lapack<T>::trsm("R", "T", size(), 1, y.data(), da.data());
  }
  void solve_forward() {
    copy(right, y);
    lapack<T>::trsm("R", "N", size(), 1, lower.data(), y.data());
  }
  void solve_forward_gradient() {
    solve_forward();
    *value.data() = dot(y, weight);
    copy(weight, db);
    lapack<T>::trsm("R", "T", size(), 1, lower.data(), db.data());
    lapack<T>::gemm("T", "N", size(), -1, y.data(), db.data(), da.data());
    clear_above(da);
  }
  void solve() {
    copy(general, work), copy(b, x);
    lapack<T>::getrf(size(), work.data(), order.data());
    lapack<T>::getrs("T", size(), 1, work.data(), order.data(), x.data());
  }
  void solve_gradient() {
    solve();
    *value.data() = dot(x, w);
    copy(w, dx);
    lapack<T>::getrs("N", size(), 1, work.data(), order.data(), dx.data());
    for (std::ptrdiff_t i = 0; i < n; ++i)
      for (std::ptrdiff_t k = 0; k < n; ++k) da.data()[i * n + k] = -dx.data()[i] * x.data()[k];
  }
  void invert() {
    copy(general, y);
    lapack<T>::getrf(size(), y.data(), order.data());
    lapack<T>::getri(size(), y.data(), order.data(), sides.data(), static_cast<int>(sides.size()));
  }
  void invert_gradient() {
    invert();
    *value.data() = dot(y, weight);
    lapack<T>::gemm("N", "T", size(), 1, weight.data(), y.data(), work.data()); // (Y' W)'
    lapack<T>::gemm("T", "N", size(), -1, y.data(), work.data(), da.data());
  }
  void determine() {
    copy(general, work);
    lapack<T>::getrf(size(), work.data(), order.data());
    T sum = 0;
    for (std::ptrdiff_t i = 0; i < n; ++i) sum += std::log(std::fabs(work.data()[i * n + i]));
    *value.data() = sum;
  }
  void determine_gradient() {
    determine();
    lapack<T>::getri(size(), work.data(), order.data(), sides.data(), static_cast<int>(sides.size()));
    for (std::ptrdiff_t i0 = 0; i0 < n; i0 += 16)
      for (std::ptrdiff_t k0 = 0; k0 < n; k0 += 16)
        for (std::ptrdiff_t i = i0; i < n && i < i0 + 16; ++i)
          for (std::ptrdiff_t k = k0; k < n && k < k0 + 16; ++k) da.data()[k * n + i] = work.data()[i * n + k];
  }

  int size() const { return static_cast<int>(n); }
};

template <class T> void measure_size(bench::suite& suite, std::ptrdiff_t n) {
  auto const shared = std::make_shared<contest<T>>(n);
  contest<T>& c = *shared;
  auto const compare = [&](char const* what, std::vector<bench::result> results, void (contest<T>::*by_hand)(), bench::contestant ours) {
    bench::comparison all{std::string("linear algebra, ") + what, bench::element_name<T>, std::to_string(n), n, {}, {}, {}, {}};
    all.results = std::move(results);
    all.hand = {bench::named("LAPACK", [shared, by_hand] { ((*shared).*by_hand)(); })};
    all.ours = {std::move(ours)};
    suite.run(all);
  };
  using self = contest<T>;
  auto const a = c.given(c.definite), g = c.given(c.general), l = c.given(c.lower), w = c.given(c.weight), r = c.given(c.right);
  ct::view<T const, "n"> const b(c.b.data(), n), v(c.w.data(), n);
  auto const y = c.result(c.y), da = c.result(c.da), db = c.result(c.db);
  ct::view<T, "n"> const x(c.x.data(), n), dx(c.dx.data(), n);
  T& value = *c.value.data();
  using bench::into;

  compare("cholesky", {c.of("L", c.y)}, &self::decompose, bench::ours(decomposed, into(y), a, w));
  compare("cholesky, gradient", {c.of("value", c.value), c.of("dA", c.da)}, &self::decompose_gradient,
          bench::ours(ct::value_and_grad<0>(decomposed_sum), into(value, da), a, w));
  compare("solve", {c.of("x", c.x)}, &self::solve, bench::ours(solved, into(x), g, b, v));
  compare("solve, gradient", {c.of("value", c.value), c.of("dA", c.da), c.of("db", c.dx)}, &self::solve_gradient,
          bench::ours(ct::value_and_grad<0, 1>(solved_sum), into(value, da, dx), g, b, v));
  if constexpr (sizeof(T) == 8) {
    compare("triangular solve", {c.of("X", c.y)}, &self::solve_forward, bench::ours(forward_solved, into(y), l, r, w));
    compare("triangular solve, gradient", {c.of("value", c.value), c.of("dL", c.da), c.of("dB", c.db)}, &self::solve_forward_gradient,
            bench::ours(ct::value_and_grad<0, 1>(forward_solved_sum), into(value, da, db), l, r, w));
    compare("inverse", {c.of("Y", c.y)}, &self::invert, bench::ours(inverted, into(y), g, w));
    compare("inverse, gradient", {c.of("value", c.value), c.of("dA", c.da)}, &self::invert_gradient,
            bench::ours(ct::value_and_grad<0>(inverted_sum), into(value, da), g, w));
    compare("log determinant", {c.of("value", c.value)}, &self::determine, bench::ours(log_determinant, into(value), g));
    compare("log determinant, gradient", {c.of("value", c.value), c.of("dA", c.da)}, &self::determine_gradient,
            bench::ours(ct::value_and_grad<0>(log_determinant), into(value, da), g));
  }
}

bench::entry const large("linear algebra", [](bench::suite& suite) {
  openblas_set_num_threads(1);
  for (std::ptrdiff_t const n : {50, 200, 1000}) {
    if (suite.quick() && n > 200) continue;
    measure_size<double>(suite, n);
    measure_size<float>(suite, n);
  }
});

} // namespace

#endif
