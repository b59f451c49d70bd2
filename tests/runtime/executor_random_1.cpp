// SPDX-License-Identifier: BSL-1.0
#include "executor.hpp"

// Random graphs over axes of 3, 4, 2, 1.

TEST_CASE("Static programs of random graphs agree with the reference evaluation, part 1") {
  executing::check_random<3, 4, 2, 1>(std::integer_sequence<int, 1100, 1101, 1102, 1103, 1104, 1105, 1106, 1107, 1108, 1109>{});
}
