// SPDX-License-Identifier: BSL-1.0
#include "executor.hpp"

// Random graphs over axes of several lengths.

TEST_CASE("Static programs of random graphs agree with the reference evaluation, part 1") {
  executing::check_random<3, 4, 2, 1>(std::integer_sequence<int, 1100, 1101, 1102, 1103>{});
  executing::check_random<7, 9, 2, 3>(std::integer_sequence<int, 1200, 1201, 1202, 1203>{});
  executing::check_random<17, 8, 1, 16>(std::integer_sequence<int, 1300, 1301, 1302, 1303>{});
}
