// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: case_of, cond: calls with trees must be declared; include cotangent/cotangent.hpp
// ERRORS: 1
#ifndef REFUSED
#  include <cotangent/cotangent.hpp>
#endif
#include <cotangent/dynamic.hpp>

#include <tuple>

namespace ct = cotangent;

void build(ct::dynamic::graph& g) {
  auto const x = g.input<double>("x");
  (void)ct::cond(x > 0.0, [](auto z) { return z; }, [](auto z) { return z; })(std::tuple(x, x));
}

int main() {
  ct::dynamic::graph g;
  build(g);
}
