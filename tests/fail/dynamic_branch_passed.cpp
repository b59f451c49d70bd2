// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: case_of: a value that is passed through must have the element type and shape of its result
// ERRORS: 1
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

#include <cstdint>

namespace ct = cotangent;

void build(ct::dynamic::graph& g) {
  auto const x = g.input<double>("x", {3});
  auto const k = g.input<std::int64_t>("k");
#ifdef REFUSED
  (void)ct::case_of(k, [](auto z) { return ct::convert<float>(z); })(x);
#else
  (void)ct::case_of(k, [](auto z) { return ct::convert<double>(z); })(x);
#endif
}

int main() {
  ct::dynamic::graph g;
  build(g);
}
