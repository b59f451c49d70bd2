// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: an argument must be a float, double, std::int32_t, std::int64_t or bool, a tensor, a view, an array
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

int main() {
  auto f = [](auto x) { return ct::exp(x); };
#ifdef REFUSED
  double y = ct::compiled(f)("0");
#else
  double y = ct::compiled(f)(0.0);
#endif
  return y == 1 ? 0 : 1;
}
