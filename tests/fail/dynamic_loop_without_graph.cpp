// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: loop: of a run-time graph, at least one first value must be an expression of that graph, such as g.constant\(0.0\)
// ERRORS: 1
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include <tuple>

namespace ct = cotangent;

void build(ct::dynamic::graph& g) {
  auto const x = g.input<double>("x", {3});
#ifdef REFUSED
  auto const first = std::tuple(ct::zeros<double, 3>(), 0.0);
#else
  auto const first = std::tuple(ct::zeros<double, 3>(), g.constant(0.0));
#endif
  (void)ct::for_loop(3, [&](auto, auto s) { return std::tuple(std::get<0>(s) + x, std::get<1>(s) + 1.0); }, first);
}

int main() {
  ct::dynamic::graph g;
  build(g);
}
