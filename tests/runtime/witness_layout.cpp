// SPDX-License-Identifier: BSL-1.0
#include "witness.hpp"

// Statistics, norms and the functions that arrange elements, by all witnesses.

using namespace witness;
namespace ct = cotangent;

namespace {
template <class T> using block = group<functions::statistics, false, drawn<ct::expr<T, "n", 3, "m">>>;
template <class T> using small = group<functions::statistics, false, drawn<ct::expr<T, 2, 3, 1>>>;
template <class T> using moved =
    group<functions::layouts, false, drawn<ct::expr<T, "n", 4, "m">>, drawn<ct::expr<T, "m">>, drawn<ct::expr<T, "n", 4>>>;
template <class T>
using numeric = group<functions::numerics, false, drawn<ct::expr<T, "n", 4>>, drawn<ct::expr<T, 4>>, drawn<ct::expr<T, 4>, domain::positive>>;
} // namespace

TEST_CASE("statistics and norms over axes agree with their witnesses") {
  check_functions(small<double>::view(), 0);
  for (std::int64_t const n : {1, 7})
    for (std::int64_t const m : {1, 7, 65}) {
      check_functions(block<double>::view(), n, m);
      check_functions(block<float>::view(), n, m);
      check_program<block<double>>(n, m);
    }
  check_program<small<float>>(0);
  check_rows(block<double>::view(), 2, 3);
}
TEST_CASE("functions that arrange elements agree with their witnesses") {
  for (std::int64_t const n : {1, 7}) // a position is taken from the first axis
    for (std::int64_t const m : {0, 1, 7, 64}) {
      check_functions(moved<double>::view(), n, m);
      check_functions(moved<float>::view(), n, m);
      check_program<moved<double>>(n, m);
    }
  check_rows(moved<double>::view(), 2, 3);
}
TEST_CASE("numerical functions agree with their witnesses") {
  for (std::int64_t const n : {1, 2, 7}) {
    check_functions(numeric<double>::view(), n);
    check_functions(numeric<float>::view(), n);
    check_program<numeric<double>>(n);
  }
  check_rows(numeric<double>::view(), 2);
}
TEST_CASE("every operation that sorts is in a function or its derivatives") {
  check_covered(ct::detail::sorting_operations{}, {moved<double>::view()});
}
