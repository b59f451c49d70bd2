// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_VIEW_EVALUATE_HPP
#define COTANGENT_TESTS_VIEW_EVALUATE_HPP

#include "reference.hpp"
#include "view_graph.hpp"

#include <cotangent/graph/order.hpp>

#include <vector>

// The plainest evaluation of a graph with views: each root is memory, zero where nobody assigns it.

namespace view_graph {

/// Elements assigned twice; nodes on a cycle: what a graph must not have.
struct misuse {
  int twice = 0, cycles = 0;
};

inline detail::array<reference::values> memory_of(extend::graph_view const& g, detail::array<reference::values> const& inputs,
                                          misuse& wrong) {
  detail::array<reference::values> of(g.tensor_count);
  std::vector<std::vector<char>> assigned(static_cast<unsigned>(g.tensor_count));
  for (extend::symbol t = 0; t < g.tensor_count; ++t)
    if (g.tensors[t].base == extend::none)
      of[t] = reference::values(static_cast<int>(reference::count(g.shape(t))),
                                reference::number(g.tensors[t].type, 0));
  for (int k = 0; k < g.input_count(); ++k) of[g.input(k)] = inputs[k];
  detail::ordering const o = detail::order_of(g);
  wrong.cycles += !o;
  auto const look = [&](extend::symbol x) {
    if (x == extend::none || g.tensors[x].base == extend::none) return;
    of[x].clear();
    for (std::int64_t e : elements(g, x)) of[x].push(of[g.tensors[x].base][static_cast<int>(e)]);
  };
  for (std::int32_t i : o.nodes) {
    extend::node const& n = g.nodes[i];
    for (int k = 0; k < n.operand_count; ++k) look(g.operand(n, k));
    extend::symbol const y = g.result(n);
    reference::values const r = reference::apply(g, n, of);
    extend::symbol const root = g.tensors[y].base == extend::none ? y : g.tensors[y].base;
    detail::array<std::int64_t> const places = elements(g, y);
    auto& taken = assigned[static_cast<unsigned>(root)];
    taken.resize(static_cast<unsigned>(of[root].size()));
    for (int k = 0; k < places.size(); ++k) {
      wrong.twice += taken[static_cast<unsigned>(places[k])];
      taken[static_cast<unsigned>(places[k])] = 1;
      of[root][static_cast<int>(places[k])] = r[k];
    }
  }
  for (extend::symbol t = 0; t < g.tensor_count; ++t) look(t);
  return of;
}

} // namespace view_graph

#endif
