// SPDX-License-Identifier: BSL-1.0
#include "witness.hpp"

// Reductions over every choice of axes, and functions along one, by all witnesses.

using namespace witness;
namespace ct = cotangent;

namespace {
template <class T, auto const& Table> using block = group<Table, false, drawn<ct::expr<T, "n", 3, "m">>>;
template <class T, auto const& Table> using small = group<Table, false, drawn<ct::expr<T, 2, 3, 1>>>;

template <auto const& Table> void check_sizes() {
  check_functions(small<double, Table>::view(), 0);
  for (std::int64_t const n : {0, 1, 7})
    for (std::int64_t const m : {0, 1, 7, 64, 65}) {
      if (math::is_fast && n * m == 0) continue; // of nothing: infinities and NaN
      check_functions(block<double, Table>::view(), n, m);
      check_functions(block<float, Table>::view(), n, m);
      check_program<block<double, Table>>(n, m);
    }
  check_program<small<float, Table>>(0);
}
} // namespace

TEST_CASE("sums and means over any axes") { check_sizes<functions::sums>(); }
TEST_CASE("maxima and minima over any axes") { check_sizes<functions::extremes>(); }
TEST_CASE("logsumexp over any axes, and functions along one axis") {
  check_sizes<functions::along_axes>();
}
TEST_CASE("every operation along axes is in a function or its derivatives") {
  check_covered(ct::detail::reduction_operations{}, {block<double, functions::extremes>::view(), block<double, functions::along_axes>::view()});
  check_covered(ct::detail::scan_operations{}, {block<double, functions::along_axes>::view()});
}
