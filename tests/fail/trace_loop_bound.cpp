// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: workspace: a loop whose values are recorded must have a bound: a count that is a number or an extent, or ct::loop{.max_iterations = n}; without one, call P::run_growing
// ERRORS: 1
// LINES: clang 21
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto f = [](auto x) {
#ifdef REFUSED
  return ct::while_loop([](auto, auto y) { return y < 100.0; }, [=](auto, auto y) { return y * x; }, x);
#else
  return ct::while_loop([](auto i, auto y) { return i < 20 && y < 100.0; }, [=](auto, auto y) { return y * x; }, x);
#endif
};
using P = ct::program<decltype(ct::grad(f)), double>;
static_assert(P::workspace_bytes <= 4096);

int main() {}
