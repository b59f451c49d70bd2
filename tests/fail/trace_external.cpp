// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: external: the arguments must be tensors or numbers of one element, float or double, with extents that are numbers
// ERRORS: 1
// LINES: clang 34
#include <cotangent/cotangent.hpp>

#include <tuple>

namespace ct = cotangent;

#ifdef REFUSED
inline constexpr float first = 1;
#else
inline constexpr double first = 1;
#endif
inline constexpr auto g = ct::external([](double x, double y) { return x * y; },
                                       [](double x, double y, double, double dz) { return std::tuple(y * dz, x * dz); });
inline constexpr auto f = [](auto x) { return g(x, ct::convert<double>(x)); };

int main() {
  return ct::compiled(f)(first) == 1 ? 0 : 1;
}
