// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: random_gamma: the shape parameter must broadcast to the shape of the result
// EXPECT: axes_of_parameter<2>
// EXPECT: axes_of_result<1>
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/random.hpp>

#include <cstdint>

namespace ct = cotangent;

inline constexpr auto f = [](auto key, auto a) {
#ifdef REFUSED
  return ct::sum(ct::random_gamma<3>(key, a));
#else
  return ct::sum(ct::random_gamma<3>(key, a(0)));
#endif
};

int main() {
  ct::tensor<double, 2, 3> a{{1, 2, 3}, {4, 5, 6}};
  return ct::compiled(f)(std::int64_t{1}, a) > 0 ? 0 : 1;
}
