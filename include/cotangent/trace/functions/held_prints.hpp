// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_FUNCTIONS_HELD_PRINTS_HPP
#define COTANGENT_TRACE_FUNCTIONS_HELD_PRINTS_HPP

#include <cotangent/trace/expressions/print.hpp>
#include <cotangent/transform/differentiate/escaped_value.hpp>

#include <cstdint>

namespace cotangent::detail {

/// A result as a tensor; `none` for a sequence that no node reads as rows.
constexpr symbol value_of(graph const& g, symbol y) {
  if (g.tensors[y].depth == 0) return y;
  for (node const& n : g.nodes)
    if (n.op == info_of<op::sequence_to_rows>() && g.ids[n.first] == y) return g.ids[n.first + 1];
  return none;
}

constexpr bool has_prints(graph_view const& g) {
  for (std::int32_t i = 0; i < g.node_count; ++i)
    if (g.nodes[i].op->prints) return true;
  return false;
}

/// Of the outputs of a traced function, or of a body, the first one that is a tensor waits for all that the function prints and that
/// no output depends on. The nodes of the function are those of the builder's region, from `first` on.
///
/// A function that was called inside with a placeholder for a row, or for a derivative's rule, is not computed itself; its outputs
/// hold its own prints.
constexpr void hold_prints(builder& b, symbol* outputs, int count, std::int32_t first = 0) {
  if (!b.prints || b.failed().why != nullptr) return;
  graph const& g = b.get();
  array<bool> prints; // by region, the regions inside included
  for (std::int32_t i = first; i < g.nodes.size(); ++i)
    if (g.nodes[i].op->prints) {
      if (prints.empty()) prints.assign(g.regions.size(), false);
      for (std::int32_t r = g.nodes[i].region; r != none; r = g.regions[r].parent) prints[r] = true;
    }
  int held = 0;
  while (held < count && (outputs[held] == none || b.tensor(outputs[held]).depth > 0)) ++held;
  if (prints.empty() || held == count) return;
  array<bool> const of_placeholders = values_of_placeholders(g, first);
  array<bool> needed(g.tensors.size(), false), inside(g.nodes.size(), false); // prints are in its sub-graphs
  for (int k = 0; k < count; ++k)
    if (outputs[k] != none) needed[outputs[k]] = true;
  for (std::int32_t r = 1; r < g.regions.size(); ++r)
    if (prints[r] && g.regions[r].owner != none) inside[g.regions[r].owner] = true;
  array<symbol> unneeded;
  for (std::int32_t i = g.nodes.size(); i-- > first;) {
    node const& n = g.nodes[i];
    if (n.region != b.region) continue;
    bool any_needed = false, of_placeholder = false;
    array<symbol> values; // all of them: another result of a loop does not need the prints of its body
    for (int k = n.result_count; k-- > 0;)
      if (symbol const y = g.ids[n.first + n.operand_count + k]; y != none) {
        any_needed = any_needed || needed[y];
        of_placeholder = of_placeholder || of_placeholders[y];
        if (symbol const rows = value_of(g, y); rows != none) values.push(rows);
      }
    bool const holds = (n.op->prints || inside[i]) && !any_needed && !of_placeholder;
    if (holds) unneeded.append(values.data(), values.size());
    for (int k = 0; k < n.operand_count && (any_needed || holds); ++k)
      if (symbol const x = g.ids[n.first + k]; x != none) needed[x] = true;
  }
  if (unneeded.empty()) return;
  element const type = b.tensor(outputs[held]).type;
  term y{&b, outputs[held]};
  if (is_half(type)) y = extend::convert(y, element::float32);
  for (int k = unneeded.size(); k-- > 0;) { // in their order
    symbol const both[]{y.id, unneeded[k]};
    y.id = b.push(info_of<op::hold>(), both, 2, nullptr, 0, b.place);
  }
  outputs[held] = extend::convert(y, type).id;
}
/// The same, of the symbols in an array or vector.
template <class Symbols> constexpr void hold_prints(builder& b, Symbols& outputs, std::int32_t first = 0) {
  hold_prints(b, outputs.data(), static_cast<int>(outputs.size()), first);
}

} // namespace cotangent::detail

#endif
