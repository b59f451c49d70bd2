// SPDX-License-Identifier: BSL-1.0
// Programs of every kind of node. Their object holds no rule of an operation (tools/check_objects.py): rules are for the compiler alone.
#include <cotangent/cotangent.hpp>
#include <cotangent/images.hpp>
#include <cotangent/linalg.hpp>
#include <cotangent/random.hpp>
#include <cotangent/sparse.hpp>

#include <cstdint>
#include <utility>

namespace ct = cotangent;

using named = ct::tensor<double, "n">;
using matrix = ct::tensor<double, "n", "n">;

double of_matrices(ct::tensor<double, 40, 40> const& k, ct::tensor<double, 40> const& y) {
  auto const [value, slope] = ct::value_and_grad<0>([](auto a, auto b) {
    auto const l = ct::cholesky(a);
    return ct::sum(ct::square(ct::triangular_solve(l, b))) + ct::sum(ct::log(ct::diagonal(l))) + ct::sum(ct::solve(a, b));
  })(k, y);
  return value + slope(0, 0);
}

double of_named_matrices(matrix const& a, named const& b) {
  auto const [value, slope] = ct::value_and_grad<0>([](auto m, auto v) {
    return ct::sum(ct::solve(ct::matmul(m, m), v)) + ct::sum(ct::mean(m, ct::axes<0>)) + ct::sum(ct::cumsum(ct::sort(v)) / ct::sum(v));
  })(a, b);
  return value + slope(0, 0);
}

double of_images(ct::tensor<double, 2, 8, 8, 3> const& x, ct::tensor<double, 3, 3, 3, 4> const& w) {
  auto const [value, slope] = ct::value_and_grad<1>([](auto a, auto b) { return ct::sum(ct::max_pool2d(ct::relu(ct::conv2d(a, b)))); })(x, w);
  return value + slope(0, 0, 0, 0);
}

double of_loops(named const& x, std::int64_t count) {
  auto const [value, slope] = ct::value_and_grad<0>([](auto v, auto n) {
    auto const looped = ct::for_loop<ct::loop{.max_iterations = 8}>(
        n, [&](auto i, auto s) { return ct::cond(i > 2, [](auto a) { return ct::sin(a); }, [](auto a) { return a * a; })(s) + v; }, v);
    auto const [last, all] = ct::scan([](auto s, auto e) { return std::pair(s * e, s + e); }, ct::sum(v) * 0 + 1, looped);
    return last + ct::sum(all) + ct::sum(ct::map([](auto e) { return ct::exp(e); }, v));
  })(x, count);
  return value + slope(0);
}

double of_rows(ct::tensor<float, "n", 7> const& x, ct::tensor<std::int32_t, "n"> const& labels, std::int64_t seed) {
  auto const [value, slope] = ct::value_and_grad<0>([](auto a, auto k, auto key) {
    auto const noise = ct::random_normal<double, 7>(key);
    return ct::mean(ct::cross_entropy(a, k)) + ct::sum(ct::print(ct::max(a, ct::axes<0>), "largest")) + ct::convert<float>(ct::sum(noise));
  })(x, labels, seed);
  return static_cast<double>(value) + static_cast<double>(slope(0, 0));
}

double of_jacobians(ct::tensor<double, 3> const& x) {
  auto const f = [](auto v) { return ct::stack<0>(v(0) * v(1), ct::sin(v(2)), v(1) / v(2)); };
  return ct::jacobian(f)(x)(0, 0) + ct::vmap(f)(ct::tensor<double, 5, 3>{})(0, 0) +
         ct::hessian([](auto v) { return ct::sum(ct::exp(v) * v(0)); })(x)(1, 1);
}

double of_pullbacks(ct::tensor<double, 30> const& x) {
  auto [value, pullback] = ct::vjp([](auto v) { return ct::checkpoint([](auto a) { return ct::exp(ct::sin(a)); })(v) * v; })(x);
  return pullback(value)(0);
}
