// SPDX-License-Identifier: BSL-1.0
#include "witness.hpp"

// Decompositions and linear systems, by all witnesses.

using namespace witness;
namespace ct = cotangent;

namespace {
template <class T> using systems = group<functions::systems, false, drawn<ct::expr<T, 3, 3>>, drawn<ct::expr<T, 3>>>;
template <class T> using decompositions = group<functions::decompositions, false, drawn<ct::expr<T, 3, 3>>, drawn<ct::expr<T, 3>>>;
} // namespace

TEST_CASE("linear systems agree with their witnesses") {
  check_functions(systems<double>::view(), 1, 1);
  check_functions(systems<float>::view(), 1, 1);
  check_program<systems<double>>(1, 1);
  check_program<systems<float>>(1, 1);
}
TEST_CASE("decompositions agree with their witnesses") {
  check_functions(decompositions<double>::view(), 1, 1);
  check_functions(decompositions<float>::view(), 1, 1);
  check_program<decompositions<double>>(1, 1);
  check_program<decompositions<float>>(1, 1);
}
TEST_CASE("every operation of linear algebra is in a function or its derivatives") {
  group_view const of_systems[]{systems<double>::view()}, of_decompositions[]{decompositions<double>::view()};
  check_covered(ct::detail::linear_system_operations{}, of_systems);
  check_covered(ct::detail::pivot_operations{}, of_systems);
  check_covered(ct::detail::decomposition_operations{}, of_decompositions);
}
