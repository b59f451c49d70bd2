// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_REGION_BLOCKS_HPP
#define COTANGENT_TRANSFORM_REGION_BLOCKS_HPP

#include <cotangent/transform/activity.hpp>
#include <cotangent/transform/block_tree.hpp>

#include <cstdint>

namespace cotangent::detail {

/// By symbol: the values of a body or of a branch that only its blocks read, so that its adjoint computes them again
/// instead of asking for a record. Empty where there are none.
///
/// (Blocks in which the loop or the choice itself lies are computed again with all of it.)
constexpr array<bool> values_of_blocks(graph const& g, region_index const& index, std::int32_t r) {
  array<bool> found;
  if (g.blocks.empty() || g.regions[r].owner == none) return found;
  std::int32_t const owner = g.nodes[g.regions[r].owner].block, around = owner < 0 ? -owner : owner;
  std::int32_t const* const nodes = index.nodes(r);
  bool any = false;
  for (int p = 0; p < index.count(r) && !any; ++p) any = g.nodes[nodes[p]].block > around;
  if (!any) return found;
  block_tree const tree(g);
  array<std::int32_t> home(g.tensors.size());
  for (int p = 0; p < index.count(r); ++p) {
    node const& n = g.nodes[nodes[p]];
    bool const again = n.block > 0 && n.result_count == 1 && n.op->kind != operation_kind::control;
    symbol const y = n.result_count > 0 ? g.ids[n.first + n.operand_count] : none;
    if (again && g.tensors[y].base == none) home[y] = n.block;
  }
  for (int p = 0; p < index.count(r); ++p) {
    node const& n = g.nodes[nodes[p]];
    for (int k = 0; k < n.operand_count; ++k)
      if (symbol const x = g.ids[n.first + k]; x != none && home[x] != 0)
        home[x] = n.op->kind == operation_kind::control
                      ? 0
                      : tree.common(home[x], n.block < 0 ? -n.block : n.block);
  }
  for (int k = 0; k < g.regions[r].output_count; ++k)
    if (symbol const y = g.ids[g.regions[r].first_output + k]; y != none) home[y] = 0;
  found.assign(g.tensors.size(), false);
  for (symbol t = 0; t < g.tensors.size(); ++t)
    found[t] = home[t] != 0 && home[t] != around && tree.lies_in(home[t], around);
  return found;
}

} // namespace cotangent::detail

#endif
