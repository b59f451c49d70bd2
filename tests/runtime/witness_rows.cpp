// SPDX-License-Identifier: BSL-1.0
#include "witness.hpp"

// Every function with its derivatives, batched, against each row alone.

using namespace witness;
namespace ct = cotangent;

namespace {
template <class T, auto const& Table> using on_numbers =
    group<Table, true, drawn<ct::expr<T>>, drawn<ct::expr<T>>, drawn<ct::expr<T>, domain::positive>>;
template <class T, auto const& Table> using on_lines =
    group<Table, true, drawn<ct::expr<T, "n", "m">>, drawn<ct::expr<T, "m">>, drawn<ct::expr<T, "n", 1>, domain::positive>>;
template <class T, auto const& Table> using on_blocks = group<Table, false, drawn<ct::expr<T, "n", 3, "m">>>;
template <class T> using moved = group<functions::movements, false, drawn<ct::expr<T, "n", 4, "m">>,
                                       drawn<ct::expr<T, "m">>, drawn<ct::expr<T, "n", 4>>>;
template <class T> using random_ones =
    group<functions::random_numbers, false, drawn<ct::expr<T, "n", 4, "m">>, drawn<ct::expr<T, "m">>>;
template <class T> using multiplied =
    group<functions::products, false, drawn<ct::expr<T, "n", 4>>, drawn<ct::expr<T, 4, "m">>,
          drawn<ct::expr<T, "n", "m">>, drawn<ct::expr<T, 4>>>;
template <class T, class I> using chosen =
    group<functions::choices, false, drawn<ct::expr<T, 5, "m">>, drawn<ct::expr<T, "n", 5>>,
          drawn<ct::expr<T, "n", "m">>, drawn<ct::expr<I, "n">, domain::position>>;
template <class T> using pictured =
    group<functions::images, false, drawn<ct::expr<T, "n", 5, 4, 2>>, drawn<ct::expr<T, 3, 2, 2, 3>>,
          drawn<ct::expr<T, 6, 5, 2>>, drawn<ct::expr<T, 2, 3, 1, 4>>>;

template <class Group> void check_sizes() {
  for (std::int64_t const n : {1, 5})
    for (std::int64_t const m : {0, 1, 6}) check_rows(Group::view(), n, m);
}
} // namespace

TEST_CASE("elementwise functions are batched") {
  check_rows(on_numbers<double, functions::one_operand>::view(), 0);
  check_rows(on_numbers<float, functions::two_operands>::view(), 0);
  check_sizes<on_lines<double, functions::two_operands>>();
}
TEST_CASE("transformations are batched") {
  check_rows(on_numbers<double, functions::transformations>::view(), 0);
}
TEST_CASE("functions along axes are batched") {
  check_sizes<on_blocks<double, functions::sums>>();
  check_sizes<on_blocks<double, functions::extremes>>();
  check_sizes<on_blocks<float, functions::along_axes>>();
}
TEST_CASE("movement operations are batched") { check_sizes<moved<double>>(); }
TEST_CASE("random numbers are batched: equal in every row, unless the key differs") {
  check_sizes<random_ones<double>>();
}
TEST_CASE("products of matrices are batched") { check_sizes<multiplied<double>>(); }
TEST_CASE("choices by integers are batched") {
  check_sizes<chosen<double, std::int32_t>>();
  check_sizes<chosen<float, std::int64_t>>();
}
TEST_CASE("operations of images are batched") {
  for (std::int64_t const n : {1, 2}) check_rows(pictured<double>::view(), n, 2);
}
