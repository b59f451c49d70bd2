// SPDX-License-Identifier: BSL-1.0
#include "executor.hpp"

// Random graphs over axes of several lengths.

TEST_CASE("More static programs of random graphs agree with the reference evaluation, part 2") {
  executing::check_random<17, 8, 1, 16>(std::integer_sequence<int, 1304, 1305, 1306, 1307, 1308, 1309>{});
  executing::check_random<64, 10, 3, 1>(std::integer_sequence<int, 1404, 1405, 1406, 1407, 1408, 1409>{});
}
