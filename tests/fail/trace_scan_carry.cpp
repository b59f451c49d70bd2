// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: loop: a carried value must keep its element type and shape; start from ct::zeros<...>\(\), not from a number
// ERRORS: 1
#include <cotangent/cotangent.hpp>

#include <utility>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto y) {
#ifdef REFUSED
  return ct::sum(ct::scan([&](auto s, auto row) { return std::pair(s + x * row, row); }, 0.0, y).first);
#else
  return ct::sum(ct::scan([&](auto s, auto row) { return std::pair(s + x * row, row); }, ct::zeros<2>(), y).first);
#endif
};

int main() { return ct::compiled(f)(ct::tensor<double, 2>{}, ct::tensor<double, 3>{}) == 0 ? 0 : 1; }
