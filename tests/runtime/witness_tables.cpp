// SPDX-License-Identifier: BSL-1.0
#include "witness.hpp"

// Interpolation, searches in sorted vectors, polynomials and B-splines, by all witnesses.

using namespace witness;
namespace ct = cotangent;

namespace {
template <auto const& Table, class T> using lookups = group<Table, false, drawn<ct::expr<T, "n">>, drawn<ct::expr<T, 6>>,
                                                            drawn<ct::expr<T, 6>, domain::positive>>;
template <auto const& Table> void check_tables() {
  for (std::int64_t const n : {1, 7}) {
    check_functions(lookups<Table, double>::view(), n);
    check_functions(lookups<Table, float>::view(), n);
    check_rows(lookups<Table, double>::view(), n);
  }
}
} // namespace

TEST_CASE("interpolation agrees with its witnesses") { check_tables<functions::tables>(); }
TEST_CASE("grids, polynomials and splines agree with their witnesses") {
  check_tables<functions::grids>();
  check_program<lookups<functions::grids, double>>(7);
}
TEST_CASE("cubic grids, and grids of irregular positions, agree with their witnesses") { check_tables<functions::fields>(); }
TEST_CASE("every operation of tables is in a function or its derivatives") {
  group_view const groups[]{lookups<functions::grids, double>::view()};
  check_covered(ct::detail::table_operations{}, groups);
  check_covered(ct::detail::position_operations{}, groups);
  check_covered(ct::detail::tridiagonal_operations{}, {lookups<functions::tables, double>::view()});
}
