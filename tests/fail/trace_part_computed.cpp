// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: x\(i, j, ...\) = y: the target of an assignment must be a variable that is not const, or a part of one; copy a value to a variable first: auto x = y; for computed positions write x = ct::at\(x, i, j\).set\(y\)
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto replaced = [](auto x) {
#ifdef REFUSED
  x(ct::argmax(x)) = 5.0;
  return ct::sum(x);
#else
  x = ct::at(x, ct::argmax(x)).set(5.0);
  return ct::sum(x);
#endif
};

int main() { return ct::compiled(replaced)(ct::tensor<double, 3>{1, 2, 3}) == 8 ? 0 : 1; }
