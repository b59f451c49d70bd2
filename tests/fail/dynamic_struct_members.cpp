// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: a Boost.Hana struct of tensors must take the tensor as its one parameter
// ERRORS: 1
// LINES: clang 30
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

namespace ct = cotangent;

using number = ct::dynamic::expr<double>;
struct point {
#ifdef REFUSED
  BOOST_HANA_DEFINE_STRUCT(point, (number, a), (double, b));
#else
  BOOST_HANA_DEFINE_STRUCT(point, (number, a), (number, b));
#endif
};

void build(ct::dynamic::graph& g) {
  (void)ct::grad([](auto s) { return s.a * s.b; })(point{g.input<double>("x"), 2.0});
}

int main() {
  ct::dynamic::graph g;
  build(g);
}
