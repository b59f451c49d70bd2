// SPDX-License-Identifier: BSL-1.0
#include "executor.hpp"

// Random graphs over axes of several lengths.

TEST_CASE("More static programs of random graphs agree with the reference evaluation, part 1") {
  executing::check_random<3, 4, 2, 1>(std::integer_sequence<int, 1104, 1105, 1106, 1107, 1108, 1109>{});
  executing::check_random<7, 9, 2, 3>(std::integer_sequence<int, 1204, 1205, 1206, 1207, 1208, 1209>{});
}
