// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: run: the results must be as many as the function returns, with their elements and extents
// ERRORS: 1
#include <cotangent/cotangent.hpp>

#include <tuple>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) { return ct::sum(x * x); };
using P = ct::program<decltype(ct::value_and_grad(f)), ct::tensor<double, 3>>;

int main() {
  ct::tensor<double, 3> x{1, 2, 3}, gradient;
  double value = 0;
  P::workspace memory;
#ifdef REFUSED
  ct::status s = P::run(memory, std::tie(x), std::tie(value));
#else
  ct::status s = P::run(memory, std::tie(x), std::tie(value, gradient));
#endif
  return s == ct::status::ok && value == 14 ? 0 : 1;
}
