// SPDX-License-Identifier: BSL-1.0
#include "executor.hpp"

// Random graphs over axes of several lengths.

TEST_CASE("More static programs of random graphs agree with the reference evaluation, part 3") {
  executing::check_random<0, 3, 2, 1>(std::integer_sequence<int, 1504, 1505, 1506, 1507, 1508, 1509>{});
  executing::check_random<33, 2, 1, 16>(std::integer_sequence<int, 1604, 1605, 1606, 1607, 1608, 1609>{});
}
