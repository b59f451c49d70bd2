// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"
#include "laws.hpp"

TEST_CASE("random graphs obey the laws of derivatives") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) laws::check(seed, 12 + static_cast<int>(seed % 40));
}
