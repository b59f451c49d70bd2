// SPDX-License-Identifier: BSL-1.0
// Functions with derivative rules of their own, run: what docs/how-to/custom-derivatives.md quotes, laws and differences.
#include "catch.hpp"

#include <cotangent/cotangent.hpp>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace ct = cotangent;

namespace custom {

// [softplus]
inline constexpr auto softplus = ct::custom_vjp(
    [](auto x) { return ct::log(1 + ct::exp(-ct::abs(x))) + ct::max(x, 0); },
    [](auto x, auto, auto dy) { return dy * ct::sigmoid(x); }); // also at 0, where abs and max have a kink
// [/softplus]
// [clip]
inline constexpr auto clip_gradient = ct::custom_vjp([](auto x) { return x; }, [](auto, auto, auto dy) {
  return dy * ct::min(1, 1 / ct::sqrt(ct::sum(dy * dy)));
});
// [/clip]
// [norm]
inline constexpr auto norm = ct::custom_jvp(
    [](auto x) { return ct::sqrt(ct::sum(x * x)); },
    [](auto x, auto dx) {
      auto const length = ct::sqrt(ct::sum(x * x));
      return ct::sum(x * dx) / ct::select(length > 0, length, 1); // 0 at the origin, not NaN
    });
// [/norm]
// [several]
inline constexpr auto polar = ct::custom_vjp(
    [](auto r, auto angle) { return std::tuple(r * ct::cos(angle), r * ct::sin(angle)); },
    [](auto r, auto, auto y, auto dy) { // the result and its cotangent are tuples, too
      auto const [a, b] = y;
      auto const [da, db] = dy;
      return std::tuple((a * da + b * db) / r, a * db - b * da); // a cotangent for each argument
    });
// [/several]

inline constexpr auto loss = [](auto x) { return ct::sum(softplus(x) * norm(x)) + norm(softplus(x)); };
inline constexpr auto plain = [](auto x) {
  auto const soft = [](auto z) { return ct::log(1 + ct::exp(z)); };
  auto const length = [](auto z) { return ct::sqrt(ct::sum(z * z)); };
  return ct::sum(soft(x) * length(x)) + length(soft(x));
};
inline constexpr auto steps = [](auto x) {
  return ct::sum(ct::for_loop(5, [&](auto, auto y) { return y + 0.1 * norm(x) * softplus(y); }, x));
};
inline constexpr auto plain_steps = [](auto x) {
  return ct::sum(ct::for_loop(
      5, [&](auto, auto y) { return y + 0.1 * ct::sqrt(ct::sum(x * x)) * ct::log(1 + ct::exp(y)); }, x));
};

template <class A, class B> void check_near(A const& a, B const& b, double tolerance) {
  CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](auto p, auto q) {
    return std::fabs(static_cast<double>(p - q)) <= tolerance * (1 + std::fabs(static_cast<double>(p)));
  }));
}

template <class T, ct::extent N> void check_against_plain(ct::tensor<T, N> const& x, ct::tensor<T, N> const& v, double tolerance) {
  check_near(ct::grad(loss)(x), ct::grad(plain)(x), tolerance);
  check_near(ct::hvp(loss)(x, v), ct::hvp(plain)(x, v), tolerance);
  check_near(ct::hessian(loss)(x), ct::hessian(plain)(x), tolerance);
  CHECK(std::fabs(static_cast<double>(ct::jvp(loss)(x, v).second - ct::jvp(plain)(x, v).second)) < tolerance * 10);
  check_near(ct::grad(steps)(x), ct::grad(plain_steps)(x), tolerance);
  check_near(ct::hvp(steps)(x, v), ct::hvp(plain_steps)(x, v), tolerance);
}

} // namespace custom

TEST_CASE("rules that are right give the derivatives of the function, of every order and in loops") {
  using namespace custom;
  check_against_plain(ct::tensor<double, 3>{0.3, -0.7, 1.1}, ct::tensor<double, 3>{1, -0.5, 2}, 1e-12);
  check_against_plain(ct::tensor<float, 3>{0.3f, -0.7f, 1.1f}, ct::tensor<float, 3>{1, -0.5f, 2}, 1e-5);
  ct::tensor<double, "n"> x(70), v(70);
  for (int k = 0; k < 70; ++k) x(k) = std::sin(0.7 * k), v(k) = std::cos(0.3 * k);
  check_against_plain(x, v, 1e-11);
  check_against_plain(ct::tensor<double, 1>{0.4}, ct::tensor<double, 1>{-2.0}, 1e-12);
}

TEST_CASE("rules agree with central differences") {
  using namespace custom;
  ct::tensor<double, 3> const x{0.3, -0.7, 1.1};
  auto const g = ct::grad(loss)(x), h = ct::grad(steps)(x);
  double const step = 1e-5;
  for (int k = 0; k < 3; ++k) {
    ct::tensor<double, 3> up = x, down = x;
    up(k) += step, down(k) -= step;
    CHECK(std::fabs((ct::compiled(loss)(up) - ct::compiled(loss)(down)) / (2 * step) - g(k)) < 1e-8);
    CHECK(std::fabs((ct::compiled(steps)(up) - ct::compiled(steps)(down)) / (2 * step) - h(k)) < 1e-8);
  }
}

TEST_CASE("rules decide at kinks, and change gradients") {
  using namespace custom;
  CHECK(ct::grad(softplus)(0.0) == 0.5);
  ct::tensor<double, 3> const zero{}, x{1, 2, 3};
  CHECK(ct::grad(norm)(zero) == zero);
  CHECK(norm(ct::tensor<double, 2>{3, 4}) == 5);
  auto const steep = [](auto z) { return 100 * ct::sum(clip_gradient(z)); };
  auto const gentle = [](auto z) { return 0.25 * ct::sum(clip_gradient(z)); };
  for (double const g : ct::grad(steep)(x)) CHECK(std::fabs(g - 1 / std::sqrt(3.0)) < 1e-15);
  for (double const g : ct::grad(gentle)(x)) CHECK(g == 0.25);
}

TEST_CASE("a rule of several arguments and results") {
  using namespace custom;
  auto const [y, dx] = ct::vjp<0, 1>(polar)(2.0, 0.5, std::tuple(3.0, -1.0));
  CHECK(std::get<0>(y) == 2 * std::cos(0.5));
  CHECK(std::fabs(std::get<0>(dx) - (3 * std::cos(0.5) - std::sin(0.5))) < 1e-14);
  CHECK(std::fabs(std::get<1>(dx) - (-6 * std::sin(0.5) - 2 * std::cos(0.5))) < 1e-14);
  auto const rows = ct::jacobian<0, 1>(polar)(2.0, 0.5), transposed = ct::jacrev<0, 1>(polar)(2.0, 0.5);
  CHECK(std::fabs(std::get<1>(std::get<0>(rows)) + 2 * std::sin(0.5)) < 1e-14);
  CHECK(std::fabs(std::get<1>(std::get<0>(transposed)) + 2 * std::sin(0.5)) < 1e-14);
}

TEST_CASE("vmap of functions with rules, and their derivatives under vmap") {
  using namespace custom;
  ct::tensor<double, 40, 3> many;
  for (int i = 0; i < 120; ++i) many.data()[i] = std::sin(0.37 * i);
  check_near(ct::vmap(ct::grad(loss))(many), ct::vmap(ct::grad(plain))(many), 1e-12);
  auto const total = [](auto z) { return ct::sum(ct::vmap(loss)(z)); };
  check_near(ct::grad(total)(many), ct::vmap(ct::grad(plain))(many), 1e-12);
  check_near(ct::vmap(ct::hessian(loss))(many), ct::vmap(ct::hessian(plain))(many), 1e-11);
}

TEST_CASE("a pullback of a function with rules") {
  using namespace custom;
  ct::tensor<double, 3> const x{0.3, -0.7, 1.1};
  auto const [y, pull] = ct::vjp(loss)(x);
  check_near(pull(2.0), ct::vjp(plain)(x, 2.0).second, 1e-12);
}
