// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: indices must be int32 or int64
// EXPECT: element_of_indices<float>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto loss = [](auto z, auto labels) { return ct::mean(ct::cross_entropy(z, labels)); };

int main() {
  ct::tensor<float, 4, 3> z;
#ifdef REFUSED
  ct::tensor<float, 4> labels;
#else
  ct::tensor<int, 4> labels;
#endif
  auto [value, gradient] = ct::value_and_grad(loss)(z, labels);
  return value > 0 && gradient.size() == 12 ? 0 : 1;
}
