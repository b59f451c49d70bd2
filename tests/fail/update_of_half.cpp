// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: update: a parameter of half precision must be updated as float
// ERRORS: 1
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

namespace ct = cotangent;

void build(ct::dynamic::graph& g) {
  auto const gradient = g.input<ct::bfloat16>("gradient", {3});
#ifdef REFUSED
  auto p = g.parameter<ct::bfloat16>("p", {3});
#else
  auto p = ct::convert<float>(g.parameter<ct::bfloat16>("p", {3}));
#endif
  ct::sgd{.learning_rate = 0.1}.update(p, gradient);
}

int main() {
  ct::dynamic::graph g;
  build(g);
}
