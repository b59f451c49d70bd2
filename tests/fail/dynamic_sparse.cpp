// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: sparse_jacobian: every extent must be a number, since the pattern is found when the function is compiled
// ERRORS: 1
// LINES: clang 33
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>
#include <cotangent/sparse.hpp>

namespace ct = cotangent;

int main() {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {3});
  auto const f = [](auto y) { return y * y; };
#ifdef REFUSED
  auto const j = ct::sparse_jacobian(f)(x);
#else
  auto const j = ct::jacobian(f)(x);
#endif
  return j.rank() == 2 ? 0 : 1;
}
