// SPDX-License-Identifier: BSL-1.0
#include "executor.hpp"

// Random graphs over axes of several lengths.

TEST_CASE("Static programs of random graphs agree with the reference evaluation, part 2") {
  executing::check_random<64, 10, 3, 1>(std::integer_sequence<int, 1400, 1401, 1402, 1403>{});
  executing::check_random<0, 3, 2, 1>(std::integer_sequence<int, 1500, 1501, 1502, 1503>{});
  executing::check_random<33, 2, 1, 16>(std::integer_sequence<int, 1600, 1601, 1602, 1603>{});
}
