// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: memory: memory that is bound, viewed or archived must be row-major without gaps; copy it first
// ERRORS: 1
// LINES: g++ 16, clang 28
#include <cotangent/core/strided_span.hpp>
#include <cotangent/dynamic.hpp>

namespace ct = cotangent;

void bind(ct::dynamic::program& p, ct::dynamic::expr<double> const& x, double const* backwards, double const* forwards) {
#ifdef REFUSED
  (void)forwards;
  p.bind(x, ct::strided_span<double const, 3>(backwards + 2, {3}, {-1}));
#else
  (void)backwards;
  p.bind(x, ct::view<double const, 3>(forwards));
#endif
}
