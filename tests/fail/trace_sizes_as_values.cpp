// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: reshape, permute, expand and the like: sizes, axes and counts must be template arguments, since the type of the result depends on them; write ct::reshape<2, 3>\(x\), ct::permute<1, 0>\(x\) or ct::expand<0>\(x\)
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto turned = [](auto x) {
#ifdef REFUSED
  return ct::permute(x, {1, 0});
#else
  return ct::permute<1, 0>(x);
#endif
};

int main() { return ct::compiled(turned)(ct::tensor<double, 1, 2>{{1, 2}})(1, 0) == 2 ? 0 : 1; }
