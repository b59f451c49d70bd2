// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_REGION_RECORDS_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_REGION_RECORDS_HPP

#include <cotangent/transform/differentiate/activity.hpp>
#include <cotangent/transform/differentiate/block_tree.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// True for a loop of a block that reruns with the block as a whole.
constexpr bool runs_again(graph const& g, node const& n) {
  return n.op == info_of<op::loop>() && n.flags.block > 0 && !touches_views(g, n);
}

/// By symbol: the values of a body that only its blocks read. Empty if there are none.
constexpr array<bool> values_of_blocks(graph const& g, region_index const& index, std::int32_t r) {
  array<bool> found;
  std::int32_t const owner = g.nodes[g.regions[r].owner].flags.block, around = owner < 0 ? -owner : owner;
  if (g.blocks.empty()) return found;
  std::int32_t const* const nodes = index.nodes(r);
  block_tree const tree(g);
  array<std::int32_t> home(g.tensors.size());
  for (int p = 0; p < index.count(r); ++p) {
    node const& n = g.nodes[nodes[p]];
    bool const again =
        n.flags.block > 0 && (n.op->kind == operation_kind::control ? runs_again(g, n) : n.result_count == 1);
    for (int k = 0; k < n.result_count && again; ++k)
      if (symbol const y = g.ids[n.first + n.operand_count + k]; g.tensors[y].base == none) home[y] = n.flags.block;
  }
  for (int p = 0; p < index.count(r); ++p) {
    node const& n = g.nodes[nodes[p]];
    for (int k = 0; k < n.operand_count; ++k)
      if (symbol const x = g.ids[n.first + k]; x != none && home[x] != 0)
        home[x] = n.op->kind == operation_kind::control && !runs_again(g, n)
                      ? 0
                      : tree.common(home[x], n.flags.block < 0 ? -n.flags.block : n.flags.block);
  }
  for (int k = 0; k < g.regions[r].output_count; ++k)
    if (symbol const y = g.ids[g.regions[r].first_output + k]; y != none) home[y] = 0;
  found.assign(g.tensors.size(), false);
  for (symbol t = 0; t < g.tensors.size(); ++t)
    found[t] = home[t] != 0 && home[t] != around && tree.lies_in(home[t], around);
  return found;
}

/// The values that a loop must record for its adjoint, if values of blocks are rematerialized there
/// (`region_blocks` does that when the program is compiled).
constexpr array<symbol> least_record(graph const& g, region_index const& index, loop_layout const& at,
                                     array<symbol> const& read) {
  array<bool> const again = values_of_blocks(g, index, at.body);
  if (again.empty()) return read;
  array<symbol> recorded, waiting = read;
  array<bool> seen(g.tensors.size());
  region const& body = g.regions[at.body];
  seen[g.ids[body.first_input]] = true;
  for (int k = at.capture(0); k < at.operand_count(); ++k) seen[g.ids[body.first_input + k]] = true;
  while (!waiting.empty()) {
    symbol const t = waiting.pop();
    if (seen[t]) continue;
    seen[t] = true;
    std::int32_t const i = g.tensors[t].producer;
    operation_kind const kind = i == none ? operation_kind::input : g.nodes[i].op->kind;
    bool const light = kind == operation_kind::broadcast || kind == operation_kind::reshape ||
                       kind == operation_kind::permute || (i != none && g.nodes[i].operand_count == 0);
    if (!again[t] && !light) recorded.push(t);
    else
      for (int k = 0; k < g.nodes[i].operand_count; ++k)
        if (symbol const x = g.ids[g.nodes[i].first + k]; x != none) waiting.push(x);
  }
  return recorded;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
