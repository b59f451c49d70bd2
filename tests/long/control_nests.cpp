// SPDX-License-Identifier: BSL-1.0
// Ten thousand nests of loops, branches and views, three deep, with their gradients.
#include "catch.hpp"

#include "../nest_runs.hpp"
#include "../random_nest.hpp"

#include <cotangent/transform/pipeline.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace cotangent;
using namespace nest_runs;

namespace {

std::vector<double> at_random(std::uint64_t seed, int elements) {
  reference::dice d(seed + 12345);
  std::vector<double> at;
  for (int k = 0; k < reference::nest_slots * elements; ++k) at.push_back(d.between(-1, 1));
  return at;
}

} // namespace

TEST_CASE("gradients of ten thousand nests agree between interpreter, reference evaluation, unrolled "
          "graph and differences") {
  int compared = 0, differenced = 0;
  for (std::uint64_t seed = 100000; seed < 110000; ++seed) {
    CAPTURE(seed);
    int const elements = 1 + static_cast<int>(seed % 2); // with two, views are read and written
    std::vector<double> const at = at_random(seed, elements);
    reference::nest<reference::nest_in_graph> const nested(seed, 3, elements, element::float64, at.data(), 1);
    reference::nest<reference::nest_unrolled> const unrolled(seed, 3, elements, element::float64, at.data(),
                                                             1);
    REQUIRE(nested.b.failed().why == nullptr);
    if (unrolled.margin < 1e-6) continue; // a decision that rounding can turn
    ++compared;
    graph const simple = detail::simplify(nested.b.get());
    interpreter const p(simple);
    if (p.failed().why != nullptr) FAIL(p.failed().why->text);
    detail::tape record;
    std::vector<double> const a = interpreted(p, at, record), b = evaluated_element_by_element(simple, p, at),
                              c = evaluated_element_by_element(unrolled.b.get(), p, at);
    REQUIRE(a.size() == 1 + at.size());
    for (std::size_t k = 0; k < a.size(); ++k) {
      REQUIRE(std::fabs(a[k] - b[k]) <= 1e-11 * (1 + std::fabs(b[k])));
      REQUIRE(std::fabs(a[k] - c[k]) <= 1e-10 * (1 + std::fabs(c[k])));
    }

    // along one direction; no decision may turn within the step
    double const step = 1e-5;
    if (unrolled.margin < 1e-2) continue;
    ++differenced;
    double slope = 0, largest = 1;
    std::vector<double> ahead = at, behind = at;
    for (std::size_t k = 0; k < at.size(); ++k) {
      double const along = k % 2 == 0 ? 0.7 : -0.4;
      ahead[k] += step * along;
      behind[k] -= step * along;
      slope += along * a[1 + k];
      largest = std::max(largest, std::fabs(a[1 + k]));
    }
    double const difference =
        (interpreted(p, ahead, record)[0] - interpreted(p, behind, record)[0]) / (2 * step);
    REQUIRE(std::fabs(difference - slope) <= 1e-5 * largest);
  }
  CHECK(compared > 9000);
  CHECK(differenced > 3000);
}
