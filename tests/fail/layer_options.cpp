// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: huber: delta must be at least 0
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>
#include <cotangent/nn.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return ct::huber(x, 0.0, -1.0);
#else
  return ct::huber(x, 0.0, 1.0);
#endif
};

int main() { return ct::compiled(f)(7.0) > 0 ? 0 : 1; }
