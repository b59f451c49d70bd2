// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: x\(i, j, ...\) = y: x must be an expression of a traced function; of an expression of a run-time graph or a variable of eager mode, write x = ct::at\(x, i, j\).set\(y\)
// ERRORS: 1
#include <cotangent/dynamic.hpp>

namespace ct = cotangent;

int main() {
  ct::dynamic::graph g;
  auto x = g.input<double>("x", {3});
#ifdef REFUSED
  x(0) = 2 * x(1);
#else
  x = 2 * x;
#endif
  return x.rank() == 1 ? 0 : 1;
}
