// SPDX-License-Identifier: BSL-1.0
// Copies of graphs: every pass keeps the flags and the location of the nodes that it copies.
#include "../control_cases.hpp"

#include <cotangent/transform/pipeline.hpp>
#include <cotangent/transform/rematerialize/parts.hpp>

using namespace cotangent;
using namespace control_cases;

namespace {

// unlike the defaults in every member: a pass that copies them one by one and forgets one is found
constexpr extend::node_flags marked{.merges = false, .exact = true, .repeated = true, .of_gradient = true, .block = 1};

/// x <- exp(x), three times, then sin(x): all of these nodes are marked.
constexpr graph loop_of_marked_nodes() {
  scalars s;
  extend::symbol const x = s.input();
  (void)s.b.open_block();
  s.b.flags = marked;
  detail::loop_builder loop(s.b, {.inits = &x, .carried = 1, .limit = s.index(3).id});
  extend::symbol const next = extend::apply<op::exp>(s.of(loop.open_body()[1])).id;
  loop.close_body(&next, 1);
  std::int32_t const owner = loop.finish();
  s.b.edit().nodes[owner].flags = marked;
  extend::symbol const y = extend::apply<op::sin>(s.of(loop.last(0))).id;
  s.b.set_inputs(&x, 1);
  s.b.set_outputs(&y, 1);
  return s.b.get();
}
constexpr bool all_kept(extend::graph_view const& before, extend::graph_view const& after) {
  int found = 0;
  for (std::int32_t i = 0; i < after.node_count; ++i) {
    operation const* const op = after.nodes[i].op;
    if (op != info_of<op::loop>() && op != info_of<op::exp>() && op != info_of<op::sin>()) continue;
    ++found;
    for (std::int32_t k = 0; k < before.node_count; ++k)
      if (before.nodes[k].op == op &&
          (!(after.nodes[i].flags == marked) || after.nodes[i].where.line() != before.nodes[k].where.line()))
        return false;
  }
  return found == 3 && bool(verify(after));
}
constexpr bool passes_keep_flags() {
  graph const g = loop_of_marked_nodes();
  detail::simplify_options const no_rewriting{.rewrite = false};
  detail::ordering same;
  for (std::int32_t i = 0; i < g.nodes.size(); ++i) same.nodes.push(i);
  return all_kept(g, g) && all_kept(g, graph(g)) && all_kept(g, detail::prune(g)) && all_kept(g, detail::hoist(g)) &&
         all_kept(g, reordered(g, same)) && all_kept(g, detail::simplify(g)) && all_kept(g, simplify(g, no_rewriting)) &&
         all_kept(g, detail::forward_part({g, 1, 0, 1}, {}));
}
static_assert(passes_keep_flags());

// what stands inside of a copied loop is a copy, too, and may run again
constexpr bool copied_regions_keep_flags() {
  extend::builder b{extend::graph_view(loop_of_marked_nodes())};
  std::int32_t at = extend::none;
  for (std::int32_t i = 0; i < b.get().nodes.size(); ++i)
    if (b.get().nodes[i].op == info_of<op::loop>()) at = i;
  extend::node const loop = b.get().nodes[at];
  detail::array<extend::symbol> x;
  for (int k = 0; k < loop.operand_count; ++k) x.push(b.get().ids[loop.first + k]);
  b.flags = marked;
  detail::region_copier copies(b);
  (void)copies.again(loop, x);
  int found = 0;
  for (extend::node const& n : b.get().nodes)
    if (n.op == info_of<op::exp>() || n.op == info_of<op::loop>()) found += n.flags == marked;
  return found == 4;
}
static_assert(copied_regions_keep_flags());

// a failure of one pass ends the pipeline: here no order can be found
constexpr bool cycles_are_refused() {
  extend::builder b;
  extend::symbol const x = b.symbol_of(element::float64, 0), y = b.symbol_of(element::float64, 0);
  (void)b.assign(info_of<op::sin>(), &x, 1, &y, 1, nullptr, 0);
  (void)b.assign(info_of<op::cos>(), &y, 1, &x, 1, nullptr, 0);
  b.set_outputs(&y, 1);
  detail::built const made = run_passes(b.get(), detail::pipeline_options<>{.in_order = false}, detail::pipeline{});
  return made.failed.why == detail::why<refusals::order_cycle>() && made.g.nodes.empty();
}
static_assert(cycles_are_refused());

} // namespace
