// SPDX-License-Identifier: BSL-1.0
// Finds the pose of a camera from the pixels of eight known points, by Gauss-Newton steps on SE(3).
#include <cotangent/cotangent.hpp>
#include <cotangent/geometry.hpp>
#include <cotangent/linalg.hpp>

#include <cmath>
#include <cstdio>

namespace ct = cotangent;

// [camera]
using points = ct::tensor<double, 8, 3>;
using pixels = ct::tensor<double, 8, 2>;
using pose = ct::tensor<double, 4, 4>;

using optics = ct::tensor<double, 9>; // fx, fy, cx, cy, and the coefficients of the lens

/// Where a camera of that pose, with a lens that distorts, sees the points.
inline constexpr auto seen = [](auto camera, auto x, auto o) {
  return ct::pinhole_project(ct::se3_act(camera, x), o(ct::range<0, 4>), o(ct::range<4, 9>));
};

/// One step: the motion d that is the least-squares solution of J d = -r, after the present pose.
inline constexpr auto step = [](auto camera, auto x, auto o, auto observed) {
  auto const residual = [](auto d, auto from, auto where, auto with, auto pixel) {
    return ct::flatten(seen(ct::se3_compose(ct::se3_exp(d), from), where, with) - pixel);
  };
  auto const still = 0 * o(ct::range<0, 6>); // exp and its derivatives are exact at 0
  auto const r = residual(still, camera, x, o, observed);
  auto const j = ct::jacobian<0>(residual)(still, camera, x, o, observed);
  auto const d = ct::solve(ct::matmul(ct::transpose(j), j), -ct::matmul(r, j));
  return ct::se3_compose(ct::se3_exp(d), camera);
};
// [/camera]

int main() {
  points x;
  for (int k = 0; k < 8; ++k)
    for (int i = 0; i < 3; ++i) x(k, i) = (k >> i & 1) + 0.1 * i * k;
  ct::tensor<double, 6> const motion{-0.3, 0.2, 4, 0.4, -0.5, 0.3};
  pose const truth = ct::compiled([](auto xi) { return ct::se3_exp(xi); })(motion);
  optics const lens{500, 510, 320, 240, -0.2, 0.05, 1e-3, -5e-4, 0};
  pixels const observed = ct::compiled(seen)(truth, x, lens);

  pose camera{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 3}, {0, 0, 0, 1}};
  double off = 1;
  int steps = 0;
  for (; off > 1e-10 && steps < 20; ++steps) {
    camera = ct::compiled(step)(camera, x, lens, observed);
    off = 0;
    for (int k = 0; k < 16; ++k) off = std::fmax(off, std::fabs(camera.data()[k] - truth.data()[k]));
  }
  std::printf("pose found in %d steps, off by %.1g\n", steps, off);
  return off < 1e-10 && steps < 10 ? 0 : 1;
}
