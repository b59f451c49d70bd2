// SPDX-License-Identifier: BSL-1.0
// Hamiltonian Monte Carlo: 64 chains draw from the posterior of a logistic regression, side by side under ct::vmap. The sampler is written for
// one chain; its gradient is that of the logarithm of the density.
#include <cotangent/cotangent.hpp>
#include <cotangent/random.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <tuple>

namespace ct = cotangent;

// [sampler]
inline constexpr int rows = 50, chains = 64;
using points = ct::tensor<double, rows, 2>;
using labels = ct::tensor<double, rows>;

/// The logarithm of the density of weights, up to a constant: a normal prior, and a logistic likelihood of labels 0 and 1.
inline constexpr auto log_density = [](auto w, auto x, auto y) {
  auto const z = ct::matmul(x, w);
  return ct::sum(y * z - ct::softplus(z)) - ct::sum(w * w) / 8;
};

/// One draw of one chain: 8 leapfrog steps with a random momentum, accepted by the change of the energy.
inline constexpr auto draw = [](auto w, auto key, auto x, auto y) {
  auto const force = [=](auto q) { return ct::grad(log_density)(q, x, y); };
  auto const momentum = ct::random_normal<double, 2>(key);
  auto q = w, p = momentum;
  for (int k = 0; k < 8; ++k) {
    p = p + 0.1 * force(q);
    q = q + 0.2 * p;
    p = p + 0.1 * force(q);
  }
  auto const gain = log_density(q, x, y) - log_density(w, x, y) + 0.5 * (ct::sum(momentum * momentum) - ct::sum(p * p));
  auto const accepted = ct::log(ct::random_uniform<double>(ct::random_fold_in(key, 1))) < gain;
  return std::tuple(ct::select(accepted, q, w), ct::convert<double>(accepted));
};
inline constexpr auto draws = [](auto w, auto key, auto x, auto y) {
  auto const keys = ct::random_split<chains>(key);
  return ct::vmap<0, 0, ct::unmapped, ct::unmapped>(draw)(w, keys, x, y);
};
// [/sampler]

int main() {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  points x;
  labels y;
  for (int k = 0; k < rows; ++k) {
    x(k, 0) = normal(random), x(k, 1) = normal(random);
    y(k) = uniform(random) < 1 / (1 + std::exp(-(1.5 * x(k, 0) - x(k, 1)))) ? 1 : 0;
  }

  ct::tensor<double, chains, 2> w{};
  double mean[2]{}, square[2]{}, accepted = 0, count = 0;
  for (std::int64_t k = 0; k < 400; ++k) {
    ct::tensor<double, chains> right;
    std::tie(w, right) = ct::compiled(draws)(w, k, x, y);
    if (k < 50) continue; // until the chains have forgotten where they began
    for (int c = 0; c < chains; ++c) {
      for (int j = 0; j < 2; ++j) mean[j] += w(c, j), square[j] += w(c, j) * w(c, j);
      accepted += right(c), count += 1;
    }
  }

  // The same integrals over a grid.
  double wanted[2]{}, wanted_square[2]{}, sum = 0;
  for (double a = -4; a < 8; a += 0.05)
    for (double b = -8; b < 4; b += 0.05) {
      double l = -(a * a + b * b) / 8;
      for (int k = 0; k < rows; ++k) {
        double const z = a * x(k, 0) + b * x(k, 1);
        l += y(k) * z - (z > 0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(z)));
      }
      double const p = std::exp(l), of[]{a, b};
      sum += p;
      for (int j = 0; j < 2; ++j) wanted[j] += p * of[j], wanted_square[j] += p * of[j] * of[j];
    }

  bool right = accepted > 0.8 * count;
  for (int j = 0; j < 2; ++j) {
    double const m = mean[j] / count, s = std::sqrt(square[j] / count - m * m);
    double const mg = wanted[j] / sum, sg = std::sqrt(wanted_square[j] / sum - mg * mg);
    std::printf("weight %d: %.3f +- %.3f, by integration %.3f +- %.3f\n", j, m, s, mg, sg);
    right = right && std::abs(m - mg) < 0.05 && std::abs(s - sg) < 0.05;
  }
  std::printf("%.0f %% of %.0f draws accepted\n", 100 * accepted / count, count);
  return right ? 0 : 1;
}
