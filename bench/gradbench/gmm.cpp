// SPDX-License-Identifier: BSL-1.0
#include "tool.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gradbench {
namespace {

/// The logarithm of the likelihood of the points x under a mixture of Gaussians, with a Wishart prior. Element (i, j) of
/// `position` is the row of l, transposed, with entry (i, j) of Q; a row of zeros follows the last one.
inline constexpr auto log_likelihood = [](auto alpha, auto mu, auto q, auto l, auto x, auto position, auto constants) {
  auto const sums = ct::sum(q, ct::axes<1>);
  auto const scales = ct::exp(q);
  auto const padded = ct::concatenate<0>(ct::transpose(l), ct::zeros<1, "k">());
  auto const lower = ct::permute<2, 0, 1>(ct::gather(padded, position));
  auto const is_diagonal = ct::reshape<"d", 1>(ct::iota<"d">()) == ct::iota<"d">();
  auto const inverse = ct::select(is_diagonal, ct::reshape<"k", "d", 1>(scales), lower); // Q, one for each component
  auto const centers = ct::sum(inverse * ct::reshape<"k", 1, "d">(mu), ct::axes<2>, ct::keep);
  auto const products = ct::matmul(ct::reshape<"k*d", "d">(inverse), x);
  auto const distances = ct::sum(ct::square(ct::reshape<"k", "d", "n">(products) - centers), ct::axes<1>);
  auto const likelihoods = ct::logsumexp(ct::reshape<"k", 1>(alpha + sums) - 0.5 * distances, ct::axes<0>);
  auto const prior = constants(2) * (ct::sum(ct::square(scales)) + ct::sum(ct::square(l))) - constants(3) * ct::sum(sums);
  return constants(0) + ct::sum(likelihoods) - constants(1) * ct::logsumexp(alpha) - prior;
};

struct state {
  ct::tensor<double, "k"> alpha, dalpha;
  ct::tensor<double, "k", "d"> mu, q, dmu, dq;
  ct::tensor<double, "k", "h"> l, dl;
  ct::tensor<double, "d", "n"> x; // a point in each column
  ct::tensor<std::int64_t, "d", "d"> position;
  ct::tensor<double, 4> constants;
  double y = 0;
};

/// The multivariate gamma function, its logarithm.
double log_gamma(double a, std::size_t d) {
  auto const n = static_cast<double>(d);
  double sum = n * (n - 1) / 4 * std::log(std::numbers::pi);
  for (std::size_t j = 1; j <= d; ++j) sum += std::lgamma(a + (1 - static_cast<double>(j)) / 2);
  return sum;
}

template <class Tensor> void read_rows(Tensor& to, json const& input, std::size_t rows, std::size_t columns) {
  matrix const from = read_matrix(input);
  require(from.extent(0) == static_cast<std::int64_t>(rows) && (rows == 0 || from.extent(1) == static_cast<std::int64_t>(columns)),
          "alpha, mu, q, l and x must have the shapes of d, k and n");
  std::copy(from.begin(), from.end(), to.begin());
}

std::shared_ptr<state> read(json const& input) {
  auto const d = read_count(member(input, "d")), k = read_count(member(input, "k")), n = read_count(member(input, "n")),
             h = d * (d - std::min<std::size_t>(d, 1)) / 2;
  require(d > 0 && k > 0, "d and k must be at least 1");
  using components = ct::tensor<double, "k">;
  using vectors = ct::tensor<double, "k", "d">;
  using triangles = ct::tensor<double, "k", "h">;
  auto s = std::make_shared<state>(state{components(k), components(k), vectors(k, d), vectors(k, d), vectors(k, d),
                                         vectors(k, d), triangles(k, h), triangles(k, h), ct::tensor<double, "d", "n">(d, n),
                                         ct::tensor<std::int64_t, "d", "d">(d), {}});
  vector const alpha = read_vector(member(input, "alpha"));
  require(alpha.size() == static_cast<std::int64_t>(k), "alpha, mu, q, l and x must have the shapes of d, k and n");
  std::copy(alpha.begin(), alpha.end(), s->alpha.begin());
  read_rows(s->mu, member(input, "mu"), k, d);
  read_rows(s->q, member(input, "q"), k, d);
  read_rows(s->l, member(input, "l"), k, h);
  ct::tensor<double, "n", "d"> points(n, d);
  read_rows(points, member(input, "x"), n, d);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < d; ++j) s->x.data()[j * n + i] = points.data()[i * d + j];

  s->position.fill(static_cast<std::int64_t>(h));
  std::int64_t next = 0;
  for (std::size_t j = 0; j < d; ++j)
    for (std::size_t i = j + 1; i < d; ++i) s->position.data()[i * d + j] = next++;

  double const gamma = read_number(member(input, "gamma")), m = read_number(member(input, "m")),
               size = static_cast<double>(d), number = static_cast<double>(n), freedom = size + m + 1,
               wishart = freedom * size * (std::log(gamma) - .5 * std::log(2.)) - log_gamma(freedom / 2, d);
  s->constants = {-number * size / 2 * std::log(2 * std::numbers::pi) + static_cast<double>(k) * wishart, number,
                  gamma * gamma / 2, m};
  return s;
}
task objective(json const& input) {
  auto s = read(input);
  return {prepare(ct::compiled(log_likelihood), std::tie(s->y), s->alpha, s->mu, s->q, s->l, s->x, s->position, s->constants),
          [s](json& to) { write(to, s->y); }};
}
task jacobian(json const& input) {
  auto s = read(input);
  return {prepare(ct::grad<0, 1, 2, 3>(log_likelihood), std::tie(s->dalpha, s->dmu, s->dq, s->dl), s->alpha, s->mu, s->q, s->l,
                  s->x, s->position, s->constants),
          [s](json& to) {
            auto const k = static_cast<std::size_t>(s->l.extent(0)), d = static_cast<std::size_t>(s->mu.extent(1));
            write(member(to, "alpha"), s->dalpha);
            write(member(to, "mu"), s->dmu.data(), k, d);
            write(member(to, "q"), s->dq.data(), k, d);
            write(member(to, "l"), s->dl.data(), k, static_cast<std::size_t>(s->l.extent(1)));
          }};
}

} // namespace

problem gmm() { return {{"objective", objective}, {"jacobian", jacobian}}; }

} // namespace gradbench
