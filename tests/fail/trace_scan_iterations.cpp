// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: scan: the rows are the iterations; max_iterations has no meaning
// ERRORS: 1
#include <cotangent/cotangent.hpp>

#include <utility>

namespace ct = cotangent;

inline constexpr auto f = [](auto x, auto y) {
#ifdef REFUSED
  return ct::scan<ct::loop{.max_iterations = 5}>([](auto s, auto row) { return std::pair(s + row, row); }, ct::sum(x), y).first;
#else
  return ct::scan<ct::loop{.reverse = true}>([](auto s, auto row) { return std::pair(s + row, row); }, ct::sum(x), y).first;
#endif
};

int main() { return ct::compiled(f)(ct::tensor<double, 2>{}, ct::tensor<double, 3>{}) == 0 ? 0 : 1; }
