// SPDX-License-Identifier: BSL-1.0
#include "tool.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace gradbench {
namespace {

/// The weighted errors of one observation. A camera is its rotation (3), center (3), focal length, principal point (2) and
/// radial distortion (2).
inline constexpr auto reprojection = [](auto camera, auto point, auto weight, auto feature) {
  std::array const r{camera(0), camera(1), camera(2)};
  std::array const x{point(0) - camera(3), point(1) - camera(4), point(2) - camera(5)};
  auto const dot = [](auto const& a, auto const& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; };

  // The rotation by Rodrigues, with the limits of sin(angle) / angle and (1 - cos(angle)) / angle^2 at 0.
  auto const squared = dot(r, r);
  auto const turns = squared > 0.0;
  auto const angle = ct::sqrt(ct::select(turns, squared, 1.0));
  auto const cosine = ct::select(turns, ct::cos(angle), 1.0), sine = ct::select(turns, ct::sin(angle) / angle, 1.0),
             rest = ct::select(turns, (1.0 - ct::cos(angle)) / (angle * angle), 0.5) * dot(r, x);
  auto const rotated = [&](std::size_t i, std::size_t j, std::size_t k) {
    return x[i] * cosine + (r[j] * x[k] - r[k] * x[j]) * sine + r[i] * rest;
  };

  auto const depth = rotated(2, 0, 1), u = rotated(0, 1, 2) / depth, v = rotated(1, 2, 0) / depth, rho = u * u + v * v;
  auto const scale = camera(6) * (1.0 + camera(9) * rho + camera(10) * (rho * rho));
  return ct::expr<double, 2>{weight * (scale * u + camera(7) - feature(0)), weight * (scale * v + camera(8) - feature(1))};
};

inline constexpr auto errors = [](auto cameras, auto points, auto weights, auto features, auto camera, auto point) {
  return std::tuple(
      ct::vmap(reprojection)(ct::gather(cameras, camera), ct::gather(points, point), weights, features), 1.0 - weights * weights);
};

/// The entries of the Jacobian that are not zero: 15 for each coordinate of an observation, and one for each weight.
inline constexpr auto entries = [](auto cameras, auto points, auto weights, auto features, auto camera, auto point) {
  auto const [by_camera, by_point, by_weight] = ct::vmap(ct::jacobian<0, 1, 2>(reprojection))(
      ct::gather(cameras, camera), ct::gather(points, point), weights, features);
  return std::tuple(ct::concatenate<2>(by_camera, by_point, ct::reshape<"p", 2, 1>(by_weight)), -2.0 * weights);
};

struct state {
  ct::tensor<double, "n", 11> cameras;
  ct::tensor<double, "m", 3> points;
  ct::tensor<double, "p"> weights;
  ct::tensor<double, "p", 2> features;
  ct::tensor<std::int64_t, "p"> camera, point;
  ct::tensor<double, "p", 2> errors;
  ct::tensor<double, "p"> weight_errors;
};
/// In compressed rows.
struct jacobian_state {
  ct::tensor<double, "p", 2, 15> values;
  ct::tensor<double, "p"> weight_values;
  std::vector<std::int64_t> rows, columns;
};

std::shared_ptr<state> read(json const& input) {
  auto const n = read_count(member(input, "n")), m = read_count(member(input, "m")), p = read_count(member(input, "p"));
  vector const cam = read_vector(member(input, "cam")), x = read_vector(member(input, "x")),
               feat = read_vector(member(input, "feat"));
  require(cam.size() == 11 && x.size() == 3 && feat.size() == 2, "cam, x and feat must have 11, 3 and 2 numbers");
  require(n > 0 && m > 0 && p > 0, "n, m and p must be at least 1");
  using observations = ct::tensor<double, "p">;
  using numbers = ct::tensor<std::int64_t, "p">;
  auto s = std::make_shared<state>(state{ct::tensor<double, "n", 11>(n), ct::tensor<double, "m", 3>(m), observations(p),
                                         ct::tensor<double, "p", 2>(p), numbers(p), numbers(p), ct::tensor<double, "p", 2>(p),
                                         observations(p)});
  for (std::size_t i = 0; i < n; ++i) std::copy(cam.begin(), cam.end(), s->cameras.data() + 11 * i);
  for (std::size_t i = 0; i < m; ++i) std::copy(x.begin(), x.end(), s->points.data() + 3 * i);
  s->weights.fill(read_number(member(input, "w")));
  for (std::size_t i = 0; i < p; ++i) {
    std::copy(feat.begin(), feat.end(), s->features.data() + 2 * i);
    s->camera.data()[i] = static_cast<std::int64_t>(i % n), s->point.data()[i] = static_cast<std::int64_t>(i % m);
  }
  return s;
}

task objective(json const& input) {
  auto s = read(input);
  return {prepare(ct::compiled(errors), std::tie(s->errors, s->weight_errors), s->cameras, s->points, s->weights, s->features,
                  s->camera, s->point),
          [s](json& to) {
            auto const p = static_cast<double>(s->weights.size());
            json& reprojection_error = member(to, "reproj_error");
            write(member(reprojection_error, "elements"), {s->errors.data(), 2});
            write(member(reprojection_error, "repeated"), p);
            json& weight_error = member(to, "w_err");
            write(member(weight_error, "element"), s->weight_errors.data()[0]);
            write(member(weight_error, "repeated"), p);
          }};
}

task jacobian(json const& input) {
  auto s = read(input);
  auto const p = static_cast<std::size_t>(s->weights.size());
  auto j = std::make_shared<jacobian_state>(jacobian_state{ct::tensor<double, "p", 2, 15>(p), ct::tensor<double, "p">(p), {}, {}});
  auto const points = 11 * s->cameras.extent(0), weights = points + 3 * s->points.extent(0);
  j->rows.push_back(0);
  for (std::size_t i = 0; i < p; ++i)
    for (int coordinate = 0; coordinate < 2; ++coordinate) {
      for (std::int64_t k = 0; k < 11; ++k) j->columns.push_back(11 * s->camera.data()[i] + k);
      for (std::int64_t k = 0; k < 3; ++k) j->columns.push_back(points + 3 * s->point.data()[i] + k);
      j->columns.push_back(weights + static_cast<std::int64_t>(i));
      j->rows.push_back(static_cast<std::int64_t>(j->columns.size()));
    }
  for (std::size_t i = 0; i < p; ++i) {
    j->columns.push_back(weights + static_cast<std::int64_t>(i));
    j->rows.push_back(static_cast<std::int64_t>(j->columns.size()));
  }
  return {prepare(ct::compiled(entries), std::tie(j->values, j->weight_values), s->cameras, s->points, s->weights, s->features,
                  s->camera, s->point),
          [s, j](json& to) {
            std::vector<double> values(j->values.begin(), j->values.end());
            values.insert(values.end(), j->weight_values.begin(), j->weight_values.end());
            auto const first_and_last = [](auto const& list) { // the first 30 entries, and the last
              std::remove_cvref_t<decltype(list)> result(list.begin(), list.begin() + std::min<std::ptrdiff_t>(30, std::ssize(list)));
              result.push_back(list.back());
              return result;
            };
            write(member(to, "vals"), first_and_last(values));
            write(member(to, "rows"), first_and_last(j->rows));
            write(member(to, "cols"), first_and_last(j->columns));
          }};
}

} // namespace

problem ba() { return {{"objective", objective}, {"jacobian", jacobian}}; }

} // namespace gradbench
