// SPDX-License-Identifier: BSL-1.0
#include "control_programs.hpp"

using control_programs::check_nest, control_programs::check_nests;

TEST_CASE("Static programs with loops and branches agree with the reference evaluation") {
  check_nests<1, 1>(std::integer_sequence<std::uint64_t, 11, 23, 42>{}); // 42: a loop whose condition is first asked after an iteration, and false then
  check_nests<2, 1>(std::integer_sequence<std::uint64_t, 6>{});
}
TEST_CASE("Static programs whose loops record without a bound agree with the reference evaluation") {
  check_nest<29, 1, 2, false>(); // sums of records
  check_nest<32, 2, 1, false>(); // records of inner loops in records of outer ones, of known and of unknown length
}
TEST_CASE("Static programs of second derivatives of loops agree with the reference evaluation") {
  check_nests<1, 2>(std::integer_sequence<std::uint64_t, 2>{});
}
