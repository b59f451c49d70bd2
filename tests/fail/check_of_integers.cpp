// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: check_gradient: an argument and a result must hold numbers that are not integers
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

#ifdef REFUSED
inline constexpr auto f = [](auto x) { return ct::argmax<0>(x); };
#else
inline constexpr auto f = [](auto x) { return ct::max(x); };
#endif

int main() { return ct::check_gradient(f, ct::tensor<double, 2>{1, 2}) ? 0 : 1; }
