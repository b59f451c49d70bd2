// SPDX-License-Identifier: BSL-1.0
#include "executor.hpp"

// Random graphs over axes of 64, 10, 3, 1.

TEST_CASE("Static programs of random graphs agree with the reference evaluation, part 4") {
  executing::check_random<64, 10, 3, 1>(std::integer_sequence<int, 1400, 1401, 1402, 1403, 1404, 1405, 1406, 1407, 1408, 1409>{});
}
