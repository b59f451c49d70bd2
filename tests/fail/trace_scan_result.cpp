// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: scan: the body must return the next carry and a row, as a std::pair
// ERRORS: 1
#include <cotangent/cotangent.hpp>

#include <utility>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto y) {
#ifdef REFUSED
  return ct::scan([](auto s, auto row) { return s + row; }, ct::sum(x), y).first;
#else
  return ct::scan([](auto s, auto row) { return std::pair(s + row, row); }, ct::sum(x), y).first;
#endif
};

int main() { return ct::compiled(f)(ct::tensor<double, 2>{}, ct::tensor<double, 3>{}) == 0 ? 0 : 1; }
