// SPDX-License-Identifier: BSL-1.0
#include "witness.hpp"

// Special functions, and those that are formulas over others, by all witnesses.

using namespace witness;
namespace ct = cotangent;

namespace {
template <class X, auto const& Table> using on = group<Table, true, drawn<X>, drawn<X>, drawn<X, domain::positive>>;
template <class T, auto const& Table> using line = on<ct::expr<T, "n">, Table>;
template <class T, auto const& Table> using one_number = on<ct::expr<T>, Table>;

template <auto const& Table> void check_shapes() {
  check_functions(one_number<double, Table>::view(), 0);
  for (std::int64_t const n : {0, 1, 7, 65}) {
    check_functions(line<double, Table>::view(), n);
    check_functions(line<float, Table>::view(), n);
    check_program<line<double, Table>>(n);
  }
  check_rows(one_number<double, Table>::view(), 0);
}
} // namespace

TEST_CASE("special functions agree with their witnesses") { check_shapes<functions::special_functions>(); }
TEST_CASE("formulas over other functions agree with their witnesses") { check_shapes<functions::composed_functions>(); }
TEST_CASE("activations agree with their witnesses") {
  check_shapes<functions::smooth_activations>();
  check_shapes<functions::bounded_activations>();
  check_shapes<functions::sparse_activations>();
}
TEST_CASE("remainders and replaced NaN agree with their witnesses") { check_shapes<functions::remainders>(); }
TEST_CASE("gamma functions agree with their witnesses") {
  using group = line<double, functions::gamma_functions>;
  check_functions(group::view(), 7);
  check_functions(line<float, functions::gamma_functions>::view(), 7);
  check_program<one_number<double, functions::gamma_functions>>(0);
  check_rows(one_number<double, functions::gamma_functions>::view(), 0);
  check_covered(ct::detail::gamma_operations{}, {group::view()});
}
