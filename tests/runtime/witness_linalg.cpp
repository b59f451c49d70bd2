// SPDX-License-Identifier: BSL-1.0
#include "witness.hpp"

// Decompositions and linear systems, by all witnesses.

using namespace witness;
namespace ct = cotangent;

namespace {
template <class T> using systems = group<functions::systems, false, drawn<ct::expr<T, 3, 3>>, drawn<ct::expr<T, 3>>>;
} // namespace

TEST_CASE("decompositions and linear systems agree with their witnesses") {
  check_functions(systems<double>::view(), 1, 1);
  check_functions(systems<float>::view(), 1, 1);
  check_program<systems<double>>(1, 1);
  check_program<systems<float>>(1, 1);
}
TEST_CASE("every operation of linear algebra is in a function or its derivatives") {
  group_view const groups[]{systems<double>::view()};
  check_covered(ct::linalg_operations{}, groups);
}
