// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: a Boost.Hana struct of tensors must take the tensor as its one parameter
// ERRORS: 1
// LINES: clang 34
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>

namespace ct = cotangent;

using number = ct::dynamic::expr<double>;
struct fixed {
  BOOST_HANA_DEFINE_STRUCT(fixed, (number, a), (number, b));
};
template <class T> struct point {
  BOOST_HANA_DEFINE_STRUCT(point, (T, a), (T, b));
};

void build(ct::dynamic::graph& g) {
  auto const x = g.input<double>("x");
  auto const f = [](auto s) { return s.a * s.b; };
#ifdef REFUSED
  (void)ct::hessian(f)(fixed{x, x});
#else
  (void)ct::hessian(f)(point<number>{x, x});
#endif
}

int main() {
  ct::dynamic::graph g;
  build(g);
}
