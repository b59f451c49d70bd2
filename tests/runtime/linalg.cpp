// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>
#include <cotangent/dynamic.hpp>
#include <cotangent/linalg.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

// Linear algebra in graphs at run time, and of sizes that constant evaluations do not reach.

namespace {

namespace ct = cotangent;
using numbers = std::vector<double>;

numbers waves_of(std::size_t n, double phase) {
  numbers v(n);
  for (std::size_t k = 0; k < n; ++k) v[k] = std::sin(1.3 * static_cast<double>(k) + phase);
  return v;
}

/// The largest error of ct::matmul of stacks [left, i, j] and [right, j, k] against plain loops; one matrix of a side serves all.
double error_of_stacks(std::size_t left, std::size_t right, std::size_t i, std::size_t j, std::size_t k) {
  std::size_t const stack = left > right ? left : right;
  numbers const a = waves_of(left * i * j, 0), b = waves_of(right * j * k, 1);
  ct::dynamic::graph g;
  auto const size = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  auto const A = g.input<double>("a", {size(left), size(i), size(j)}), B = g.input<double>("b", {size(right), size(j), size(k)});
  auto const y = ct::matmul(A, B), z = ct::einsum(left == right ? "bij,bjk->bki" : left == 1 ? "aij,bjk->bki" : "bij,ajk->bki", A, B) - ct::permute<0, 2, 1>(y);
  auto p = g.compile({y, z});
  p.bind(A, a);
  p.bind(B, b);
  p.run();
  auto const* const made = p.value(y).data();
  double worst = 0;
  for (double const difference : p.value(z)) worst = std::fmax(worst, std::fabs(difference));
  for (std::size_t s = 0; s < stack; ++s)
    for (std::size_t r = 0; r < i; ++r)
      for (std::size_t c = 0; c < k; ++c) {
        double sum = 0;
        for (std::size_t m = 0; m < j; ++m)
          sum += a[((left == 1 ? 0 : s) * i + r) * j + m] * b[((right == 1 ? 0 : s) * j + m) * k + c];
        worst = std::fmax(worst, std::fabs(sum - made[(s * i + r) * k + c]));
      }
  return worst;
}

TEST_CASE("Products of stacks of every size agree with plain loops") {
  CHECK(error_of_stacks(3, 3, 2, 4, 3) < 1e-13);
  CHECK(error_of_stacks(3, 1, 2, 4, 3) < 1e-13);
  CHECK(error_of_stacks(1, 3, 2, 4, 3) < 1e-13);
  CHECK(error_of_stacks(3, 3, 20, 30, 40) < 1e-12); // products of their own
}

/// Numbers without a pattern, so that matrices of them are regular.
numbers scattered(std::size_t n) {
  numbers v(n);
  for (std::size_t k = 0; k < n; ++k) v[k] = std::sin(1.3 * static_cast<double>(k * k) + static_cast<double>(k) + 1);
  return v;
}

/// The largest error of the solutions of a stack of systems of `n` equations, and of the decompositions.
double error_of_systems(std::size_t stack, std::size_t n, std::size_t columns) {
  numbers const a = scattered(stack * n * n), b = waves_of(stack * n * columns, 1);
  auto const size = [](std::size_t k) { return static_cast<std::int64_t>(k); };
  ct::dynamic::graph g;
  auto const A = g.input<double>("a", {size(stack), size(n), size(n)}), B = g.input<double>("b", {size(stack), size(n), size(columns)});
  auto const apart = ct::matmul(A, ct::solve(A, B)) - B;
  auto const squares = ct::matmul(A, ct::permute<0, 2, 1>(A)) + ct::einsum("bij,bik->bjk", A, A);
  auto const L = ct::cholesky(squares);
  auto const rest = ct::matmul(L, ct::permute<0, 2, 1>(L)) - squares;
  auto const [P, l, u] = ct::lu(A);
  auto const factored = ct::matmul(P, ct::matmul(l, u)) - A;
  auto p = g.compile({apart, rest, factored});
  p.bind(A, a);
  p.bind(B, b);
  p.run();
  double worst = 0;
  for (double const x : p.value(apart)) worst = x == x ? std::fmax(worst, std::fabs(x)) : 1e300;
  for (double const x : p.value(rest)) worst = x == x ? std::fmax(worst, std::fabs(x)) : 1e300;
  for (double const x : p.value(factored)) worst = x == x ? std::fmax(worst, std::fabs(x)) : 1e300;
  return worst;
}

TEST_CASE("Linear systems of every size, and stacks of them, are solved") {
  for (std::size_t const n : {1u, 2u, 5u, 50u}) {
    CAPTURE(n);
    CHECK(error_of_systems(1, n, 1) < 1e-9);
    CHECK(error_of_systems(3, n, 4) < 1e-9);
  }
  CHECK(error_of_systems(0, 3, 2) == 0);
  CHECK(error_of_systems(2, 3, 0) < 1e-9);
}

/// The largest error of qr, svd and lstsq of a stack of matrices, and of eigh and expm of their squares.
double error_of_decompositions(std::size_t stack, std::size_t rows, std::size_t columns) {
  numbers const a = scattered(stack * rows * columns);
  auto const size = [](std::size_t k) { return static_cast<std::int64_t>(k); };
  ct::dynamic::graph g;
  auto const A = g.input<double>("a", {size(stack), size(rows), size(columns)});
  auto const T = ct::permute<0, 2, 1>(A), tall = rows < columns ? T : A, squares = ct::einsum("bij,bkj->bik", A, A);
  auto const gram = [](auto const& q) { return ct::einsum("bij,bik->bjk", q, q); };
  auto const unit = [](auto const& like) { return ct::exp(0 * like) * 0 + ct::tril(ct::triu(ct::exp(0 * like))); };
  std::vector<decltype(g.input<double>("", {0}))> zero;
  auto const [q, r] = ct::qr(tall);
  zero.push_back(ct::matmul(q, r) - tall);
  zero.push_back(gram(q) - unit(gram(q)));
  zero.push_back(ct::tril<-1>(r));
  auto const [u, s, vt] = ct::svd(A);
  zero.push_back(ct::einsum("bij,bj,bjk->bik", u, s, vt) - A);
  zero.push_back(gram(u) - unit(gram(u)));
  zero.push_back(gram(ct::permute<0, 2, 1>(vt)) - unit(gram(ct::permute<0, 2, 1>(vt))));
  auto const [w, v] = ct::eigh(squares);
  zero.push_back(ct::einsum("bij,bj,bkj->bik", v, w, v) - squares);
  zero.push_back(gram(v) - unit(gram(v)));
  zero.push_back(w - ct::eigvalsh(squares));
  zero.push_back(ct::matmul(ct::expm(0.5 * squares), ct::expm(-0.5 * squares)) - unit(squares));
  auto const x = ct::lstsq(A, A);
  zero.push_back(ct::matmul(A, x) - A);
  auto results = zero;
  results.push_back(s);
  results.push_back(w);
  auto p = g.compile(results);
  p.bind(A, a);
  p.run();
  double worst = 0;
  for (auto const& z : zero)
    for (double const e : p.value(z)) worst = e == e ? std::fmax(worst, std::fabs(e)) : 1e300;
  for (std::size_t k = 0; k < stack; ++k) { // eigenvalues rise, singular values fall
    std::size_t const least = rows < columns ? rows : columns;
    for (std::size_t j = 0; j + 1 < least; ++j)
      if (!(p.value(s).data()[k * least + j] >= p.value(s).data()[k * least + j + 1])) worst = 1e300;
    for (std::size_t j = 0; j + 1 < rows; ++j)
      if (!(p.value(w).data()[k * rows + j] <= p.value(w).data()[k * rows + j + 1])) worst = 1e300;
  }
  return worst;
}

TEST_CASE("einsum of a run-time graph takes up to eight operands") {
  ct::dynamic::graph g;
  auto const a = g.input<double>("a", {2, 3}), b = g.input<double>("b", {3, 2});
  auto const four = ct::einsum("ij,jk,kl,lm->im", a, b, a, b), five = ct::einsum("ij,jk,kl,lm,mn->in", a, b, a, b, a);
  auto const square = ct::matmul(a, b), apart = four - ct::matmul(square, square), more = five - ct::matmul(ct::matmul(square, square), a);
  auto p = g.compile({apart, more});
  numbers const of_a = scattered(6), of_b = waves_of(6, 1);
  p.bind(a, of_a), p.bind(b, of_b), p.run();
  for (double const d : p.value(apart)) CHECK(std::fabs(d) < 1e-12);
  for (double const d : p.value(more)) CHECK(std::fabs(d) < 1e-12);
  CHECK_THROWS_AS(ct::einsum("ij,jk,kl,lm,mn,no,op,pq,qr->ir", a, b, a, b, a, b, a, b, a), ct::shape_error);
}

TEST_CASE("Decompositions of every size, and of stacks") {
  for (auto const& [rows, columns] : {std::pair<std::size_t, std::size_t>{1, 1}, {2, 2}, {3, 3}, {5, 3}, {3, 5}, {1, 4}, {4, 1}, {20, 20}}) {
    CAPTURE(rows, columns);
    CHECK(error_of_decompositions(1, rows, columns) < 1e-9);
    CHECK(error_of_decompositions(3, rows, columns) < 1e-9);
  }
  CHECK(error_of_decompositions(0, 3, 2) == 0);
}

TEST_CASE("Decompositions of zeros, multiples of the unit matrix, and matrices of small rank") {
  ct::tensor<double, 3, 3> const none{}, twice{{2, 0, 0}, {0, 2, 0}, {0, 0, 2}}, flat{{1, 2, 3}, {2, 4, 6}, {-1, -2, -3}};
  auto const gram = ct::compiled([](auto m) {
    auto const [u, s, vt] = ct::svd(m);
    return ct::sum(ct::abs(ct::matmul(ct::transpose(u), u) - ct::eye<double, 3>())) + ct::sum(ct::abs(ct::matmul(u * s, vt) - m)) +
           ct::sum(ct::abs(ct::matmul(vt, ct::transpose(vt)) - ct::eye<double, 3>()));
  });
  for (auto const& m : {none, twice, flat}) CHECK(gram(m) < 1e-13);
  auto const product = ct::compiled([](auto m) {
    auto const [q, r] = ct::qr(m);
    return ct::sum(ct::abs(ct::matmul(ct::transpose(q), q) - ct::eye<double, 3>())) + ct::sum(ct::abs(ct::matmul(q, r) - m));
  });
  for (auto const& m : {none, twice, flat}) CHECK(product(m) < 1e-13);
  auto const values = ct::compiled([](auto m) { return ct::eigvalsh(m); });
  for (double const w : values(none)) CHECK(w == 0);
  for (double const w : values(twice)) CHECK(w == 2);
  CHECK(ct::compiled([](auto m) { return ct::expm(m); })(none) == ct::compiled([] { return ct::eye<double, 3>(); })());
  // The sum of all eigenvalues is the trace, whose gradient exists where they are equal, too.
  auto const d = ct::grad([](auto m) { return ct::sum(ct::eigvalsh(m)); })(twice);
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k) CHECK(d(i, k) == (i == k ? 1 : 0));
}

TEST_CASE("Large and small numbers in decompositions") {
  for (double const scale : {1e-200, 1e200}) {
    CAPTURE(scale);
    ct::tensor<double, 2, 2> const m{{3 * scale, 1 * scale}, {1 * scale, 3 * scale}};
    auto const s = ct::compiled([](auto a) { return std::get<1>(ct::svd(a)); })(m);
    CHECK(s(0) / scale == Approx(4));
    CHECK(s(1) / scale == Approx(2));
    auto const r = ct::compiled([](auto a) { return std::get<1>(ct::qr(a)); })(m);
    CHECK(r(0, 0) / scale == Approx(-std::sqrt(10.)));
    auto const w = ct::compiled([](auto a) { return ct::eigvalsh(a); })(m);
    CHECK(w(0) / scale == Approx(2));
    CHECK(w(1) / scale == Approx(4));
  }
  ct::tensor<double, 2, 2> const turn{{0, -50}, {50, 0}};
  auto const e = ct::compiled([](auto a) { return ct::expm(a); })(turn);
  CHECK(e(0, 0) == Approx(std::cos(50.)));
  CHECK(e(1, 0) == Approx(std::sin(50.)));
}

namespace {

constexpr auto scaled_expm = [](auto a, auto s) { return s * ct::sum(ct::expm(a)); };
/// Derivatives are linear at every scale.
template <class T> void check_scales(double largest) {
  constexpr auto nuclear = [](auto a) { return ct::sum(std::get<1>(ct::svd(a))); };
  constexpr auto vectors = [](auto a) {
    auto const [u, s, v] = ct::svd(a);
    return ct::sum(u(ct::all, 0) * v(0));
  };
  double const near = sizeof(T) == 4 ? 2e-5 : 1e-12;
  ct::tensor<T, 2, 2> const a{{T(.1), T(.7)}, {T(-.4), T(.3)}}, m{{T(3), T(1)}, {T(.5), T(2)}};
  auto const one = ct::grad(scaled_expm)(a, T{1}), size = ct::grad(nuclear)(m), turn = ct::grad(vectors)(m);
  auto const tangents = ct::jvp([](auto x) { return ct::expm(x); });
  auto const along = tangents(a, m).second;
  auto const again = ct::compiled(ct::grad([](auto x, auto s) { return ct::sum(ct::square(ct::grad(scaled_expm)(x, s))) / (s * s); }));
  auto const second = again(a, T{1});
  for (double const by : {largest, 1e4, 1e-4, 1 / largest}) {
    CAPTURE(by);
    T const s = static_cast<T>(by);
    auto const times = [s](ct::tensor<T, 2, 2> x) {
      for (int k = 0; k < 4; ++k) x.data()[k] *= s;
      return x;
    };
    auto const g = ct::grad(scaled_expm)(a, s), n = ct::grad(nuclear)(times(m)), t = ct::grad(vectors)(times(m));
    auto const d = tangents(a, times(m)).second;
    for (int k = 0; k < 4; ++k) {
      CAPTURE(k);
      CHECK(g.data()[k] / s == Approx(one.data()[k]).epsilon(near));
      CHECK(d.data()[k] / s == Approx(along.data()[k]).epsilon(near));
      CHECK(n.data()[k] == Approx(size.data()[k]).epsilon(near));
      CHECK(t.data()[k] * s == Approx(turn.data()[k]).epsilon(10 * near));
      if (by < 1e6 && by > 1e-6) CHECK(again(a, s).data()[k] == Approx(second.data()[k]).epsilon(10 * near));
    }
  }
}
/// One column is tiny beside the others.
template <class T> void check_small_columns(T small) {
  auto const parts = ct::compiled([](auto a) { return ct::svd(a); });
  auto const [u, s, v] = parts(ct::tensor<T, 2, 2>{{T{1}, T{0}}, {T{0}, small}});
  CHECK(s(1) == small);
  CHECK(u(1, 1) * v(1, 1) == T{1});
  auto const [p, t, q] = parts(ct::tensor<T, 3, 3>{{T{1}, T{0}, T{0}}, {T{0}, 3 * small, small}, {T{0}, small, 3 * small}});
  CHECK(t(1) / small == Approx(4));
  CHECK(t(2) / small == Approx(2));
  CHECK(p(1, 1) * p(1, 2) + p(2, 1) * p(2, 2) == Approx(0).margin(1e-6));
}

} // namespace

TEST_CASE("Derivatives of decompositions do not depend on the scale of cotangents, tangents and matrices") {
  check_scales<float>(1e20);
  check_scales<double>(1e200);
}
TEST_CASE("Singular vectors of tiny singular values are unit vectors") {
  check_small_columns<float>(1e-24f);
  check_small_columns<double>(1e-170);
}

TEST_CASE("Decompositions of NaN and infinity end, with NaN") {
  if (ct::math::is_fast) return;
  for (double const x : {std::nan(""), HUGE_VAL}) {
    ct::tensor<double, 3, 3> const m{{1, x, 0}, {x, 2, 1}, {0, 1, 3}};
    CHECK(std::isnan(ct::compiled([](auto a) { return ct::sum(ct::eigvalsh(a)); })(m)));
    CHECK(std::isnan(ct::compiled([](auto a) { return ct::sum(ct::eigvalsh(a)); })(ct::tensor<double, 2, 2>{{x, x}, {x, x}})));
    CHECK(std::isnan(ct::compiled([](auto a) { return ct::sum(std::get<1>(ct::svd(a))); })(m)));
    CHECK(std::isnan(ct::compiled([](auto a) { return ct::sum(std::get<0>(ct::qr(a))); })(m)));
    CHECK(std::isnan(ct::compiled([](auto a) { return ct::sum(ct::expm(a)); })(m)));
  }
}

/// A generalized permutation matrix: `n` powers of two, one in each row, so that pivots and their product are exact.
template <int N> ct::tensor<double, N, N> powers_of_two(int shift) {
  ct::tensor<double, N, N> a{};
  for (int i = 0; i < N; ++i) a(i, (i + shift) % N) = std::ldexp(i % 2 == 0 ? 1.0 : -1.0, i % 7 - 3);
  return a;
}
template <int N> void check_powers_of_two() {
  CAPTURE(N);
  constexpr auto size = [](auto m) { return ct::determinant(m); };
  constexpr auto logarithm = [](auto m) { return std::get<1>(ct::slogdet(m)); };
  constexpr auto sign = [](auto m) { return std::get<0>(ct::slogdet(m)); };
  for (int const shift : {0, 1}) { // a shift is a cycle of N rows: its sign is that of N - 1
    CAPTURE(shift);
    double expected = shift == 1 && N % 2 == 0 ? -1 : 1;
    auto const a = powers_of_two<N>(shift);
    for (int i = 0; i < N; ++i) expected *= a(i, (i + shift) % N);
    CHECK(ct::compiled(size)(a) == expected);
    CHECK(ct::compiled(sign)(a) == (expected < 0 ? -1 : 1));
    CHECK(ct::compiled(logarithm)(a) == Approx(std::log(std::fabs(expected))).margin(1e-12));
    auto const d = ct::grad(size)(a), of_logarithm = ct::grad(logarithm)(a);
    for (int i = 0; i < N; ++i)
      for (int k = 0; k < N; ++k) {
        double const inverse = k == (i + shift) % N ? 1 / a(i, k) : 0;
        CHECK(d(i, k) == expected * inverse);
        CHECK(of_logarithm(i, k) == inverse);
      }
    // <V, d2 V> of the logarithm is -trace (A^-1 V)^2; of the determinant, det (trace (A^-1 V)^2 - trace ((A^-1 V)^2)).
    ct::tensor<double, N, N> v{};
    for (int i = 0; i < N; ++i)
      for (int k = 0; k < N; ++k) v(i, k) = (i + 2 * k) % 5 - 2;
    auto const w = [&](int i, int k) { // A^-1 V: row i of it is the row of V at i - shift, over that power
      int const from = (i - shift + N) % N;
      return v(from, k) / a(from, i);
    };
    double trace = 0, square = 0, second = 0, of_second = 0;
    for (int i = 0; i < N; ++i) {
      trace += w(i, i);
      for (int k = 0; k < N; ++k) square += w(i, k) * w(k, i);
    }
    auto const h = ct::hvp(size)(a, v), of_h = ct::hvp(logarithm)(a, v);
    for (int i = 0; i < N; ++i)
      for (int k = 0; k < N; ++k) second += v(i, k) * h(i, k), of_second += v(i, k) * of_h(i, k);
    CHECK(second == Approx(expected * (trace * trace - square)).margin(1e-9 * std::fabs(expected)));
    CHECK(of_second == Approx(-square).margin(1e-9));
    CHECK(ct::jvp(size)(a, v).second == Approx(expected * trace).margin(1e-9 * std::fabs(expected)));
    CHECK(ct::jvp(logarithm)(a, v).second == Approx(trace).margin(1e-9));
  }
}

TEST_CASE("Determinants of products of powers of two are exact, and their derivatives are those of the closed form") {
  check_powers_of_two<5>();
  check_powers_of_two<8>();
  check_powers_of_two<19>();
}

TEST_CASE("Determinants of no rows, of no matrices, and of singular ones") {
  constexpr auto size = [](auto m) { return ct::determinant(m); };
  constexpr auto logarithm = [](auto m) { return std::get<1>(ct::slogdet(m)); };
  ct::tensor<double, 2, 0, 0> const empty{};
  for (double const y : ct::compiled(size)(empty)) CHECK(y == 1);
  for (double const y : ct::compiled(logarithm)(empty)) CHECK(y == 0);
  CHECK(ct::compiled([](auto m) { return ct::sum(ct::determinant(m)) + ct::sum(ct::inverse(m)); })(ct::tensor<double, 0, 6, 6>{}) == 0);
  ct::tensor<float, 2, 6, 6> stack{};
  for (int i = 0; i < 6; ++i) stack(1, i, i) = 2;
  auto const y = ct::compiled(size)(stack);
  CHECK(y(0) == 0);
  CHECK(y(1) == 64);
  if (!ct::math::is_fast) CHECK(ct::compiled(logarithm)(stack)(0) == -HUGE_VALF);
}

TEST_CASE("An inverse has the derivatives of the solution of A X = 1") {
  constexpr auto direct = [](auto m) { return ct::sum(ct::square(ct::inverse(m))); };
  constexpr auto solved = [](auto m) { return ct::sum(ct::square(ct::solve(m, ct::eye<double, 6>() + 0 * m))); };
  ct::tensor<double, 2, 6, 6> a{}, v{};
  for (int k = 0; k < a.size(); ++k) a.data()[k] = std::sin(1.0 + k * k) + (k % 7 == 0 ? 3 : 0), v.data()[k] = std::cos(1.7 * k);
  auto const close = [](auto const& x, auto const& y) {
    double scale = 0, difference = 0;
    for (int k = 0; k < x.size(); ++k)
      scale = std::fmax(scale, std::fabs(x.data()[k])), difference = std::fmax(difference, std::fabs(x.data()[k] - y.data()[k]));
    return scale > 0 && difference < 1e-11 * scale;
  };
  CHECK(close(ct::grad(direct)(a), ct::grad(solved)(a)));
  CHECK(close(ct::hvp(direct)(a, v), ct::hvp(solved)(a, v)));
  CHECK(ct::jvp(direct)(a, v).second == Approx(ct::jvp(solved)(a, v).second));
}

TEST_CASE("A determinant of 0 has a gradient") {
  ct::tensor<double, 2, 2> const singular{{1, 2}, {2, 4}};
  CHECK(ct::compiled([](auto m) { return ct::determinant(m); })(singular) == 0);
  CHECK(ct::grad([](auto m) { return ct::determinant(m); })(singular)(0, 0) == 4);
}

} // namespace
