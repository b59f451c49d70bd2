// SPDX-License-Identifier: BSL-1.0
#include "tool.hpp"

#include <algorithm>

namespace gradbench {
namespace {

inline constexpr int bones = 22, rounds = 3; // a bone has at most 2^3 - 1 ancestors

/// Products of affine transforms, of three rows and four columns each.
inline constexpr auto composed = [](auto a, auto b) {
  auto const linear = ct::sum(ct::reshape<bones, 3, 3, 1>(a(ct::all, ct::all, ct::range<0, 3>)) * ct::reshape<bones, 1, 3, 4>(b), ct::axes<2>);
  return linear + ct::select(ct::iota<4>() == 3, a(ct::all, ct::all, ct::range<3, 4>), 0.0);
};

/// The rotation about a vector; none for vectors shorter than 0.0001.
inline constexpr auto rotation = [](auto r) {
  auto const squared = r(0) * r(0) + r(1) * r(1) + r(2) * r(2);
  auto const turns = squared >= 1e-8;
  auto const norm = ct::sqrt(ct::select(turns, squared, 1.0));
  auto const x = r(0) / norm, y = r(1) / norm, z = r(2) / norm;
  auto const s = ct::select(turns, ct::sin(norm), 0.0), c = ct::select(turns, ct::cos(norm), 1.0), d = 1.0 - c;
  return ct::expr<double, 3, 3>{{x * x * d + c, x * y * d - z * s, x * z * d + y * s},
                                {x * y * d + z * s, y * y * d + c, y * z * d - x * s},
                                {x * z * d - y * s, z * y * d + x * s, z * z * d + c}};
};

/// The skinning transforms of all bones, one after the other in 88 columns, after the global rotation.
inline constexpr auto transforms = [](auto theta, auto mirror, auto relatives, auto inverses, auto flexion, auto abduction, auto parents) {
  auto const angles = ct::concatenate<0>(theta, ct::zeros<1>()); // the last one is of the bones that do not bend
  auto const bend = ct::reshape<bones, 1>(ct::gather(angles, flexion)), turn = ct::reshape<bones, 1>(ct::gather(angles, abduction));
  auto const sx = ct::sin(bend), cx = ct::cos(bend), sz = ct::sin(turn), cz = ct::cos(turn);
  auto const a = relatives(ct::all, ct::all, 0), b = relatives(ct::all, ct::all, 1), c = relatives(ct::all, ct::all, 2);
  auto const along = cz * b - sz * a;
  auto absolutes = ct::stack<2>(cz * a + sz * b, cx * along + sx * c, cx * c - sx * along, relatives(ct::all, ct::all, 3));
  for (int k = 0; k < rounds; ++k) { // row 22 is the identity, the ancestor of the roots
    auto const identity = ct::select(ct::reshape<1, 3, 1>(ct::iota<3>()) == ct::iota<4>(), 1.0, 0.0);
    absolutes = composed(ct::gather(ct::concatenate<0>(absolutes, identity), parents(k)), absolutes);
  }
  auto const turned = ct::matmul(rotation(theta(ct::range<0, 3>)) * mirror,
                                 ct::reshape<3, 4 * bones>(ct::permute<1, 0, 2>(composed(absolutes, inverses))));
  return turned;
};

/// Rows of weights times coordinates: the position of a vertex is such a row times the transforms.
inline constexpr auto rows = [](auto positions, auto weights, auto vertex) {
  return ct::reshape<"p", 4 * bones>(ct::reshape<"p", bones, 1>(ct::gather(weights, vertex)) *
                                     ct::reshape<"p", 1, 4>(ct::gather(positions, vertex)));
};

inline constexpr auto simple_errors = [](auto theta, auto points, auto positions, auto weights, auto vertex, auto... model) {
  auto const hand = ct::matmul(rows(positions, weights, vertex), ct::transpose(transforms(theta, model...)));
  return points - (hand + theta(ct::range<3, 6>));
};
/// Points on triangles, at barycentric coordinates u and v.
inline constexpr auto errors = [](auto theta, auto u, auto v, auto points, auto positions, auto weights, auto corners, auto... model) {
  auto const column = [](auto x) { return ct::reshape<"p", 1>(x); };
  auto const of = [&](auto corner) { return rows(positions, weights, corner); };
  auto const t = ct::transpose(transforms(theta, model...));
  auto const blended = column(u) * of(corners(0)) + column(v) * of(corners(1)) + column(1.0 - u - v) * of(corners(2));
  return points - (ct::matmul(blended, t) + theta(ct::range<3, 6>) * column(1.0 + 0.0 * u));
};

inline constexpr auto jacobian_of_errors = [](auto theta, auto u, auto v, auto... rest) {
  auto const ones = ct::ones<double, "p">();
  auto const column = [](auto x) { return ct::reshape<"p", 3, 1>(x); };
  return ct::concatenate<2>(column(ct::jvp<1>(errors)(theta, u, v, rest..., ones).second),
                            column(ct::jvp<2>(errors)(theta, u, v, rest..., ones).second),
                            ct::jacobian(errors)(theta, u, v, rest...));
};

struct state {
  bool on_triangles;
  ct::tensor<double, 26> theta;
  ct::tensor<double, "p"> u, v;
  ct::tensor<double, "p", 3> points, errors;
  ct::tensor<double, "v", 4> positions;
  ct::tensor<double, "v", bones> weights;
  ct::tensor<std::int64_t, 3, "p"> corners;
  ct::tensor<std::int64_t, "p"> vertex;
  ct::tensor<double, 3> mirror;
  ct::tensor<double, bones, 3, 4> relatives, inverses;
  ct::tensor<std::int64_t, bones> flexion, abduction;
  ct::tensor<std::int64_t, rounds, bones> parents;
  ct::tensor<double, "p", 3, 26> simple_jacobian;
  ct::tensor<double, "p", 3, 28> jacobian;
};

void read_transforms(ct::tensor<double, bones, 3, 4>& to, json const& input) {
  auto const list = read_list(input);
  require(list.size() == bones, "a model must have 22 bones");
  for (std::size_t b = 0; b < bones; ++b) {
    matrix const m = read_matrix(*list[b]);
    require(m.extent(0) == 4 && m.extent(1) == 4, "a transform must have four rows of four numbers");
    std::copy(m.begin(), m.begin() + 12, to.data() + 12 * b);
  }
}

std::shared_ptr<state> read(json const& input) {
  json const &data = member(input, "data"), &model = member(data, "model");
  vector const theta = read_vector(member(input, "theta"));
  matrix const us = read_matrix(member(input, "us")), points = read_matrix(member(data, "points")),
               positions = read_matrix(member(model, "base_positions")), weights = read_matrix(member(model, "weights"));
  indices const correspondences = read_indices(member(data, "correspondences")), parents = read_indices(member(model, "parents"));
  auto const p = correspondences.size(), vertices = static_cast<std::size_t>(positions.extent(0));
  bool const on_triangles = us.extent(0) > 0;
  require(theta.size() == 26, "theta must have 26 numbers");
  require(p > 0 && points.extent(0) == static_cast<std::int64_t>(p) && points.extent(1) == 3,
          "points must have three numbers for each correspondence");
  require(!on_triangles || (us.extent(0) == static_cast<std::int64_t>(p) && us.extent(1) == 2),
          "us must be empty, or have two numbers for each correspondence");
  require(positions.extent(1) == 4 && weights.extent(0) == positions.extent(0) && weights.extent(1) == bones,
          "base_positions and weights must have 4 and 22 numbers for each vertex");

  using column = ct::tensor<double, "p">;
  using coordinates = ct::tensor<double, "p", 3>;
  auto s = std::make_shared<state>(state{on_triangles, {}, column(p), column(p), coordinates(p), coordinates(p),
                                         ct::tensor<double, "v", 4>(vertices), ct::tensor<double, "v", bones>(vertices),
                                         ct::tensor<std::int64_t, 3, "p">(p), ct::tensor<std::int64_t, "p">(p), {1, 1, 1}, {}, {},
                                         {}, {}, {}, ct::tensor<double, "p", 3, 26>(on_triangles ? 0 : p),
                                         ct::tensor<double, "p", 3, 28>(on_triangles ? p : 0)});
  std::copy(theta.begin(), theta.end(), s->theta.begin());
  std::copy(points.begin(), points.end(), s->points.begin());
  std::copy(positions.begin(), positions.end(), s->positions.begin());
  std::copy(weights.begin(), weights.end(), s->weights.begin());
  read_transforms(s->relatives, member(model, "base_relatives"));
  read_transforms(s->inverses, member(model, "inverse_base_absolutes"));
  if (read_flag(member(model, "is_mirrored"))) s->mirror(0) = -1;

  auto const require_vertex = [&](std::int64_t k) {
    require(k >= 0 && k < static_cast<std::int64_t>(vertices), "a vertex must be a position in base_positions");
    return k;
  };
  auto const triangles = on_triangles ? read_list(member(model, "triangles")) : std::vector<json const*>();
  for (std::size_t i = 0; i < p; ++i) {
    if (!on_triangles) {
      s->vertex.data()[i] = require_vertex(correspondences[i]);
      continue;
    }
    s->u.data()[i] = us.data()[2 * i], s->v.data()[i] = us.data()[2 * i + 1];
    require(correspondences[i] >= 0 && correspondences[i] < std::ssize(triangles), "a correspondence must be a position in triangles");
    indices const triangle = read_indices(*triangles[static_cast<std::size_t>(correspondences[i])]);
    require(triangle.size() == 3, "a triangle must have three vertices");
    for (std::size_t k = 0; k < 3; ++k) s->corners.data()[k * p + i] = require_vertex(triangle[k]);
  }

  // Angles: each finger bends in three bones, and turns in the first of these.
  s->flexion.fill(26), s->abduction.fill(26);
  for (std::int64_t finger = 0; finger < 5; ++finger) {
    auto const bone = 4 * finger + 2, angle = 4 * finger + 6;
    s->flexion(bone) = angle, s->abduction(bone) = angle + 1, s->flexion(bone + 1) = angle + 2, s->flexion(bone + 2) = angle + 3;
  }
  // In round k the ancestor 2^k above.
  require(parents.size() == bones, "a model must have 22 bones");
  for (std::int64_t b = 0; b < bones; ++b) {
    auto const parent = parents[static_cast<std::size_t>(b)];
    require(parent >= -1 && parent < b, "the parent of a bone must precede it");
    s->parents(0, b) = parent < 0 ? bones : parent;
  }
  auto const above = [&](int k, std::int64_t b) { return b == bones ? b : s->parents(k, b); };
  for (int k = 0; k + 1 < rounds; ++k)
    for (std::int64_t b = 0; b < bones; ++b) s->parents(k + 1, b) = above(k, above(k, b));
  for (std::int64_t b = 0; b < bones; ++b)
    require(above(rounds - 1, above(rounds - 1, b)) == bones, "a bone must have fewer than 8 ancestors");
  return s;
}

task objective(json const& input) {
  auto s = read(input);
  auto run = s->on_triangles
      ? prepare(ct::compiled(errors), std::tie(s->errors), s->theta, s->u, s->v, s->points, s->positions, s->weights, s->corners,
                s->mirror, s->relatives, s->inverses, s->flexion, s->abduction, s->parents)
      : prepare(ct::compiled(simple_errors), std::tie(s->errors), s->theta, s->points, s->positions, s->weights, s->vertex, s->mirror,
                s->relatives, s->inverses, s->flexion, s->abduction, s->parents);
  return {run, [s](json& to) { write(to, {s->errors.data(), static_cast<std::size_t>(s->errors.size())}); }};
}
task jacobian(json const& input) {
  auto s = read(input);
  auto run = s->on_triangles
      ? prepare(ct::compiled(jacobian_of_errors), std::tie(s->jacobian), s->theta, s->u, s->v, s->points, s->positions, s->weights,
                s->corners, s->mirror, s->relatives, s->inverses, s->flexion, s->abduction, s->parents)
      : prepare(ct::jacobian(simple_errors), std::tie(s->simple_jacobian), s->theta, s->points, s->positions, s->weights, s->vertex,
                s->mirror, s->relatives, s->inverses, s->flexion, s->abduction, s->parents);
  return {run, [s](json& to) {
            auto const count = 3 * static_cast<std::size_t>(s->points.extent(0));
            if (s->on_triangles) write(to, s->jacobian.data(), count, 28);
            else write(to, s->simple_jacobian.data(), count, 26);
          }};
}

} // namespace

problem ht() { return {{"objective", objective}, {"jacobian", jacobian}}; }

} // namespace gradbench
