// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: scan: xs must have an axis of rows in front
// ERRORS: 1
#include <cotangent/cotangent.hpp>

#include <utility>

namespace ct = cotangent;

inline constexpr auto add = [](auto s, auto row, auto other) { return std::pair(s + row * other, row); };

inline constexpr auto f = [](auto x, auto y) {
#ifdef REFUSED
  return ct::scan(add, 0.0, x, ct::sum(y)).first;
#else
  return ct::scan(add, 0.0, x, x).first + ct::sum(y);
#endif
};

int main() { return ct::compiled(f)(ct::tensor<double, 2>{}, ct::tensor<double, 3>{}) == 0 ? 0 : 1; }
