// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_REMATERIALIZE_CHECKPOINT_HPP
#define COTANGENT_TRANSFORM_REMATERIALIZE_CHECKPOINT_HPP

#include <cotangent/graph/order.hpp>
#include <cotangent/transform/differentiate/record_bytes.hpp>
#include <cotangent/transform/rematerialize/block_copies.hpp>
#include <cotangent/transform/rematerialize/region_blocks.hpp>
#include <cotangent/transform/simplify/prune.hpp>

#include <cstdint>
#include <type_traits>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// An estimate of the peak memory, if the nodes run in their order and each value is live from its node to its last reader.
/// Views and inputs cost nothing. An extent without a number counts as 64, and so does an unknown number of iterations. A loop
/// or a branch needs the peak of its sub-graphs. An elementwise value that one elementwise node or reduction reads is not
/// stored, unless its operands are larger.
class byte_count {
  graph_view const& g_;
  region_nodes const nodes_;
  array<symbol> root_;
  array<std::int32_t> last_, dying_, next_;
  array<std::int32_t> reader_; // by symbol: the node that reads it; none, or `several`
  array<std::int32_t> runs_;   // by node: the one in whose step it is computed
  static constexpr std::int32_t several = -2;
  array<double> bytes_;
  array<bool> there_;

public:
  constexpr explicit byte_count(graph_view const& g)
      : g_(g), nodes_(g), root_(g.tensor_count, none), last_(g.tensor_count, none),
        dying_(g.node_count + 1, none), next_(g.tensor_count, none), reader_(g.tensor_count, none),
        runs_(g.node_count), bytes_(g.tensor_count), there_(g.tensor_count) {
    for (std::int32_t i = 0; i < g.node_count; ++i) look(i);
    for (std::int32_t r = 0; r < g.region_count; ++r)
      for (int k = 0; k < g.output_count(r); ++k) {
        if (g.output(k, r) != none) reader_[g.output(k, r)] = several;
        read(g.output(k, r), g.node_count);
      }
    for (std::int32_t i = g.node_count; i-- > 0;) find_uses(i);
    for (symbol t = 0; t < g.tensor_count; ++t)
      if (root_[t] == t) {
        next_[t] = dying_[last_[t]];
        dying_[last_[t]] = t;
      }
  }
  constexpr double most() { return most_in(0); }

private:
  constexpr double most_in(std::int32_t region) {
    double now = 0, most_there = 0;
    for (int p = 0; p < nodes_.count(region); ++p) {
      std::int32_t const i = nodes_.at(region, p);
      node const& n = g_.nodes[i];
      double made = 0;
      for (int k = 0; k < n.result_count; ++k) {
        symbol const y = owner(g_.result(n, k));
        if (y == none || root_[y] != y || there_[y]) continue;
        there_[y] = true;
        made += bytes_[y];
      }
      double gone = 0;
      for (symbol t = dying_[i]; t != none; t = next_[t]) gone += bytes_[t];
      bool const in_place = n.op->kind == operation_kind::elementwise;
      now += made - (in_place ? gone : 0);
      double const inside = now + most_inside(n);
      if (most_there < inside) most_there = inside;
      now -= in_place ? 0 : gone;
    }
    return most_there;
  }
  constexpr symbol owner(symbol t) const {
    return t != none && g_.tensors[t].base != none ? g_.tensors[t].base : t;
  }
  constexpr void read(symbol t, std::int32_t at) {
    t = owner(t);
    if (t != none && root_[t] != none && last_[root_[t]] < at) last_[root_[t]] = at;
  }
  constexpr void find_uses(std::int32_t i) {
    node const& n = g_.nodes[i];
    runs_[i] = i;
    if (is_joined(n)) {
      std::int32_t const at = runs_[reader_[g_.result(n)]];
      double longer = 0; // bytes of operands that only this value would keep live
      for (int k = 0; k < n.operand_count; ++k)
        if (symbol const x = root_of(g_.operand(n, k)); x != none && last_[x] < at) longer += bytes_[x];
      if (longer <= bytes_[g_.result(n)]) {
        bytes_[g_.result(n)] = 0;
        runs_[i] = at;
      }
    }
    for (int k = 0; k < n.operand_count; ++k) read(g_.operand(n, k), runs_[i]);
  }
  /// True if the only reader of the result of `n` can share its step.
  constexpr bool is_joined(node const& n) const {
    if (n.op->kind != operation_kind::elementwise) return false;
    symbol const y = g_.result(n);
    if (reader_[y] < 0 || g_.tensors[y].base != none) return false;
    node const& by = g_.nodes[reader_[y]];
    return by.op->kind == operation_kind::reduction ||
           (by.op->kind == operation_kind::elementwise && g_.tensors[g_.result(by)].shape == g_.tensors[y].shape);
  }
  constexpr symbol root_of(symbol t) const {
    t = owner(t);
    return t == none ? none : root_[t];
  }
  constexpr void look(std::int32_t i) {
    node const& n = g_.nodes[i];
    for (int k = 0; k < n.operand_count; ++k) {
      symbol const x = g_.operand(n, k);
      if (x == none) continue;
      reader_[x] = reader_[x] == none || reader_[x] == i ? i : several;
      if (symbol const base = g_.tensors[x].base; base != none) reader_[base] = several;
    }
    switch (n.op->kind) {
    case operation_kind::constant:
    case operation_kind::iota:
    case operation_kind::size: return;
    case operation_kind::broadcast:
    case operation_kind::reshape:
    case operation_kind::permute:
    case operation_kind::slice:
    case operation_kind::identity: root_[g_.result(n)] = root_[g_.operand(n, 0)]; return;
    default: break;
    }
    for (int k = 0; k < n.result_count; ++k) {
      symbol const y = owner(g_.result(n, k));
      if (y == none || root_[y] != none) continue;
      root_[y] = y;
      last_[y] = i;
      bytes_[y] = static_cast<double>(size_of(g_.tensors[y].type));
      for (int a = 0; a < g_.shape(y).rank; ++a)
        bytes_[y] *= g_.shape(y).size[a] < 0 ? 64. : static_cast<double>(g_.shape(y).size[a]);
      if (g_.tensors[y].depth == 0) continue;
      if (record_size const r = bytes_of_record(g_, y); r.known) bytes_[y] = static_cast<double>(r.bytes);
      else
        for (int d = 0; d < g_.tensors[y].depth; ++d) bytes_[y] *= d == 0 ? trips(n) : 64.;
    }
  }
  constexpr double trips(node const& n) const {
    std::int64_t const counted = n.op == info_of<op::loop>() ? counted_trips(g_, n) : -1;
    return counted < 0 ? 64. : static_cast<double>(counted);
  }
  constexpr double most_inside(node const& n) {
    double found = 0;
    auto const look_into = [&](std::int32_t r) {
      double const inside = r == none ? 0 : most_in(r);
      if (found < inside) found = inside;
    };
    if (n.op == info_of<op::loop>()) {
      loop_layout const at = loop_layout::of(g_, n);
      look_into(at.condition);
      look_into(at.body);
    } else if (n.op == info_of<op::case_of>()) {
      case_layout const at = case_layout::of(g_, n);
      for (int j = 0; j < at.branches; ++j) look_into(at.branch(j));
    }
    return found;
  }
};

/// A graph with copies of nodes of these blocks.
struct blocks_again {
  graph made;
  array<std::int32_t> blocks; // blocks with copies, the one that ends last first

  constexpr blocks_again(graph_view const& g, block_tree const& tree) {
    array<bool> used(tree.size(), false);
    graph with_inside;
    if (g.region_count > 1 && knows_regions(g)) {
      // first values, then loops and branches, from the outside in: a copied loop contains loops
      bool whole = false;
      for (int round = 0; round < g.region_count; ++round) {
        graph_view const before = has_nodes(with_inside) ? graph_view(with_inside) : g;
        region_blocks inside(before, tree, whole);
        for (std::int32_t b = 1; b < tree.size(); ++b) used[b] = used[b] || inside.uses(b);
        if (inside.changes()) with_inside = prune(inside.take());
        else if (whole) break;
        whole = true;
        if (!blocks_run_regions(has_nodes(with_inside) ? graph_view(with_inside) : g)) break;
      }
    }
    if (has_nodes(with_inside)) copy(with_inside, tree, used);
    else copy(g, tree, used);
  }

private:
  static constexpr bool has_nodes(graph const& made) { return !made.nodes.empty(); }
  constexpr void copy(graph_view const& g, block_tree const& tree, array<bool> const& used) {
    bool inside = false;
    block_copies copies(g, tree);
    for (std::int32_t b = 1; b < tree.size(); ++b)
      if (copies.uses(b) || used[b]) {
        inside = inside || used[b];
        int k = blocks.push(b);
        for (; k > 0 && copies.last_node(blocks[k - 1]) < copies.last_node(b); --k) blocks[k] = blocks[k - 1];
        blocks[k] = b;
      }
    if (copies.has_regions() || inside) made = prune(copies.take());
    else made = copies.take();
  }
};

/// The estimate of `byte_count`.
struct estimated_bytes {
  constexpr double operator()(graph_view const& g) const { return byte_count(g).most(); }
};

/// The same graph, in which gradients of blocks (`node_flags::block`, set by `ct::checkpoint`) read rematerialized values. These
/// are computed when the cotangents of the block are available, so the forward pass frees values that only gradients read.
/// Results of a block are kept. Only nodes are copied whose results a gradient reads, and nodes that these depend on.
///
/// Gradients of blocks inside of loops and branches rematerialize in their own bodies and branches, from fewer recorded
/// values; loops and branches of these blocks run there a second time.
///
/// A block is unchanged if its copies would not lower peak memory, unless `always` is set: a split graph saves all that it
/// keeps, whatever the peak. `measure` gives the peak of graphs of moderate size without loops and branches, whose records it
/// does not see; otherwise the peak is estimated.
///
/// Runs after all rewriting: then a copy of a node computes the same bits.
///
/// Cost: linear in the nodes, times the number of blocks that are tried.
/// Checked: tests/static/checkpoint.cpp, tests/runtime/checkpoint.cpp, tests/runtime/tape_limit.cpp.
template <class Measure = detail::estimated_bytes>
constexpr graph recompute_blocks(graph_view const& before, bool always = false, Measure measure = {}) {
  graph ordered;
  if (!in_order(before)) ordered = reordered(before, order_of(before));
  graph_view g = before;
  if (!ordered.nodes.empty()) g = ordered;
  detail::block_tree tree(g);
  detail::blocks_again best(g, tree);
  if (always) return static_cast<graph&&>(best.made);
  array<std::int32_t> const blocks = best.blocks;
  // (compilers bound what a constant evaluation may take, and a measure prepares a program)
  std::int64_t budget = 4000000;
  if (std::is_constant_evaluated()) budget = 0;
  bool const measures = g.region_count == 1 && std::int64_t{blocks.size()} * g.node_count < budget / 10;
  auto const bytes = [&](graph const& made) {
    if (measures) return static_cast<double>(measure(made));
    return detail::estimated_bytes{}(made);
  };
  double least = blocks.empty() ? 0 : bytes(best.made);
  for (int k = 0; k < blocks.size() && (k == 0 || std::int64_t{k} * g.node_count < budget); ++k) {
    tree.dissolve(blocks[k]);
    detail::blocks_again without(g, tree);
    if (double const now = bytes(without.made); now <= least) {
      best = static_cast<detail::blocks_again&&>(without);
      least = now;
    } else tree.dissolve(blocks[k], false);
  }
  return static_cast<graph&&>(best.made);
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
