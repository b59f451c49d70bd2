// SPDX-License-Identifier: BSL-1.0
#include "executor.hpp"

// Random graphs over axes of 0, 3, 2, 1.

TEST_CASE("Static programs of random graphs agree with the reference evaluation, part 5") {
  executing::check_random<0, 3, 2, 1>(std::integer_sequence<int, 1500, 1501, 1502, 1503, 1504, 1505, 1506, 1507, 1508, 1509>{});
}
