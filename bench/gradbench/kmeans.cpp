// SPDX-License-Identifier: BSL-1.0
#include "tool.hpp"

#include <algorithm>

namespace gradbench {
namespace {

/// The sum over all points p of the smallest |c|^2 - 2 c p + |p|^2. Points are columns.
inline constexpr auto cost = [](auto centroids, auto points) {
  auto const relative = ct::sum(ct::square(centroids), ct::axes<1>, ct::keep) - 2.0 * ct::matmul(centroids, points);
  return ct::sum(ct::min(relative, ct::axes<0>)) + ct::sum(ct::square(points));
};

/// The step of Newton's method. The Hessian is diagonal, so its product with ones is its diagonal.
inline constexpr auto direction = [](auto centroids, auto points) {
  auto const [gradient, diagonal] = ct::jvp(ct::grad(cost))(centroids, points, ct::ones<double, "k", "d">());
  return gradient / diagonal;
};

struct state {
  ct::tensor<double, "k", "d"> centroids, step;
  ct::tensor<double, "d", "n"> points;
  double y = 0;
};
std::shared_ptr<state> read(json const& input) {
  matrix const points = read_matrix(member(input, "points")), centroids = read_matrix(member(input, "centroids"));
  std::int64_t const n = points.extent(0), k = centroids.extent(0), d = points.extent(1);
  require(n > 0 && k > 0 && d > 0 && centroids.extent(1) == d, "points and centroids must be rows of equal lengths");
  using vectors = ct::tensor<double, "k", "d">;
  auto s = std::make_shared<state>(state{vectors(k, d), vectors(k, d), ct::tensor<double, "d", "n">(d, n)});
  std::copy(centroids.begin(), centroids.end(), s->centroids.begin());
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < d; ++j) s->points.data()[j * n + i] = points.data()[i * d + j];
  return s;
}
task prepared_cost(json const& input) {
  auto s = read(input);
  return {prepare(ct::compiled(cost), std::tie(s->y), s->centroids, s->points), [s](json& to) { write(to, s->y); }};
}
task prepared_direction(json const& input) {
  auto s = read(input);
  return {prepare(ct::compiled(direction), std::tie(s->step), s->centroids, s->points), [s](json& to) {
            write(to, s->step.data(), static_cast<std::size_t>(s->step.extent(0)), static_cast<std::size_t>(s->step.extent(1)));
          }};
}

} // namespace

problem kmeans() { return {{"cost", prepared_cost}, {"dir", prepared_direction}}; }

} // namespace gradbench
