// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: x\(i, j, ...\) = y: the target of an assignment must be a variable that is not const, or a part of one; copy a value to a variable first: auto x = y; for computed positions write x = ct::at\(x, i, j\).set\(y\)
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto replaced = [](auto const& x) {
#ifdef REFUSED
  x(0) += x(1);
  return ct::sum(x);
#else
  auto y = x * 2;
  y(0) = x(1);
  return ct::sum(y);
#endif
};

int main() { return ct::compiled(replaced)(ct::tensor<double, 3>{1, 2, 3}) == 12 ? 0 : 1; }
