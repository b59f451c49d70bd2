// SPDX-License-Identifier: BSL-1.0
#include "witness.hpp"

// Layers of networks, by all witnesses.

using namespace witness;
namespace ct = cotangent;

namespace {
template <class T> using network = group<functions::layers, false, drawn<ct::expr<T, "n", 4>>, drawn<ct::expr<T, 4, 2>>,
                                         drawn<ct::expr<T, "n", 2>>, drawn<ct::expr<T, 4>>>;
} // namespace

TEST_CASE("losses, normalizations, attention and recurrent cells agree with their witnesses") {
  for (std::int64_t const n : {1, 3, 9}) {
    check_functions(network<double>::view(), n);
    check_functions(network<float>::view(), n);
    check_program<network<double>>(n);
  }
}
