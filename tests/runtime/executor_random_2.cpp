// SPDX-License-Identifier: BSL-1.0
#include "executor.hpp"

// Random graphs over axes of 7, 9, 2, 3.

TEST_CASE("Static programs of random graphs agree with the reference evaluation, part 2") {
  executing::check_random<7, 9, 2, 3>(std::integer_sequence<int, 1200, 1201, 1202, 1203, 1204, 1205, 1206, 1207, 1208, 1209>{});
}
