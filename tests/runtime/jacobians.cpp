// SPDX-License-Identifier: BSL-1.0
// Jacobians, Hessians and vmap, run: what docs/how-to/jacobians.md quotes, and their laws.
#include "catch.hpp"

#include <cotangent/cotangent.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

namespace ct = cotangent;

namespace jacobians {

// [arm]
inline constexpr auto arm = [](auto angles) { // where the hand of a planar arm is, and its direction
  auto const absolute = ct::cumsum(angles);
  return ct::expr<double, 3>{ct::sum(ct::cos(absolute)), ct::sum(ct::sin(absolute)), ct::sum(angles)};
};
// [/arm]
// [numbers]
inline constexpr auto polar = [](auto r, auto angle) { return std::tuple(r * ct::cos(angle), r * ct::sin(angle)); };
// [/numbers]
// [energy]
inline constexpr auto energy = [](auto x) { return ct::sum(ct::square(ct::square(x))) + ct::square(ct::sum(x)); };
// [/energy]
// [residual]
inline constexpr auto residual = [](auto const& parameters, auto x, auto y) {
  auto const [scale, rate] = parameters;
  return scale * ct::exp(-rate * x) - y; // of one sample
};
// [/residual]

/// The three numbers of each function that the laws are stated of; also for float.
inline constexpr auto bent = [](auto x) { return ct::sin(x) * ct::sum(x * x) + ct::exp(-x); };

template <class A, class B> bool near(A const& a, B const& b, double tolerance) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](auto p, auto q) {
    return std::fabs(static_cast<double>(p - q)) <= tolerance * (1 + std::fabs(static_cast<double>(p)));
  });
}

template <class T> void check_laws(double tolerance) {
  ct::tensor<T, 3> x{T(0.3), T(-0.7), T(1.1)}, v{1, T(-0.5), 2}, w{T(0.2), 3, -1};
  auto const j = ct::jacfwd(bent)(x);
  CHECK(near(j, ct::jacrev(bent)(x), tolerance));
  ct::tensor<T, 3> jv{}, wj{};
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c) jv(r) += j(r, c) * v(c), wj(c) += w(r) * j(r, c);
  CHECK(near(ct::jvp(bent)(x, v).second, jv, tolerance));
  CHECK(near(ct::vjp(bent)(x, w).second, wj, tolerance));
  T left{}, right{};
  for (int k = 0; k < 3; ++k) left += w(k) * jv(k), right += wj(k) * v(k);
  CHECK(std::fabs(static_cast<double>(left - right)) <= tolerance * 10);

  auto const h = ct::hessian(energy)(x);
  ct::tensor<T, 3> hv{};
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c) {
      hv(r) += h(r, c) * v(c);
      CHECK(std::fabs(static_cast<double>(h(r, c) - h(c, r))) <= tolerance);
    }
  CHECK(near(ct::hvp(energy)(x, v), hv, tolerance));
}

} // namespace jacobians

TEST_CASE("Jacobians agree with products, Hessians with their products and differences of gradients") {
  jacobians::check_laws<double>(1e-13);
  jacobians::check_laws<float>(1e-5);
  ct::tensor<double, 3> const x{0.3, -0.7, 1.1}, v{1, -0.5, 2};
  double const step = 1e-5;
  ct::tensor<double, 3> up = x, down = x, slope;
  for (int k = 0; k < 3; ++k) up(k) += step * v(k), down(k) -= step * v(k);
  auto const above = ct::grad(jacobians::energy)(up), below = ct::grad(jacobians::energy)(down);
  for (int k = 0; k < 3; ++k) slope(k) = (above(k) - below(k)) / (2 * step);
  CHECK(jacobians::near(ct::hvp(jacobians::energy)(x, v), slope, 1e-8));
}

TEST_CASE("a Jacobian has the axes of the output, then those of the argument") {
  using namespace jacobians;
  // [jacobian]
  ct::tensor<double, 7> angles{0.1, 0.4, -0.3, 0.2, 0.5, -0.1, 0.3};
  ct::tensor<double, 3, 7> j = ct::jacobian(arm)(angles); // j(i, k): output i by angle k

  auto rows = ct::jacobian<0, 1>(polar)(2.0, 0.5); // for each output a tuple, of a number for each argument
  auto [x_by_r, x_by_angle] = std::get<0>(rows);
  // [/jacobian]
  CHECK(x_by_r == std::cos(0.5));
  CHECK(std::fabs(x_by_angle + 2 * std::sin(0.5)) < 1e-15);
  for (int k = 0; k < 7; ++k) {
    ct::tensor<double, 7> unit{};
    unit(k) = 1;
    auto const column = ct::jvp(arm)(angles, unit).second;
    for (int i = 0; i < 3; ++i) CHECK(std::fabs(j(i, k) - column(i)) < 1e-14);
  }
  CHECK(near(ct::jacrev(arm)(angles), j, 1e-13));
}

TEST_CASE("Hessians and their products") {
  using namespace jacobians;
  // [hessian]
  ct::tensor<double, 3> x{1, 2, 3}, v{1, 0, -1};
  ct::tensor<double, 3, 3> h = ct::hessian(energy)(x);
  ct::tensor<double, 3> hv = ct::hvp(energy)(x, v); // h v, at the cost of about two gradients
  ct::tensor<double, 3> d = ct::diagonal_hessian(energy)(x);
  // [/hessian]
  CHECK(h == ct::tensor<double, 3, 3>{{14, 2, 2}, {2, 50, 2}, {2, 2, 110}});
  CHECK(hv == ct::tensor<double, 3>{12, 0, -108});
  CHECK(d == ct::tensor<double, 3>{14, 50, 110});
  ct::tensor<double, "n"> many(37);
  for (int k = 0; k < 37; ++k) many(k) = std::sin(0.7 * k);
  auto const all = ct::hessian(energy)(many);
  auto const diagonal = ct::diagonal_hessian(energy)(many);
  REQUIRE(diagonal.size() == 37);
  for (int k = 0; k < 37; ++k) CHECK(std::fabs(diagonal(k) - all(k, k)) < 1e-13);
}

TEST_CASE("vmap calls a function for every row") {
  using namespace jacobians;
  // [vmap]
  ct::tensor<double, "n"> x(100), y(100);
  for (int i = 0; i < 100; ++i) x(i) = 0.01 * i, y(i) = 2 / (1 + x(i));
  std::pair parameters(2.0, 0.7);
  auto r = ct::vmap<ct::unmapped, 0, 0>(residual)(parameters, x, y);         // a residual for each sample
  auto [by_scale, by_rate] = ct::vmap<ct::unmapped, 0, 0>(ct::grad(residual))(parameters, x, y); // and its gradient
  // [/vmap]
  for (int i = 0; i < 100; ++i) {
    CHECK(std::fabs(r(i) - ct::compiled(residual)(parameters, x(i), y(i))) < 1e-14);
    auto const one = ct::grad(residual)(parameters, x(i), y(i));
    CHECK(std::fabs(by_scale(i) - one.first) < 1e-14);
    CHECK(std::fabs(by_rate(i) - one.second) < 1e-14);
  }
}

TEST_CASE("Jacobians of named extents, and of many rows") {
  using namespace jacobians;
  ct::tensor<double, "n"> x(5);
  for (int i = 0; i < 5; ++i) x(i) = 0.3 * i - 0.4;
  auto const j = ct::jacobian(bent)(x), k = ct::jacrev(bent)(x);
  REQUIRE(j.size() == 25);
  CHECK(near(j, k, 1e-13));
  ct::tensor<double, 40, 7> many;
  for (int i = 0; i < 280; ++i) many.data()[i] = std::sin(0.37 * i);
  auto const all = ct::vmap(ct::jacobian(arm))(many);
  for (int i = 0; i < 40; i += 13) {
    ct::tensor<double, 7> one;
    for (int c = 0; c < 7; ++c) one(c) = many(i, c);
    auto const alone = ct::jacobian(arm)(one);
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 7; ++c) CHECK(std::fabs(all(i, r, c) - alone(r, c)) < 1e-14);
  }
}

TEST_CASE("vmap of products of matrices, small and large") {
  auto const product = [](auto a, auto b) { return ct::matmul(a, b); };
  auto const transposed = [](auto a, auto b) { return ct::matmul(ct::transpose(a), ct::transpose(b)); };
  auto const check = [](auto f, auto a, auto b) {
    for (std::int64_t i = 0; i < a.size(); ++i) a.data()[i] = std::sin(0.3 * static_cast<double>(i));
    for (std::int64_t i = 0; i < b.size(); ++i) b.data()[i] = std::cos(0.7 * static_cast<double>(i));
    auto const c = ct::vmap(f)(a, b);
    ct::tensor<double, a.extents[1].number, a.extents[2].number> p;
    ct::tensor<double, b.extents[1].number, b.extents[2].number> q;
    for (int i = 0; i < 3; ++i) {
      std::copy_n(a.data() + i * p.size(), p.size(), p.data());
      std::copy_n(b.data() + i * q.size(), q.size(), q.data());
      auto const one = ct::compiled(f)(p, q);
      for (std::int64_t k = 0; k < one.size(); ++k)
        CHECK(std::fabs(c.data()[i * one.size() + k] - one.data()[k]) < 1e-13);
    }
  };
  check(product, ct::tensor<double, 3, 2, 5>(), ct::tensor<double, 3, 5, 4>());
  check(product, ct::tensor<double, 3, 16, 20>(), ct::tensor<double, 3, 20, 18>());
  check(transposed, ct::tensor<double, 3, 20, 16>(), ct::tensor<double, 3, 18, 20>());
}

TEST_CASE("vmap of products of matrices with any number of rows") {
  ct::tensor<double, 3, 16, 12> b;
  for (std::int64_t i = 0; i < b.size(); ++i) b.data()[i] = std::cos(0.7 * static_cast<double>(i));
  for (std::int64_t n : {0, 1, 2, 70}) {
    ct::tensor<double, 3, "n", 16> a(n);
    for (std::int64_t i = 0; i < a.size(); ++i) a.data()[i] = std::sin(0.3 * static_cast<double>(i));
    auto const c = ct::vmap([](auto x, auto y) { return ct::matmul(x, y); })(a, b);
    REQUIRE(c.size() == 36 * n);
    for (std::int64_t i = 0; i < 3 * n; ++i)
      for (std::int64_t k = 0; k < 12; ++k) {
        double sum = 0;
        for (std::int64_t j = 0; j < 16; ++j) sum += a.data()[16 * i + j] * b.data()[16 * 12 * (i / n) + 12 * j + k];
        CHECK(std::fabs(c.data()[12 * i + k] - sum) < 1e-13);
      }
  }
}

TEST_CASE("Products of stacks: Jacobians in both modes, rows of stacks on either side and on both") {
  auto const product = [](auto a, auto b) { return ct::matmul(a, b); };
  auto const transposed = [](auto a, auto b) { return ct::matmul(ct::swap_axes<1, 2>(a), ct::swap_axes<1, 2>(b)); };
  auto const check = [](auto f, auto const& a, auto const& b, auto const& as, auto const& bs) {
    CHECK(jacobians::near(ct::jacfwd<0>(f)(a, b), ct::jacrev<0>(f)(a, b), 1e-14));
    CHECK(jacobians::near(ct::jacfwd<1>(f)(a, b), ct::jacrev<1>(f)(a, b), 1e-14));
    auto const left = ct::vmap<0, ct::unmapped>(f)(as, b), right = ct::vmap<ct::unmapped, 0>(f)(a, bs), both = ct::vmap(f)(as, bs);
    for (std::int64_t r = 0; r < 3; ++r) {
      auto p = a;
      auto q = b;
      std::copy_n(as.data() + r * p.size(), p.size(), p.data());
      std::copy_n(bs.data() + r * q.size(), q.size(), q.data());
      auto const one = ct::compiled(f)(p, b), other = ct::compiled(f)(a, q), of_both = ct::compiled(f)(p, q);
      for (std::int64_t k = 0; k < one.size(); ++k) {
        CHECK(std::fabs(left.data()[r * one.size() + k] - one.data()[k]) < 1e-14);
        CHECK(std::fabs(right.data()[r * one.size() + k] - other.data()[k]) < 1e-14);
        CHECK(std::fabs(both.data()[r * one.size() + k] - of_both.data()[k]) < 1e-14);
      }
    }
  };
  auto const filled = [](auto x, double by) {
    for (std::int64_t k = 0; k < x.size(); ++k) x.data()[k] = std::sin(by * static_cast<double>(k + 1));
    return x;
  };
  check(product, filled(ct::tensor<double, 2, 4, 3>(), 0.3), filled(ct::tensor<double, 2, 3, 5>(), 0.7),
        filled(ct::tensor<double, 3, 2, 4, 3>(), 0.2), filled(ct::tensor<double, 3, 2, 3, 5>(), 0.9));
  check(transposed, filled(ct::tensor<double, 2, 3, 4>(), 0.3), filled(ct::tensor<double, 2, 5, 3>(), 0.7),
        filled(ct::tensor<double, 3, 2, 3, 4>(), 0.2), filled(ct::tensor<double, 3, 2, 5, 3>(), 0.9));
}
