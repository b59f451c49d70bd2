// SPDX-License-Identifier: BSL-1.0
#include "executor.hpp"

// Random graphs over axes of 17, 8, 1, 16.

TEST_CASE("Static programs of random graphs agree with the reference evaluation, part 3") {
  executing::check_random<17, 8, 1, 16>(std::integer_sequence<int, 1300, 1301, 1302, 1303, 1304, 1305, 1306, 1307, 1308, 1309>{});
}
