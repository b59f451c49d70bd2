// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: checkpoint_sequence: segments and slots must be at least 0
// ERRORS: 1
// LINES: clang 26
#include <cotangent/cotangent.hpp>

#include <array>

namespace ct = cotangent;

#ifdef REFUSED
inline constexpr ct::sequence_options options{.slots = -1};
#else
inline constexpr ct::sequence_options options{.slots = 1};
#endif
inline constexpr auto layer = [](auto h, auto l) { return h * l; };
inline constexpr auto f = [](auto x) { return ct::checkpoint_sequence(layer, options)(x, std::array{x, x}); };

int main() { return ct::compiled(f)(7.0) > 0 ? 0 : 1; }
