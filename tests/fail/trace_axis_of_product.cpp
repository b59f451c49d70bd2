// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: sum, argmax and the like: the axes must be template arguments, since the type of the result depends on them; write ct::sum\(x, ct::axes<0, 2>\) or ct::argmax<0>\(x\)
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto rows = [](auto x) {
#ifdef REFUSED
  return ct::prod(x, 1);
#else
  return ct::prod(x, ct::axes<1>);
#endif
};

int main() { return ct::compiled(rows)(ct::tensor<double, 1, 2>{{1, 2}})(0) == 2 ? 0 : 1; }
