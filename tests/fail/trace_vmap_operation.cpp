// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: vmap, jacobian: every operation of the function must have a batching rule
// ERRORS: 1
#include <cotangent/cotangent.hpp>
#include <cotangent/images.hpp>

namespace ct = cotangent;

#ifdef REFUSED
using images = ct::tensor<float, 1, 4, 4, "c">;
using weights = ct::tensor<float, 2, 3, 3, "c", 1>;
#else
using images = ct::tensor<float, 1, 4, 4, 2>;
using weights = ct::tensor<float, 2, 3, 3, 2, 1>;
#endif
inline constexpr auto filtered = [](auto x, auto w) { return ct::sum(ct::conv2d(x, w)); };

float call(images const& x, weights const& w) { return ct::vmap<ct::unmapped, 0>(filtered)(x, w)(1); }

int main() { return 0; }
