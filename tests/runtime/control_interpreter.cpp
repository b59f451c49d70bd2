// SPDX-License-Identifier: BSL-1.0
// The interpreter against the evaluation element by element, on nests of loops and branches and their gradients.
#include "catch.hpp"

#include "../nest_runs.hpp"
#include "../random_nest.hpp"

#include <cotangent/transform/simplify.hpp>

#include <cmath>
#include <vector>

using namespace cotangent;

using namespace nest_runs;

TEST_CASE("the interpreter runs nests of loops and branches and their second gradients") {
  int const depth = GENERATE(1, 2, 3);
  int convolutions = 0, drawn = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(depth, seed);
    reference::dice d(seed + 31);
    int const elements = 1 + static_cast<int>(seed % 2); // with two, views are read and written
    std::vector<double> at;
    for (int k = 0; k < reference::nest_slots * elements; ++k) at.push_back(d.between(-1, 1));
    int const codes = seed % 3 == 0 ? reference::all_codes : reference::few_codes;
    reference::nest<reference::nest_in_graph> const nested(seed + 5000, depth, elements, element::float64,
                                                           at.data(), 2, {}, codes);
    reference::nest<reference::nest_unrolled> const unrolled(seed + 5000, depth, elements, element::float64,
                                                             at.data(), 2, {}, codes);
    if (unrolled.margin < 1e-6) continue; // a decision that rounding can turn
    for (node const& n : nested.b.get().nodes) {
      convolutions += n.op == info_of<op::conv2d>();
      drawn += n.op == info_of<op::random53>();
    }
    for (graph const& g : {nested.b.get(), simplify(nested.b.get())}) {
      interpreter const p(g);
      if (p.failed().why != nullptr) FAIL(p.failed().why->text);
      std::vector<double> const b = evaluated_element_by_element(g, p, at);
      tape record;
      for (int run = 0; run < 2; ++run) { // the tape of a run before is used again
        std::vector<double> const a = interpreted(p, at, record);
        for (std::size_t k = 0; k < b.size(); ++k)
          REQUIRE(std::fabs(a[k] - b[k]) <= 1e-10 * (1 + std::fabs(b[k])));
      }
    }
  }
  CHECK(convolutions > 10);
  CHECK(drawn > 10);
}
