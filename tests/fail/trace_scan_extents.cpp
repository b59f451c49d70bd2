// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: scan: all xs must have the same first extent
// EXPECT: rows_of_xs<2>
// EXPECT: rows_of_other_xs<3>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

#include <utility>

namespace ct = cotangent;

inline constexpr auto add = [](auto s, auto row, auto other) { return std::pair(s + row * other, row); };

inline constexpr auto f = [](auto x, auto y) {
#ifdef REFUSED
  return ct::scan(add, 0.0, x, y).first;
#else
  return ct::scan(add, 0.0, x, y(ct::range<0, 2>)).first;
#endif
};

int main() { return ct::compiled(f)(ct::tensor<double, 2>{}, ct::tensor<double, 3>{}) == 0 ? 0 : 1; }
