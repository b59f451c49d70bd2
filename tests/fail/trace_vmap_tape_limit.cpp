// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: vmap: a gradient of a loop with a tape limit must iterate equally often in all rows; differentiate the vmap instead, or leave out ct::loop{.tape_limit}
// ERRORS: 1
// LINES: clang 24
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

#ifdef REFUSED
constexpr std::int64_t bytes = 64;
#else
constexpr std::int64_t bytes = 0;
#endif
inline constexpr auto f = [](auto n, auto x) {
  return ct::for_loop<ct::loop{.max_iterations = 100, .tape_limit = bytes}>(n, [=](auto, auto y) { return ct::sin(y) * x; }, x);
};
using P = ct::program<decltype(ct::vmap<0, ct::unmapped>(ct::grad<1>(f))), ct::tensor<std::int64_t, 3>, double>;
static_assert(P::workspace_bytes <= 65536);

int main() {}
