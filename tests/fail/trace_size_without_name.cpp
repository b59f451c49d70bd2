// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: a vector or span has a size without a name, which equals only itself; give it a name: ct::view<double, "n">\(x\)
// ERRORS: 1
// LINES: g++ 14, clang 27
#include <cotangent/cotangent.hpp>

#include <vector>

namespace ct = cotangent;

inline constexpr auto product = [](auto x, auto y) { return ct::sum(x * y); };

int main() {
  std::vector<double> x{1, 2, 3}, y{4, 5, 6};
#ifdef REFUSED
  auto z = ct::compiled(product)(x, y);
#else
  auto z = ct::compiled(product)(ct::view<double, "n">(x), ct::view<double, "n">(y));
#endif
  return z == 32 ? 0 : 1;
}
