// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: case_of: all branches must give the same element types and shapes
// ERRORS: 1
// LINES: clang 30
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include <array>
#include <tuple>

namespace ct = cotangent;

void build(ct::dynamic::graph& g) {
  auto const x = g.input<double>("x");
#ifdef REFUSED
  (void)ct::cond(x > 0.0, [](auto z) { return z; }, [](auto z) { return std::array{std::get<0>(z)}; })(std::tuple(x, x));
#else
  (void)ct::cond(x > 0.0, [](auto z) { return z; }, [](auto z) { return std::array{std::get<0>(z), std::get<1>(z)}; })(std::tuple(x, x));
#endif
}

int main() {
  ct::dynamic::graph g;
  build(g);
}
