// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: grad: a differentiated argument must hold float or double; name the positions
// EXPECT: element_of_argument<int>
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

#ifdef REFUSED
constexpr int x = 3;
#else
constexpr double x = 3;
#endif

int main() { return ct::linearize([](auto z) { return z * z; })(x).first == 9 ? 0 : 1; }
