// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: vmap, map, custom_vjp, custom_jvp: a value must not leave the function or rule that it was computed in, except as its result
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
  ct::expr<double> sum = 0;
#ifdef REFUSED
  auto const y = ct::map([&](auto r) {
    sum = sum + r * r;
    return 2.0 * r;
  }, x);
  return ct::sum(y) * sum;
#else
  auto const y = ct::map([&](auto r) {
    auto const unread = sum + r * r;
    sum = sum + 1.0; // the same for all rows
    return std::pair(2.0 * r, unread);
  }, x);
  return ct::sum(y.first) * sum;
#endif
};

int main() { return ct::compiled(f)(ct::tensor<double, 3>{1, 2, 3}) == 12 ? 0 : 1; }
