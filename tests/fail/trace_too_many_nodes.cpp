// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: compiled: the number of nodes must be one that the compiler can plan
// EXPECT: number_of_nodes<9000>
// EXPECT: nodes_allowed<4194>
// ERRORS: 1
#define COTANGENT_MOST_NODES 4194
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto recurrence = [](auto x) {
#ifdef REFUSED
  constexpr int count = 3000;
#else
  constexpr int count = 30;
#endif
  auto y = x;
  for (int k = 0; k < count; ++k) y = ct::sin(y) * x + y;
  return y;
};

int main() { return ct::compiled(recurrence)(0.0) == 0 ? 0 : 1; }
