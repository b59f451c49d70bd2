// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: case_of: all branches must give the same element types and shapes
// ERRORS: 1
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

namespace ct = cotangent;

void build(ct::dynamic::graph& g) {
  auto const x = g.input<double>("x", {3});
#ifdef REFUSED
  (void)ct::cond(ct::sum(x) > 0.0, [](auto z) { return z; }, [](auto z) { return ct::convert<float>(z); })(x);
#else
  (void)ct::cond(ct::sum(x) > 0.0, [](auto z) { return z; }, [](auto z) { return ct::convert<double>(z); })(x);
#endif
}

int main() {
  ct::dynamic::graph g;
  build(g);
}
