// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>

#include <cotangent/linalg.hpp>
#include <cotangent/numeric.hpp>
#include <cotangent/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>

// Values and derivatives at infinite arguments, at 0, at equal eigenvalues, and outside of a domain.

namespace ct = cotangent;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr auto running = [](auto x) { return ct::logcumsumexp(x); };
inline constexpr auto last_running = [](auto x) { return ct::logcumsumexp(x)(-1); };

template <class T> void running_after_nothing(T small) {
  using vector = ct::tensor<T, 5>;
  T const none = -std::numeric_limits<T>::infinity();
  vector const y = ct::compiled(running)(vector{none, none, small, small + 1, small});
  CHECK(y(0) == none);
  CHECK(y(1) == none);
  CHECK(y(2) == small);
  CHECK(y(3) == Approx(static_cast<double>(small) + 1 + std::log1p(std::exp(-1.0))));
  CHECK(y(4) == Approx(static_cast<double>(small) + 1 + std::log(1 + 2 * std::exp(-1.0))));
  vector const d = ct::grad(last_running)(vector{none, none, small, small + 1, small});
  double const all = 1 + 2 * std::exp(-1.0);
  CHECK(d(0) == 0);
  CHECK(d(1) == 0);
  CHECK(d(2) == Approx(std::exp(-1.0) / all));
  CHECK(d(3) == Approx(1 / all));
  CHECK(d(4) == Approx(std::exp(-1.0) / all));
}

} // namespace

TEST_CASE("logcumsumexp begins after elements of probability 0, without overflow") {
  running_after_nothing(-100.0f);
  running_after_nothing(-1000.0);
  running_after_nothing(0.5);
  running_after_nothing(1000.0);
  auto const y = ct::compiled(running)(ct::tensor<double, 4>{1, inf, 2, -inf});
  CHECK(y(0) == 1);
  for (int k = 1; k < 4; ++k) CHECK(y(k) == inf);
  auto const nan = ct::compiled(running)(ct::tensor<double, 3>{-inf, std::nan(""), 2});
  CHECK(nan(0) == -inf);
  CHECK(std::isnan(nan(1)));
  CHECK(std::isnan(nan(2)));
  CHECK(ct::compiled(running)(ct::tensor<double, 0>{}).size() == 0);
}

TEST_CASE("covariances of no observations or one are NaN") {
  constexpr auto of = [](auto x) { return ct::cov(x); };
  constexpr auto correlation = [](auto x) { return ct::corrcoef(x); };
  auto const all_nan = [](auto const& y) { return std::all_of(y.begin(), y.end(), [](double e) { return std::isnan(e); }); };
  CHECK(std::isnan(ct::compiled(of)(ct::tensor<double, 0>{})));
  CHECK(std::isnan(ct::compiled(of)(ct::tensor<double, 1>{3})));
  CHECK(all_nan(ct::compiled(of)(ct::tensor<double, 2, 0>{})));
  CHECK(all_nan(ct::compiled(correlation)(ct::tensor<double, 2, 0>{})));
  for (int n : {0, 1, 2}) { // of a size that comes with the call
    ct::tensor<double, 2, "n"> x(n);
    for (int k = 0; k < 2 * n; ++k) x.data()[k] = k * k;
    CHECK(all_nan(ct::compiled(of)(x)) == (n < 2));
    CHECK(all_nan(ct::compiled(correlation)(x)) == (n < 2));
  }
  CHECK(ct::compiled(of)(ct::tensor<double, 2>{1, 4}) == 4.5);
}

TEST_CASE("a quantile outside of [0, 1] is reported, of one element, too") {
  constexpr auto of = [](auto x, auto q) { return ct::quantile(x, q); };
  ct::tensor<double, 3> const three{1, 2, 3};
  for (double const q : {-1e-9, -7.0, 1 + 1e-9, 1.4, 9.0, static_cast<double>(NAN)}) {
    CHECK_THROWS_AS(ct::compiled(of)(three, q), ct::error);
    CHECK_THROWS_AS(ct::compiled(of)(ct::tensor<double, 1>{5}, q), ct::error);
  }
  for (double const q : {0.0, 0.25, 1.0}) {
    CHECK(ct::compiled(of)(three, q) == 1 + 2 * q);
    CHECK(ct::compiled(of)(ct::tensor<double, 1>{5}, q) == 5);
  }
  CHECK(ct::grad<1>(of)(three, 0.25) == 2);
}

TEST_CASE("all derivatives of a norm and a standard deviation are 0 where these are 0") {
  ct::tensor<double, 3> const zero{}, ones{1, 1, 1};
  CHECK(ct::hessian([](auto x) { return ct::norm(x); })(zero) == ct::tensor<double, 3, 3>{});
  CHECK(ct::hessian([](auto x) { return ct::std(x); })(ones) == ct::tensor<double, 3, 3>{});
  CHECK(ct::grad([](auto x) { return ct::norm(x); })(zero) == zero);
  CHECK(ct::hessian([](auto x) { return ct::hypot(x(0), x(1)); })(ct::tensor<double, 2>{}) == ct::tensor<double, 2, 2>{});
}

TEST_CASE("second derivatives of powers at exponent 0, and of x log(y) at x = 0, are those beside it") {
  constexpr auto power = [](auto x) { return ct::pow(x(0), x(1)); };
  constexpr auto product = [](auto x) { return ct::xlogy(x(1), x(0)); };
  using pair = ct::tensor<double, 2>;
  for (double const x : {0.5, 2.0, 4.0}) {
    pair const at{x, 0};
    double const l = std::log(x);
    for (auto const& h : {ct::hessian(power)(at), ct::jacrev(ct::grad(power))(at), ct::jacfwd(ct::grad(power))(at), ct::jacrev(ct::jacfwd(power))(at)}) {
      CHECK(h(0, 0) == 0);
      CHECK(h(0, 1) == Approx(1 / x));
      CHECK(h(1, 0) == Approx(1 / x));
      CHECK(h(1, 1) == Approx(l * l));
    }
    for (auto const& h : {ct::hessian(product)(at), ct::jacrev(ct::grad(product))(at), ct::jacfwd(ct::grad(product))(at)}) {
      CHECK(h(0, 1) == Approx(1 / x));
      CHECK(h(1, 0) == Approx(1 / x));
      CHECK((h(0, 0) == 0 && h(1, 1) == 0));
    }
  }
  CHECK(ct::grad(power)(pair{0, 0})(0) == 0); // and no NaN
  CHECK(ct::grad(product)(pair{0, 0})(0) == 0);
}

TEST_CASE("second derivatives at equal eigenvalues and singular values are not finite, rather than wrong") {
  using matrix = ct::tensor<double, 2, 2>;
  matrix const identity{{1, 0}, {0, 1}}, d{{0.5, 1}, {1, -1}}, apart{{1, 0.25}, {0.25, 2}};
  constexpr auto by_eigenvalues = [](auto a) { return ct::sum(ct::square(ct::eigvalsh(a))); };
  constexpr auto by_vectors = [](auto a) {
    auto [w, v] = ct::eigh(a);
    return ct::sum(ct::square(ct::matmul(v * w, ct::transpose(v))));
  };
  constexpr auto by_singular_values = [](auto a) { return ct::sum(ct::square(std::get<1>(ct::svd(a)))); };
  auto const check = [&](auto f) {
    for (matrix const& a : {identity, apart}) { // sum(a * a), whose gradient is 2 a
      matrix const g = ct::grad(f)(a);
      for (int k = 0; k < 4; ++k) CHECK(g.data()[k] == Approx(2 * a.data()[k]).margin(1e-12));
    }
    matrix const right = ct::hvp(f)(apart, d), at_equal = ct::hvp(f)(identity, d);
    int finite = 0;
    for (int k = 0; k < 4; ++k) {
      CHECK(right.data()[k] == Approx(2 * d.data()[k]).margin(1e-9));
      finite += std::isfinite(at_equal.data()[k]) && at_equal.data()[k] != Approx(2 * d.data()[k]);
    }
    CHECK(finite == 0);
  };
  check(by_eigenvalues);
  check(by_vectors);
  check(by_singular_values);
}

TEST_CASE("random numbers take a literal key with an argument") {
  constexpr auto noisy = [](auto x) { return x + ct::random_uniform<double, 3>(0 * ct::axis_size<0>(x) + 7); };
  constexpr auto by_key = [](auto x, auto key) { return x + ct::random_uniform<double, 3>(key); };
  ct::tensor<double, 3> const x{1, 2, 3};
  CHECK(ct::compiled(noisy)(x) == ct::compiled(by_key)(x, std::int64_t{7}));
}

TEST_CASE("select of two literals has their common type") {
  static constexpr std::int64_t large = std::int64_t{1} << 40;
  ct::tensor<double, 2> const x{1, -1};
  ct::tensor<std::int64_t, 2> const y = ct::compiled([](auto t) { return ct::select(t > 0, 3, large); })(x);
  CHECK(y(0) == 3);
  CHECK(y(1) == large);
  CHECK(ct::compiled([](auto t) { return ct::select(t > 0, true, 2); })(x)(1) == 2);
}
