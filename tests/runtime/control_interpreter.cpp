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
  int convolutions = 0, drawn = 0, fused = 0;
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
    graph const fused_graph = simplify(nested.b.get(), {.rewrite = true, .fuse_multiply_add = true});
    for (node const& n : fused_graph.nodes) fused += elements == 2 && n.op == info_of<op::multiply_add>();
    for (graph const& g : {nested.b.get(), simplify(nested.b.get()), fused_graph}) {
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
  CHECK(fused > 10); // in graphs with views
}

TEST_CASE("steps in an order that needs less memory compute the same bits") {
  std::int64_t in_order = 0, chosen = 0;
  int lower = 0;
  auto const compare = [&](graph const& g, std::vector<double> const& at) {
    interpreter const p(g, nullptr, operations<>{}, {.in_order = true});
    interpreter const q(g);
    REQUIRE(p.failed().why == nullptr);
    tape record;
    REQUIRE(interpreted(p, at, record) == interpreted(q, at, record));
    REQUIRE(q.value_bytes() <= p.value_bytes());
    in_order += p.value_bytes();
    chosen += q.value_bytes();
    lower += q.value_bytes() < p.value_bytes();
  };
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    reference::dice d(seed + 31);
    int const elements = 1 + static_cast<int>(seed % 2);
    std::vector<double> at;
    for (int k = 0; k < reference::nest_slots * elements; ++k) at.push_back(d.between(-1, 1));
    compare(reference::nest<reference::nest_in_graph>(seed + 9000, 2, elements, element::float64, at.data())
                .b.get(),
            at);
  }
  // branches of products that are wide in between, side by side in the graph
  for (int const branches : {2, 5, 30}) {
    builder b;
    auto const shaped = [&](dimension rows, dimension columns) {
      return b.shape(dimensions{2, {rows, columns}});
    };
    term const column{&b, b.symbol_of(element::float64, shaped(16, 2))},
        row{&b, b.symbol_of(element::float64, shaped(2, 16))};
    symbol const inputs[]{column.id, row.id};
    b.set_inputs(inputs, 2);
    std::vector<term> wide;
    for (int k = 0; k < branches; ++k) wide.push_back(extend::matmul(column * (0.5 + k), row));
    term sum = extend::matmul(wide[0], column);
    for (std::size_t k = 1; k < wide.size(); ++k) sum = sum + extend::matmul(wide[k], column);
    b.set_outputs(&sum.id, 1);
    std::vector<double> at;
    for (int k = 0; k < 64; ++k) at.push_back(0.1 * k - 0.7);
    compare(b.get(), at);
    interpreter const p(b.get());
    CHECK(p.value_bytes() <= 16 * 16 * 8 + (2 * branches + 3) * 16 * 2 * 8);
  }
  CHECK(chosen < in_order);
  CHECK(lower > 3);
}
