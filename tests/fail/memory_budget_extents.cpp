// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: memory_budget: every extent must be a number, so that the size of the program is known when it is compiled
// ERRORS: 1
// LINES: g++ 30, clang 30
#include <cotangent/cotangent.hpp>
#include <cotangent/memory_budget.hpp>

namespace ct = cotangent;

inline constexpr auto loss = [](auto w, auto x) {
  auto y = ct::tanh(ct::matmul(x, w));
  y = ct::tanh(ct::matmul(y, w));
  return ct::sum(y * y);
};

#ifdef REFUSED
ct::tensor<float, "n", 16> const x(64);
#else
ct::tensor<float, 64, 16> const x;
#endif

int main() {
  ct::tensor<float, 16, 16> w;
  return ct::memory_budget<65536>(ct::grad(loss))(w, x).size() == 256 ? 0 : 1;
}
