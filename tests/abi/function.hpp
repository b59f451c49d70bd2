// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_ABI_FUNCTION_HPP
#define COTANGENT_TESTS_ABI_FUNCTION_HPP

#include <cotangent/cotangent.hpp>

// One function, compiled into units with different instruction sets.

namespace shared {

inline constexpr auto loss = [](auto x, auto w) {
  return cotangent::sum(cotangent::tanh(x * w) + cotangent::exp(-x) * cotangent::softplus(w));
};

using numbers = cotangent::tensor<double, 37>;

} // namespace shared

#endif
