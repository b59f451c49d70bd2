// SPDX-License-Identifier: BSL-1.0
// Stacks of small matrices, values and gradients of weighted sums, against fixed-size matrices of Eigen with the adjoints of Giles
// and Murray by hand. Where Eigen is not installed a sentence says so.
#include "harness.hpp"

#include <cstdio>

#if !__has_include(<eigen3/Eigen/Dense>)

namespace {
bench::entry const absent("stacks", [](bench::suite& suite) {
  if (suite.wanted("stacks")) std::puts("stacks: left out: there is no Eigen");
});
} // namespace

#else

#  include "inputs.hpp"
#  include "ours.hpp"

#  include <cotangent/linalg.hpp>

// (g++ 12 warns of its own intrinsics for AVX-512, which Eigen calls.)
#  if defined(__GNUC__) && !defined(__clang__)
#    pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#    pragma GCC diagnostic ignored "-Wuninitialized"
#  endif
#  include <eigen3/Eigen/Dense>

#  include <cstddef>
#  include <string>

namespace {

constexpr int count = 1000;

inline constexpr auto product = [](auto a, auto b, auto) { return ct::matmul(a, b); };
inline constexpr auto product_sum = [](auto a, auto b, auto w) { return ct::sum(ct::matmul(a, b) * w); };
inline constexpr auto inverse = [](auto a, auto) { return ct::inverse(a); };
inline constexpr auto inverse_sum = [](auto a, auto w) { return ct::sum(ct::inverse(a) * w); };
inline constexpr auto determinant = [](auto a, auto) { return ct::determinant(a); };
inline constexpr auto determinant_sum = [](auto a, auto w) { return ct::sum(ct::determinant(a) * w); };
inline constexpr auto solution = [](auto a, auto b, auto) { return ct::solve(a, b); };
inline constexpr auto solution_sum = [](auto a, auto b, auto w) { return ct::sum(ct::solve(a, b) * w); };
inline constexpr auto factor = [](auto a, auto) { return ct::cholesky(a); };
inline constexpr auto factor_sum = [](auto a, auto w) { return ct::sum(ct::cholesky(a) * w); };

template <class T, int N> struct contest {
  using matrix = Eigen::Matrix<T, N, N, Eigen::RowMajor>;
  using vector = Eigen::Matrix<T, N, 1>;
  static constexpr std::ptrdiff_t all = count * N * N;
  bench::buffer<T> a{all}, b{all}, definite{all}, weights{all}, y{all}, da{all}, db{all}, value{1};

  contest() {
    bench::numbers random;
    random.fill(a, T(-1), T(1)), random.fill(b, T(-1), T(1)), random.fill(weights, T(-1), T(1));
    for (int k = 0; k < count; ++k) {
      at(a, k) += T(N) * matrix::Identity();
      at(definite, k) = at(b, k) * at(b, k).transpose() + matrix::Identity();
    }
  }
  static Eigen::Map<matrix> at(bench::buffer<T>& m, int k) { return Eigen::Map<matrix>(m.data() + k * N * N); }
  static Eigen::Map<vector> column(bench::buffer<T>& m, int k) { return Eigen::Map<vector>(m.data() + k * N); }

  static auto given(bench::buffer<T>& m) { return ct::view<T const, count, N, N>(m.data()); }
  static auto vectors(bench::buffer<T>& m) { return ct::view<T const, count, N, 1>(m.data()); }
  static auto numbers(bench::buffer<T>& m) { return ct::view<T const, count>(m.data()); }
  static auto result(bench::buffer<T>& m) { return ct::view<T, count, N, N>(m.data()); }

  /// One comparison of values, and one of gradients. `value_of(k)` and `gradient_of(k)` compute those of matrix k by hand; the
  /// latter returns the term of the sum.
  template <class Value, class Gradient>
  void compare(bench::suite& suite, std::string const& name, std::ptrdiff_t size, bool second, Value value_of, Gradient gradient_of,
               bench::contestant ours, bench::contestant ours_with_gradient) {
    std::string const sizes = std::to_string(N) + "x" + std::to_string(N);
    bench::comparison c{"stacks, " + name, bench::element_name<T>, sizes, all, {}, {}, {}, {}};
    c.results = {bench::written("y", y.data(), size)};
    c.hand = {bench::named("Eigen", [=] {
      for (int k = 0; k < count; ++k) value_of(k);
    })};
    c.ours = {ours};
    suite.run(c);
    bench::comparison g{"stacks, gradient of " + name, bench::element_name<T>, sizes, all, {}, {}, {}, {}};
    g.results = {bench::written("value", value.data(), 1, all), bench::written("da", da.data(), all)};
    if (second) g.results.push_back(bench::written("db", db.data(), name == "solve" ? count * N : all));
    g.hand = {bench::named("Eigen", [=, this] {
      T sum{};
      for (int k = 0; k < count; ++k) sum += gradient_of(k);
      value.data()[0] = sum;
    })};
    g.ours = {ours_with_gradient};
    suite.run(g);
  }

  void run(bench::suite& suite) {
    compare(
        suite, "product", all, true, [this](int k) { at(y, k).noalias() = at(a, k) * at(b, k); },
        [this](int k) {
          matrix const p = at(a, k), q = at(b, k), w = at(weights, k);
          at(da, k).noalias() = w * q.transpose();
          at(db, k).noalias() = p.transpose() * w;
          return (p * q).cwiseProduct(w).sum();
        },
        bench::ours(ct::compiled(product), bench::into(result(y)), given(a), given(b), given(weights)),
        bench::ours(ct::value_and_grad<0, 1>(product_sum), bench::into(*value.data(), result(da), result(db)), given(a), given(b), given(weights)));
    compare(
        suite, "inverse", all, false, [this](int k) { at(y, k) = at(a, k).inverse(); },
        [this](int k) {
          matrix const x = at(a, k).inverse(), w = at(weights, k);
          at(da, k).noalias() = -(x.transpose() * w * x.transpose());
          return x.cwiseProduct(w).sum();
        },
        bench::ours(ct::compiled(inverse), bench::into(result(y)), given(a), given(weights)),
        bench::ours(ct::value_and_grad<0>(inverse_sum), bench::into(*value.data(), result(da)), given(a), given(weights)));
    compare(
        suite, "determinant", count, false, [this](int k) { y.data()[k] = at(a, k).determinant(); },
        [this](int k) {
          matrix const p = at(a, k);
          T const d = p.determinant(), w = weights.data()[k];
          at(da, k) = (w * d) * p.inverse().transpose();
          return w * d;
        },
        bench::ours(ct::compiled(determinant), bench::into(ct::view<T, count>(y.data())), given(a), numbers(weights)),
        bench::ours(ct::value_and_grad<0>(determinant_sum), bench::into(*value.data(), result(da)), given(a), numbers(weights)));
    compare(
        suite, "solve", count * N, true,
        [this](int k) { column(y, k) = at(a, k).partialPivLu().solve(column(b, k)); },
        [this](int k) {
          auto const lu = at(a, k).partialPivLu();
          vector const x = lu.solve(column(b, k)), w = column(weights, k), dx = lu.transpose().solve(w);
          column(db, k) = dx;
          at(da, k).noalias() = -dx * x.transpose();
          return x.dot(w);
        },
        bench::ours(ct::compiled(solution), bench::into(ct::view<T, count, N, 1>(y.data())), given(a), vectors(b), vectors(weights)),
        bench::ours(ct::value_and_grad<0, 1>(solution_sum), bench::into(*value.data(), result(da), ct::view<T, count, N, 1>(db.data())),
                    given(a), vectors(b), vectors(weights)));
    compare(
        suite, "Cholesky", all, false, [this](int k) { at(y, k) = at(definite, k).llt().matrixL(); },
        [this](int k) {
          matrix const l = at(definite, k).llt().matrixL(), w = at(weights, k);
          matrix phi = l.transpose() * w;
          T sum{};
          for (int i = 0; i < N; ++i)
            for (int j = 0; j <= i; ++j) {
              sum += l(i, j) * w(i, j);
              if (i == j) phi(i, i) *= T(0.5);
              else phi(j, i) = phi(i, j);
            }
          for (int i = 0; i < N; ++i) phi(i, i) *= T(2);
          auto const lower = l.template triangularView<Eigen::Lower>();
          matrix const left = lower.transpose().solve(phi);
          matrix const both = lower.transpose().solve(matrix(left.transpose()));
          at(da, k) = T(0.5) * both;
          return sum;
        },
        bench::ours(ct::compiled(factor), bench::into(result(y)), given(definite), given(weights)),
        bench::ours(ct::value_and_grad<0>(factor_sum), bench::into(*value.data(), result(da)), given(definite), given(weights)));
  }
};

bench::entry const stacks("stacks", [](bench::suite& suite) {
  contest<double, 3>().run(suite), contest<double, 4>().run(suite), contest<double, 6>().run(suite);
  contest<float, 3>().run(suite), contest<float, 4>().run(suite);
});

} // namespace

#endif
