// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_LAWS_HPP
#define COTANGENT_TESTS_LAWS_HPP

#include <cstdint>

namespace laws {

/// The laws of derivatives on one random graph, by the interpreter, as the graph stands and simplified.
void check(std::uint64_t seed, int nodes);

} // namespace laws

#endif
