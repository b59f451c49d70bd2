// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: svd, lstsq: rows and columns must be numbers or one name, so that the smaller extent is known
// ERRORS: 1
// LINES: clang 30
#include <cotangent/cotangent.hpp>
#include <cotangent/linalg.hpp>

namespace ct = cotangent;

#ifdef REFUSED
using matrix = ct::tensor<float, "m", 3>;
#else
using matrix = ct::tensor<float, 4, 3>;
#endif
inline constexpr auto f = [](auto a) { return ct::sum(std::get<1>(ct::svd(a))); };

int main() {
  matrix a;
  auto y = ct::compiled(f)(a);
  return y == 0 ? 0 : 1;
}
