// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: gradient: the tape limit must hold the carried values of a loop and the record of one iteration
// ERRORS: 1
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

#ifdef REFUSED
constexpr std::int64_t bytes = 16;
#else
constexpr std::int64_t bytes = 4096;
#endif
inline constexpr auto f = [](auto x) {
  return ct::for_loop<ct::loop{.tape_limit = bytes}>(1000, [=](auto, auto y) { return ct::sin(y) * x; }, x);
};
using P = ct::program<decltype(ct::grad(f)), double>;
static_assert(P::workspace_bytes <= 4096);

int main() {}
