// SPDX-License-Identifier: BSL-1.0
#include "control_programs.hpp"

using control_programs::check_nests;

TEST_CASE("More static programs with loops and branches agree with the reference evaluation") {
  check_nests<1, 1>(std::integer_sequence<std::uint64_t, 3, 5, 7, 17>{});
  check_nests<2, 1>(std::integer_sequence<std::uint64_t, 0, 3, 10>{});
  check_nests<3, 1>(std::integer_sequence<std::uint64_t, 2, 17>{});
}
TEST_CASE("More static programs of second derivatives of loops agree with the reference evaluation") {
  check_nests<1, 2>(std::integer_sequence<std::uint64_t, 9, 13>{});
}
