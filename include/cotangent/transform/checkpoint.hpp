// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_CHECKPOINT_HPP
#define COTANGENT_TRANSFORM_CHECKPOINT_HPP

#include <cotangent/transform/block_copies.hpp>
#include <cotangent/transform/order.hpp>
#include <cotangent/transform/prune.hpp>

#include <cstdint>
#include <type_traits>

namespace cotangent {

namespace detail {

/// About the most bytes of values that are there at one time, if the nodes run in their order and each value is there from
/// its node to its last reader. Names for a value cost nothing; inputs are there anyway; an extent without a number counts
/// as 64.
constexpr double most_bytes(graph_view const& g) {
  array<symbol> root(g.tensor_count, none);
  array<std::int32_t> last(g.tensor_count, none);
  array<double> bytes(g.tensor_count);
  array<std::int32_t> dying(g.node_count + 1, none), next(g.tensor_count, none);
  auto const read = [&](symbol t, std::int32_t at) {
    if (t == none) return;
    if (g.tensors[t].base != none) t = g.tensors[t].base;
    if (root[t] != none && last[root[t]] < at) last[root[t]] = at;
  };
  for (std::int32_t i = 0; i < g.node_count; ++i) {
    node const& n = g.nodes[i];
    if (n.region != 0) continue;
    for (int k = 0; k < n.operand_count; ++k) read(g.operand(n, k), i);
    switch (n.op->kind) {
    case operation_kind::constant:
    case operation_kind::iota:
    case operation_kind::size: continue;
    case operation_kind::broadcast:
    case operation_kind::reshape:
    case operation_kind::permute:
    case operation_kind::slice:
    case operation_kind::identity: root[g.result(n)] = root[g.operand(n, 0)]; continue;
    default: break;
    }
    for (int k = 0; k < n.result_count; ++k) {
      symbol y = g.result(n, k);
      if (g.tensors[y].base != none) y = g.tensors[y].base;
      if (root[y] != none) continue;
      root[y] = y;
      last[y] = i;
      bytes[y] = static_cast<double>(size_of(g.tensors[y].type));
      for (int a = 0; a < g.shape(y).rank; ++a)
        bytes[y] *= g.shape(y).size[a] < 0 ? 64. : static_cast<double>(g.shape(y).size[a]);
    }
  }
  for (int k = 0; k < g.output_count(); ++k) read(g.output(k), g.node_count);
  for (symbol t = 0; t < g.tensor_count; ++t)
    if (root[t] == t) {
      next[t] = dying[last[t]];
      dying[last[t]] = t;
    }
  double now = 0, most = 0;
  array<bool> there(g.tensor_count);
  for (std::int32_t i = 0; i < g.node_count; ++i) {
    node const& n = g.nodes[i];
    if (n.region != 0) continue;
    double made = 0;
    for (int k = 0; k < n.result_count; ++k) {
      symbol y = g.result(n, k);
      if (g.tensors[y].base != none) y = g.tensors[y].base;
      if (root[y] != y || there[y]) continue;
      there[y] = true;
      made += bytes[y];
    }
    double gone = 0;
    for (symbol t = dying[i]; t != none; t = next[t]) gone += bytes[t];
    bool const in_place = n.op->kind == operation_kind::elementwise;
    now += made - (in_place ? gone : 0);
    if (most < now) most = now;
    now -= in_place ? 0 : gone;
  }
  return most;
}

} // namespace detail

/// The same graph, in which the gradients of blocks (`node::block`, made by `ct::checkpoint`) read values of these that are
/// computed again, when the cotangents of the block are there: so what only gradients read is not kept until then. Values
/// that leave their block are kept. Only nodes whose results are read by a gradient are copied, and nodes that these need.
/// A block whose copies would not lower the peak of memory is left as it is, unless `always`: where a graph is split, what is
/// kept is saved, whatever the peak.
///
/// Runs when all rewriting is done: then copies are what they are copies of, and every bit is the same as without.
///
/// Cost: linear in the nodes, times the number of blocks that are tried.
/// Checked: tests/static/checkpoint.cpp, tests/runtime/checkpoint.cpp.
constexpr graph recompute_blocks(graph_view const& before, bool always = false) {
  graph ordered;
  if (!in_order(before)) ordered = reordered(before, order_of(before));
  graph_view g = before;
  if (!ordered.nodes.empty()) g = ordered;
  detail::block_tree tree(g);
  detail::block_copies first(g, tree);
  array<std::int32_t> blocks; // the one that ends last comes first
  for (std::int32_t b = 1; b < tree.size(); ++b)
    if (first.uses(b)) {
      int k = blocks.push(b);
      for (; k > 0 && first.last_node(blocks[k - 1]) < first.last_node(b); --k) blocks[k] = blocks[k - 1];
      blocks[k] = b;
    }
  bool regions = first.has_regions();
  graph best = first.take();
  double least = detail::most_bytes(best);
  // (compilers bound what a constant evaluation may take)
  std::int64_t budget = 4000000;
  if (std::is_constant_evaluated()) budget = 0;
  for (int k = 0; !always && k < blocks.size() && (k == 0 || std::int64_t{k} * g.node_count < budget); ++k) {
    tree.dissolve(blocks[k]);
    detail::block_copies other(g, tree);
    bool const has_regions = other.has_regions();
    graph without = other.take();
    double const bytes = detail::most_bytes(without);
    if (bytes <= least) {
      best = static_cast<graph&&>(without);
      least = bytes;
      regions = has_regions;
    } else tree.dissolve(blocks[k], false);
  }
  if (regions) return prune(best);
  return best;
}

} // namespace cotangent

#endif
