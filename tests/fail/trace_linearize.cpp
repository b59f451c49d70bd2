// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: linearize: the linear map must be given a tangent for each position, of the same elements and extents as the argument there
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

#ifdef REFUSED
constexpr ct::tensor<double, 3> dx{1, 0, 0};
#else
constexpr ct::tensor<double, 2> dx{1, 0};
#endif

int main() {
  ct::tensor<double, 2> const x{1, 2};
  auto const map = ct::linearize([](auto z) { return ct::sum(z * z); })(x).second;
  return map(dx) == 2 ? 0 : 1;
}
