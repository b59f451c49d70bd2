// SPDX-License-Identifier: BSL-1.0
#include "executor.hpp"

// Random graphs over axes of 33, 2, 1, 16.

TEST_CASE("Static programs of random graphs agree with the reference evaluation, part 6") {
  executing::check_random<33, 2, 1, 16>(std::integer_sequence<int, 1600, 1601, 1602, 1603, 1604, 1605, 1606, 1607, 1608, 1609>{});
}
