// SPDX-License-Identifier: BSL-1.0
#include "tool.hpp"

#include <algorithm>

namespace gradbench {
namespace {

inline constexpr int bones = 22; // the wrist, five fingers of four bones, the forearm

/// The product of two affine transforms, of three rows and four columns each.
inline constexpr auto composed = [](auto a, auto b) {
  auto const translation = ct::select(ct::iota<4>() == 3, a(ct::all, ct::range<3, 4>), 0.0);
  return ct::matmul(a(ct::all, ct::range<0, 3>), b) + translation;
};

/// A transform after a rotation about its x axis.
inline constexpr auto bent = [](auto a, auto angle) {
  auto const s = ct::sin(angle), c = ct::cos(angle);
  auto const y = a(ct::all, 1), z = a(ct::all, 2);
  return ct::stack<1>(a(ct::all, 0), c * y + s * z, c * z - s * y, a(ct::all, 3));
};
/// A transform after a rotation about its z axis.
inline constexpr auto turned = [](auto a, auto angle) {
  auto const s = ct::sin(angle), c = ct::cos(angle);
  auto const x = a(ct::all, 0), y = a(ct::all, 1);
  return ct::stack<1>(c * x + s * y, c * y - s * x, a(ct::all, 2), a(ct::all, 3));
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

/// The skinning transforms of a finger, side by side. Its first bone is fixed to the wrist; the others bend, and the second turns.
inline constexpr auto finger = [](auto angles, auto wrist, auto relatives, auto inverses) {
  auto const a = composed(wrist, relatives(0));
  auto const b = composed(a, bent(turned(relatives(1), angles(1)), angles(0)));
  auto const c = composed(b, bent(relatives(2), angles(2)));
  auto const d = composed(c, bent(relatives(3), angles(3)));
  return ct::concatenate<1>(composed(a, inverses(0)), composed(b, inverses(1)), composed(c, inverses(2)), composed(d, inverses(3)));
};
/// The part of the vertices that a finger moves, rotated with the hand: rows of weights times coordinates, times its transforms.
inline constexpr auto moved_by_finger = [](auto angles, auto rows, auto rotation_of_hand, auto... model) {
  return ct::matmul(rows, ct::transpose(ct::matmul(rotation_of_hand, finger(angles, model...))));
};
/// Rotated, if it is mirrored also reflected, and moved.
inline constexpr auto placed = [](auto pose, auto mirror, auto hand) {
  return ct::matmul(hand, ct::transpose(rotation(pose(ct::range<0, 3>)) * mirror)) + pose(ct::range<3, 6>);
};

inline constexpr auto pose_of = [](auto theta) { return theta(ct::range<0, 6>); };
inline constexpr auto angles_of = [](auto theta) { return ct::reshape<5, 4>(theta(ct::range<6, 26>)); };
inline constexpr auto fingers_of = [](auto transforms) { return ct::reshape<5, 4, 3, 4>(transforms(ct::range<1, 21>)); };
inline constexpr auto rows_of = [](auto positions, auto weights) {
  return ct::reshape<"v", 4 * bones>(ct::reshape<"v", bones, 1>(weights) * ct::reshape<"v", 1, 4>(positions));
};

/// The vertices before the hand is placed.
inline constexpr auto skinned = [](auto theta, auto rows, auto relatives, auto inverses) {
  auto const wrist = relatives(0);
  auto const fingers = ct::vmap<0, ct::unmapped, 0, 0>(finger)(angles_of(theta), wrist, fingers_of(relatives), fingers_of(inverses));
  auto const transforms = ct::concatenate<1>(composed(wrist, inverses(0)), ct::reshape<3, 80>(ct::permute<1, 0, 2>(fingers)),
                                             composed(composed(wrist, relatives(21)), inverses(21)));
  return ct::matmul(rows, ct::transpose(transforms));
};
inline constexpr auto posed = [](auto theta, auto positions, auto weights, auto mirror, auto... model) {
  return placed(pose_of(theta), mirror, skinned(theta, rows_of(positions, weights), model...));
};
/// The vertices and their derivatives. The angles of a finger move what the finger adds, and nothing else.
inline constexpr auto posed_with_jacobian = [](auto theta, auto positions, auto weights, auto mirror, auto relatives, auto inverses) {
  auto const pose = pose_of(theta);
  auto const rows = rows_of(positions, weights);
  auto const hand = skinned(theta, rows, relatives, inverses);
  auto const by_angles = ct::vmap<0, 1, ct::unmapped, ct::unmapped, 0, 0>(ct::jacobian(moved_by_finger))(
      angles_of(theta), ct::reshape<"v", 5, 16>(rows(ct::all, ct::range<4, 84>)), rotation(pose(ct::range<0, 3>)) * mirror,
      relatives(0), fingers_of(relatives), fingers_of(inverses));
  return std::pair(placed(pose, mirror, hand), ct::concatenate<2>(ct::jacobian(placed)(pose, mirror, hand),
                                                                  ct::reshape<"v", 3, 20>(ct::permute<1, 2, 0, 3>(by_angles))));
};

/// Points on triangles, at barycentric coordinates u and v, of a tensor with a row for each vertex.
inline constexpr auto points_on = [](auto vertices, auto u, auto v, auto corners) {
  auto const part = [&](int k, auto weight) {
    auto const corner = ct::gather(vertices, corners(k));
    if constexpr (corner.rank() == 2) return corner * ct::reshape<"p", 1>(weight);
    else return corner * ct::reshape<"p", 1, 1>(weight);
  };
  return part(0, u) + part(1, v) + part(2, 1.0 - u - v);
};

inline constexpr auto simple_errors = [](auto vertices, auto points, auto vertex) { return points - ct::gather(vertices, vertex); };
inline constexpr auto jacobian_of_simple_errors = [](auto derivatives, auto vertex) { return ct::gather(-derivatives, vertex); };
inline constexpr auto errors = [](auto vertices, auto points, auto u, auto v, auto corners) {
  return points - points_on(vertices, u, v, corners);
};
inline constexpr auto jacobian_of_errors = [](auto vertices, auto derivatives, auto u, auto v, auto corners) {
  auto const ones = ct::ones<double, "p">();
  auto const by = [&](auto function, auto x) { return -ct::reshape<"p", 3, 1>(ct::jvp(function)(x, ones).second); };
  return ct::concatenate<2>(by([&](auto x) { return points_on(vertices, x, v, corners); }, u),
                            by([&](auto x) { return points_on(vertices, u, x, corners); }, v),
                            points_on(-derivatives, u, v, corners));
};

struct state {
  bool on_triangles;
  ct::tensor<double, 26> theta;
  ct::tensor<double, "p"> u, v;
  ct::tensor<double, "p", 3> points, errors;
  ct::tensor<double, "v", 4> positions;
  ct::tensor<double, "v", 3> vertices;
  ct::tensor<double, "v", 3, 26> derivatives;
  ct::tensor<double, "v", bones> weights;
  ct::tensor<std::int64_t, 3, "p"> corners;
  ct::tensor<std::int64_t, "p"> vertex;
  ct::tensor<double, 3> mirror;
  ct::tensor<double, bones, 3, 4> relatives, inverses;
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
  require(parents.size() == bones, "a model must have 22 bones");
  for (std::int64_t b = 0; b < bones; ++b) {
    bool const on_wrist = b == bones - 1 || b % 4 == 1;
    require(parents[static_cast<std::size_t>(b)] == (b == 0 ? -1 : on_wrist ? 0 : b - 1),
            "bones must be a wrist, five fingers of four bones each, which follow one another, and a forearm");
  }
  require(p > 0 && points.extent(0) == static_cast<std::int64_t>(p) && points.extent(1) == 3,
          "points must have three numbers for each correspondence");
  require(!on_triangles || (us.extent(0) == static_cast<std::int64_t>(p) && us.extent(1) == 2),
          "us must be empty, or have two numbers for each correspondence");
  require(positions.extent(1) == 4 && weights.extent(0) == positions.extent(0) && weights.extent(1) == bones,
          "base_positions and weights must have 4 and 22 numbers for each vertex");

  // Only vertices with a correspondence are posed.
  std::vector<std::int64_t> number(vertices, -1), used;
  auto const number_of = [&](std::int64_t vertex) {
    require(vertex >= 0 && vertex < static_cast<std::int64_t>(vertices), "a vertex must be a position in base_positions");
    auto& n = number[static_cast<std::size_t>(vertex)];
    if (n < 0) {
      n = std::ssize(used);
      used.push_back(vertex);
    }
    return n;
  };
  ct::tensor<std::int64_t, 3, "p"> corners(p);
  ct::tensor<std::int64_t, "p"> vertex(p);
  auto const triangles = on_triangles ? read_list(member(model, "triangles")) : std::vector<json const*>();
  for (std::size_t i = 0; i < p; ++i) {
    if (!on_triangles) {
      vertex.data()[i] = number_of(correspondences[i]);
      continue;
    }
    require(correspondences[i] >= 0 && correspondences[i] < std::ssize(triangles), "a correspondence must be a position in triangles");
    indices const triangle = read_indices(*triangles[static_cast<std::size_t>(correspondences[i])]);
    require(triangle.size() == 3, "a triangle must have three vertices");
    for (std::size_t k = 0; k < 3; ++k) corners.data()[k * p + i] = number_of(triangle[k]);
  }

  using column = ct::tensor<double, "p">;
  using coordinates = ct::tensor<double, "p", 3>;
  auto s = std::make_shared<state>(state{on_triangles, {}, column(p), column(p), coordinates(p), coordinates(p),
                                         ct::tensor<double, "v", 4>(used.size()), ct::tensor<double, "v", 3>(used.size()),
                                         ct::tensor<double, "v", 3, 26>(used.size()), ct::tensor<double, "v", bones>(used.size()),
                                         std::move(corners), std::move(vertex), {1, 1, 1}, {}, {},
                                         ct::tensor<double, "p", 3, 26>(on_triangles ? 0 : p),
                                         ct::tensor<double, "p", 3, 28>(on_triangles ? p : 0)});
  std::copy(theta.begin(), theta.end(), s->theta.begin());
  std::copy(points.begin(), points.end(), s->points.begin());
  read_transforms(s->relatives, member(model, "base_relatives"));
  read_transforms(s->inverses, member(model, "inverse_base_absolutes"));
  if (read_flag(member(model, "is_mirrored"))) s->mirror(0) = -1;

  for (std::size_t i = 0; on_triangles && i < p; ++i) s->u.data()[i] = us.data()[2 * i], s->v.data()[i] = us.data()[2 * i + 1];
  for (std::size_t k = 0; k < used.size(); ++k) {
    auto const from = static_cast<std::size_t>(used[k]);
    std::copy_n(positions.data() + 4 * from, 4, s->positions.data() + 4 * k);
    std::copy_n(weights.data() + bones * from, bones, s->weights.data() + bones * k);
  }

  return s;
}

task objective(json const& input) {
  auto s = read(input);
  auto pose = prepare(ct::compiled(posed), std::tie(s->vertices), s->theta, s->positions, s->weights, s->mirror, s->relatives,
                      s->inverses);
  auto compare = s->on_triangles
      ? prepare(ct::compiled(errors), std::tie(s->errors), s->vertices, s->points, s->u, s->v, s->corners)
      : prepare(ct::compiled(simple_errors), std::tie(s->errors), s->vertices, s->points, s->vertex);
  return {[=] { pose(), compare(); }, [s](json& to) { write(to, {s->errors.data(), static_cast<std::size_t>(s->errors.size())}); }};
}
task jacobian(json const& input) {
  auto s = read(input);
  auto pose = prepare(ct::compiled(posed_with_jacobian), std::tie(s->vertices, s->derivatives), s->theta, s->positions, s->weights,
                      s->mirror, s->relatives, s->inverses);
  auto compare = s->on_triangles
      ? prepare(ct::compiled(jacobian_of_errors), std::tie(s->jacobian), s->vertices, s->derivatives, s->u, s->v, s->corners)
      : prepare(ct::compiled(jacobian_of_simple_errors), std::tie(s->simple_jacobian), s->derivatives, s->vertex);
  return {[=] { pose(), compare(); }, [s](json& to) {
            auto const count = 3 * static_cast<std::size_t>(s->points.extent(0));
            if (s->on_triangles) write(to, s->jacobian.data(), count, 28);
            else write(to, s->simple_jacobian.data(), count, 26);
          }};
}

} // namespace

problem ht() { return {{"objective", objective}, {"jacobian", jacobian}}; }

} // namespace gradbench
