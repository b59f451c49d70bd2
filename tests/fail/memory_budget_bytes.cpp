// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: memory_budget: the budget must hold the smallest program that computes this
// EXPECT: bytes_given<1024>
// EXPECT: bytes_needed<
// ERRORS: 1
// LINES: clang 30
#include <cotangent/cotangent.hpp>
#include <cotangent/memory_budget.hpp>

namespace ct = cotangent;

inline constexpr auto loss = [](auto w, auto x) {
  auto y = ct::tanh(ct::matmul(x, w));
  y = ct::tanh(ct::matmul(y, w));
  return ct::sum(y * y);
};

#ifdef REFUSED
inline constexpr long budget = 1024;
#else
inline constexpr long budget = 65536;
#endif

int main() {
  ct::tensor<float, 16, 16> w;
  ct::tensor<float, 64, 16> x;
  return ct::memory_budget<budget>(ct::grad(loss))(w, x).size() == 256 ? 0 : 1;
}
