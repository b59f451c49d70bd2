// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_SYMBOLIC_RESOLVE_HPP
#define COTANGENT_DYNAMIC_SYMBOLIC_RESOLVE_HPP

#include <cotangent/dynamic/state/symbolic_store.hpp>

#include <cotangent/ops/control.hpp>

#include <cstdint>

// Maps symbols of one graph to symbols of another: of a sub-graph, or of an enclosing graph.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

/// For a lowered sub-graph: the outer symbol of `t`, or with `inwards` the inner symbol of `t`. Inputs of the
/// sub-graph take precedence over its results. None if there is none.
inline symbol across(graph_state const& s, std::int32_t region, symbol t, bool inwards) {
  graph const& g = s.b.get();
  std::int32_t const e = graph_at(s, region).owner;
  if (e == none || exec_at(s, e).nodes.empty()) return none;
  node const& n = g.nodes[exec_at(s, e).nodes.back()];
  if (!is_control(n)) return none;
  bool const loop = n.op == info_of<op::loop>();
  loop_layout const at = loop ? loop_layout::of(g, n) : loop_layout{};
  extend::region const& inside = g.regions[region];
  auto const found = [&](symbol outer, symbol inner) { return outer != none && (inwards ? outer : inner) == t; };
  for (int k = 1; k < (loop ? at.scan(0) : n.operand_count); ++k) {
    symbol const outer = g.ids[n.first + k], inner = g.ids[inside.first_input + (loop ? k : k - 1)];
    if (found(outer, inner)) return inwards ? inner : outer;
  }
  for (int k = 0; k < (loop ? at.carried : n.result_count); ++k) {
    symbol const outer = g.ids[n.first + n.operand_count + k], inner = g.ids[inside.first_output + k];
    if (found(outer, inner)) return inwards ? inner : outer;
  }
  return none;
}

/// The symbol of a sub-graph for `t` of an enclosing graph; created if needed.
inline symbol resolved(graph_state& s, std::int32_t region, symbol t, request const& r) {
  if (s.b.tensor(t).region == region) return t;
  if (region == 0) raise_graph<refusals::symbolic_sub_graph>(s.b, r);
  symbol const outer = resolved(s, graph_at(s, region).parent, t, r);
  for (auto const& [o, i] : graph_at(s, region).outer_inner)
    if (o == outer) return i;
  if (graph_at(s, region).sealed) {
    if (symbol const known = across(s, region, outer, true); known != none) return known;
    raise_graph<refusals::symbolic_sealed>(s.b, r);
  }
  tensor_symbol const like = s.b.tensor(outer);
  symbol const inner = new_tensor(s, region, like.type, like.shape, is_unknown(s, outer), {});
  s.b.edit().tensors[inner].name = like.name;
  record(s, inner).outer = outer;
  graph_at(s, region).outer_inner.emplace_back(outer, inner);
  return inner;
}

/// The outer symbol of `t` of a sub-graph: its input there, or, if the sub-graph writes it, the symbol of its
/// final value. Created if needed while the sub-graph can be changed; none for counts.
inline symbol resolved_outwards(graph_state& s, std::int32_t region, symbol t, request const& r) {
  while (s.b.tensor(t).region != region) {
    std::int32_t const inside = s.b.tensor(t).region;
    symbol outer = look(s, t).outer;
    if (outer == none) outer = across(s, inside, t, false);
    if (outer == none) {
      if (graph_at(s, inside).sealed || t == graph_at(s, inside).count) return none;
      std::int32_t const parent = graph_at(s, inside).parent;
      if (!s.frames.empty()) raise_graph<refusals::symbolic_in_body>(s.b, r);
      if (graph_at(s, parent).sealed) raise_graph<refusals::symbolic_sealed>(s.b, r);
      tensor_symbol const like = s.b.tensor(t);
      outer = new_tensor(s, parent, like.type, like.shape, is_unknown(s, t), {});
      s.b.edit().tensors[outer].name = like.name;
      record(s, outer).lifted = true;
      record(s, t).outer = outer;
      graph_at(s, inside).outer_inner.emplace_back(outer, t);
    }
    t = outer;
  }
  return t;
}

} // namespace cotangent::dynamic::detail
COTANGENT_COLD_END

#endif
