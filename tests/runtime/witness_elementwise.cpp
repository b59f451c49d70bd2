// SPDX-License-Identifier: BSL-1.0
#include "witness.hpp"

// Every elementwise function and operator, and the transformations, by all witnesses.

using namespace witness;
namespace ct = cotangent;

namespace {
template <class X, class Y, class P, auto const& Table>
using on = group<Table, true, drawn<X>, drawn<Y>, drawn<P, domain::positive>>;

template <class T, auto const& Table>
using line = on<ct::expr<T, "n">, ct::expr<T, "n">, ct::expr<T, "n">, Table>;
template <class T, auto const& Table> using one_number = on<ct::expr<T>, ct::expr<T>, ct::expr<T>, Table>;
template <class T, auto const& Table> using three = on<ct::expr<T, 3>, ct::expr<T, 3>, ct::expr<T, 3>, Table>;
template <class T, auto const& Table> using single = on<ct::expr<T, 1>, ct::expr<T, 1>, ct::expr<T, 1>, Table>;
template <class T, auto const& Table> using nothing = on<ct::expr<T, 0>, ct::expr<T, 0>, ct::expr<T, 0>, Table>;
template <class T, auto const& Table>
using broadcast = on<ct::expr<T, "n", "m">, ct::expr<T, "m">, ct::expr<T, "n", 1>, Table>;
template <class T, auto const& Table> using outwards = on<ct::expr<T>, ct::expr<T, "n">, ct::expr<T, 1>, Table>;

template <auto const& Table> void check_shapes() {
  check_functions(one_number<double, Table>::view(), 0);
  check_functions(one_number<float, Table>::view(), 0);
  check_functions(three<double, Table>::view(), 0);
  check_functions(single<double, Table>::view(), 0);
  check_functions(nothing<float, Table>::view(), 0);
  for (std::int64_t const n : {0, 1, 7, 64, 65}) {
    check_functions(line<double, Table>::view(), n);
    check_functions(line<float, Table>::view(), n);
    check_program<line<double, Table>>(n);
  }
}
} // namespace

TEST_CASE("functions of one operand agree with their witnesses") {
  check_shapes<functions::one_operand>();
  check_program<three<float, functions::one_operand>>(0);
}
TEST_CASE("functions of two operands agree with their witnesses") {
  check_shapes<functions::two_operands>();
  check_program<one_number<double, functions::two_operands>>(0);
}
TEST_CASE("functions of two operands that broadcast agree with their witnesses") {
  for (std::int64_t const n : {0, 1, 7, 65})
    for (std::int64_t const m : {0, 1, 7, 64}) {
      check_functions(broadcast<double, functions::two_operands>::view(), n, m);
      check_program<broadcast<float, functions::two_operands>>(n, m);
    }
  for (std::int64_t const n : {0, 1, 65}) check_functions(outwards<double, functions::two_operands>::view(), n);
}
TEST_CASE("transformations inside a function agree with their witnesses") {
  check_shapes<functions::transformations>();
}
