// SPDX-License-Identifier: BSL-1.0
// Graphs made by dice, as JSON and back: the same symbols, the same nodes, the same bits.
#include "../nest_runs.hpp"
#include "../random_graph.hpp"
#include "../random_nest.hpp"

#include <cotangent/io/archive/graph_reader.hpp>
#include <cotangent/io/archive/graph_writer.hpp>

#include "catch.hpp"

#include <string>
#include <vector>

namespace {

using namespace cotangent;
using namespace nest_runs;
namespace archived = cotangent::detail::archived;

graph again(graph const& g) {
  archived::operation_names known;
  known.add(detail::all_operations{});
  std::string const text = archived::text_of(archived::graph_writer(g).write());
  graph const back = archived::graph_reader(known).read(archived::parsed(text));
  CHECK(archived::text_of(archived::graph_writer(back).write()) == text);
  return back;
}

void check_same(graph const& g, graph const& h) {
  REQUIRE(h.tensors.size() == g.tensors.size());
  REQUIRE(h.nodes.size() == g.nodes.size());
  REQUIRE(h.regions.size() == g.regions.size());
  extend::graph_view const a = g, b = h;
  for (extend::symbol t = 0; t < a.tensor_count; ++t) {
    bool const same = a.tensors[t].type == b.tensors[t].type && a.shape(t) == b.shape(t) &&
                      a.tensors[t].depth == b.tensors[t].depth &&
                      a.tensors[t].producer == b.tensors[t].producer &&
                      a.tensors[t].base == b.tensors[t].base && a.tensors[t].region == b.tensors[t].region &&
                      detail::window_of(a, t) == detail::window_of(b, t);
    if (!same) FAIL("symbol " << t);
  }
  for (std::int32_t i = 0; i < a.node_count; ++i) {
    extend::node const &m = a.nodes[i], &n = b.nodes[i];
    bool same = m.op == n.op && m.operand_count == n.operand_count && m.result_count == n.result_count &&
                m.attribute_count == n.attribute_count && m.region == n.region && m.flags == n.flags;
    for (int k = 0; same && k < m.operand_count + m.result_count; ++k)
      same = a.ids[m.first + k] == b.ids[n.first + k];
    for (int k = 0; same && k < m.attribute_count; ++k) same = a.attribute(m, k) == b.attribute(n, k);
    if (!same) FAIL("node " << i);
  }
  CHECK(bool(verify(h)));
}

} // namespace

TEST_CASE("nested loops and branches with views and second gradients are loaded again", "[archive]") {
  int const depth = GENERATE(1, 2, 3);
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    CAPTURE(depth, seed);
    reference::dice d(seed + 77);
    int const elements = 1 + static_cast<int>(seed % 2);
    std::vector<double> at;
    for (int k = 0; k < reference::nest_slots * elements; ++k) at.push_back(d.between(-1, 1));
    reference::nest<reference::nest_in_graph> const nested(seed + 900, depth, elements, element::float64,
                                                           at.data());
    graph const& g = nested.b.get();
    graph const h = again(g);
    check_same(g, h);
    interpreter const p(g), q(h);
    REQUIRE(p.failed().why == nullptr);
    REQUIRE(q.failed().why == nullptr);
    detail::tape one, two;
    CHECK(interpreted(p, at, one) == interpreted(q, at, two)); // the same bits (none is NaN)
  }
}

TEST_CASE("graphs of many operations are loaded again", "[archive]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    extend::builder b;
    reference::dice d(seed);
    reference::random_graph const made(b, d, 60, true, true, seed % 2 == 1);
    graph const h = again(b.get());
    check_same(b.get(), h);
    std::vector<double> at;
    for (int k = 0; k < 4 + 12 + 3 + 1; ++k) at.push_back(d.between(-1, 1));
    interpreter const p(b.get()), q(h);
    detail::tape one, two;
    CHECK(interpreted(p, at, one) == interpreted(q, at, two));
  }
}

TEST_CASE("named extents and formulas over them are loaded again", "[archive]") {
  extend::builder b;
  extend::dimensions d;
  d.rank = 2;
  d.size[0] = b.size(extent::named("n", 1));
  d.size[1] = b.size(extent::named("2*n+m", 5));
  extend::symbol const x = b.symbol_of(element::float32, b.shape(d));
  extend::symbol const y = b.push(info_of<op::exp>(), {x});
  b.set_inputs(&x, 1);
  b.set_outputs(&y, 1);
  graph const h = again(b.get());
  check_same(b.get(), h);
  CHECK(h.extents[1] == extent::named("2*n+m", 5));
  CHECK(h.extents[1].hash == b.get().extents[1].hash);
}

TEST_CASE("checkpointed blocks are loaded again", "[archive]") {
  extend::builder b;
  extend::symbol const x = b.symbol_of(element::float64, 0);
  (void)b.open_block();
  term const inner = extend::apply<op::sin>({&b, x});
  (void)b.open_block();
  extend::symbol const y = extend::apply<op::exp>(inner).id;
  b.flags.block = 0;
  extend::symbol dx = extend::none;
  detail::gradient(b, {.outputs = &y, .output_count = 1, .wrt = &x, .wrt_count = 1}, &dx);
  b.set_inputs(&x, 1);
  b.set_outputs(&dx, 1);
  graph const h = again(b.get());
  check_same(b.get(), h);
  CHECK(h.blocks == b.get().blocks);
  REQUIRE(h.blocks.size() == 2);
  CHECK(h.nodes[1].flags.block == 2);
  CHECK_FALSE(h.nodes[1].flags.of_gradient);
  CHECK(h.nodes[h.tensors[dx].producer].flags.of_gradient);
}

TEST_CASE("a gather with too many axes is refused when the node is created", "[archive]") {
  for (int const rank : {1, 4, 5, 8}) {
    extend::builder b;
    extend::dimensions d;
    for (d.rank = 0; d.rank < rank;) d.size[d.rank++] = 1;
    extend::symbol const x = b.symbol_of(element::float32, b.shape(d)), i = b.symbol_of(element::int64, b.shape(d));
    (void)b.push(info_of<op::gather>(), {x, i});
    CAPTURE(rank);
    CHECK((b.failed().why == detail::why<refusals::gather_axes>()) == (2 * rank - 1 > max_rank));
  }
}

TEST_CASE("one_hot of labels with the maximum rank is refused when the node is created", "[archive]") {
  for (int const rank : {0, 7, 8}) {
    extend::builder b;
    extend::dimensions d;
    for (d.rank = 0; d.rank < rank;) d.size[d.rank++] = 1;
    (void)extend::one_hot({&b, b.symbol_of(element::int64, b.shape(d))}, 3, element::float32);
    CAPTURE(rank);
    CHECK((b.failed().why == detail::why<refusals::one_hot_axes>()) == (rank == 8));
  }
}
