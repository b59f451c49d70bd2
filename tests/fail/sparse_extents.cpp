// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: sparse_jacobian: every extent must be a number
// ERRORS: 1
#include <cotangent/sparse.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) { return ct::sin(x); };

#ifdef REFUSED
using vector = ct::tensor<double, "n">;
#else
using vector = ct::tensor<double, 3>;
#endif

void call(vector const& x) { (void)ct::sparse_jacobian(f)(x); }

int main() { return 0; }
