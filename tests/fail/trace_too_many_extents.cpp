// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: the rank of a tensor must be at most 8
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto scaled = [](auto x) {
#ifdef REFUSED
  auto y = ct::full<1, 1, 1, 1, 1, 1, 1, 1, 1>(2) * x + 1;
#else
  auto y = ct::full<1, 1, 1, 1, 1, 1, 1, 1>(2) * x + 1;
#endif
  return std::tuple(ct::sum(y), ct::reshape<1>(ct::sum(y)));
};

int main() {
  auto [sum, one] = ct::compiled(scaled)(ct::tensor<double, 1>{3});
  return sum == 7 && one(0) == 7 ? 0 : 1;
}
