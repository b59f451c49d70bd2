// SPDX-License-Identifier: BSL-1.0
// Newton's method for a root of z^3 + a z = b, with a data-dependent number of iterations. Its gradient through the iterations
// equals the gradient of the implicit function theorem: with f = z^3 + a z - b, dz = -(df/da da + df/db db) / (df/dz).
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include <cmath>
#include <cstdio>

namespace ct = cotangent;

int main() {
  // [loop]
  ct::dynamic::graph g;
  auto const a = g.input<double>("a"), b = g.input<double>("b");

  auto const residual = [&](auto z) { return z * z * z + a * z - b; };
  auto const root =
      ct::while_loop([&](auto i, auto z) { return ct::abs(residual(z)) > 1e-9 && i < 50; },
                     [&](auto, auto z) { return z - residual(z) / (3.0 * z * z + a); }, g.constant(1.0));

  auto const gradient = g.gradient({root}, {a, b});
  auto program = g.compile({root, gradient[0], gradient[1]});
  // [/loop]

  bool right = true;
  // [run]
  for (double const to : {2.0, 30.0, 4000.0}) {
    program.bind(a, 1.5);
    program.bind(b, double(to));
    program.run();
    double const z = program.value(root), da = program.value(gradient[0]), db = program.value(gradient[1]);
    // [/run]
    double const slope = 3 * z * z + 1.5; // df/dz
    std::printf("b = %6g: root %.9f, dz/da %.9f (%.9f), dz/db %.9f (%.9f)\n", to, z, da, -z / slope, db,
                1 / slope);
    right = right && std::abs(z * z * z + 1.5 * z - to) < 1e-8 && std::abs(da + z / slope) < 1e-8 &&
            std::abs(db - 1 / slope) < 1e-8;
  }
  return right ? 0 : 1;
}
