// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"
#include "laws.hpp"

TEST_CASE("many random graphs obey the laws of derivatives") {
  for (std::uint64_t seed = 1000; seed < 11000; ++seed) laws::check(seed, 10 + static_cast<int>(seed % 90));
}
