// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_REMATERIALIZE_FUSE_LOOPS_HPP
#define COTANGENT_TRANSFORM_REMATERIALIZE_FUSE_LOOPS_HPP

#include <cotangent/graph/builder.hpp>
#include <cotangent/graph/order.hpp>
#include <cotangent/ops/control.hpp>
#include <cotangent/transform/differentiate/block_tree.hpp>
#include <cotangent/transform/simplify/prune.hpp>

#include <cstdint>

// Loop fusion: a loop over rows, and the loop of its gradient.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Finds two loops of one region to fuse. The first carries nothing, so that its iterations may run in any order. The second runs as
/// often and scans the entries that the first one stacks; it depends on no other result of the first one.
class fusable_loops {
  graph_view const& g_;
  region_nodes const nodes_;
  array<bool> waits_; // by node: it depends on a result of the first loop, other than by scans of the second loop

public:
  std::int32_t first = none, second = none; // nodes; none if there are none

  constexpr explicit fusable_loops(graph_view const& g) : g_(g), nodes_(g) {
    for (std::int32_t r = 0; r < g.region_count; ++r)
      for (int p = 0; p < nodes_.count(r); ++p)
        if (is_over_rows(nodes_.at(r, p)) && find_second(r, p)) return;
  }
  constexpr bool waits(std::int32_t i) const { return waits_[i]; }

private:
  constexpr bool is_plain(node const& n) const {
    if (n.op != info_of<op::loop>() || n.flags.block != 0) return false;
    loop_layout const at = loop_layout::of(g_, n);
    return at.condition == none && !at.has_start() && g_.operand(n, 0) != none;
  }
  constexpr bool is_over_rows(std::int32_t i) const {
    if (!is_plain(g_.nodes[i])) return false;
    loop_layout const at = loop_layout::of(g_, g_.nodes[i]);
    return at.carried == 0 && at.stacked > 0;
  }
  constexpr bool find_second(std::int32_t r, int p) {
    std::int32_t const i = nodes_.at(r, p);
    for (int q = p + 1; q < nodes_.count(r); ++q) {
      std::int32_t const j = nodes_.at(r, q);
      if (!is_plain(g_.nodes[j]) || g_.operand(g_.nodes[j], 0) != g_.operand(g_.nodes[i], 0) || !scans(j, i)) continue;
      if (!is_free(i, r, p, q) || !moves(i, j)) continue;
      first = i;
      second = j;
      return true;
    }
    return false;
  }
  /// True if loop j scans entries that loop i stacks.
  constexpr bool scans(std::int32_t j, std::int32_t i) const {
    loop_layout const at = loop_layout::of(g_, g_.nodes[j]);
    for (int k = at.scan(0); k < at.operand_count(); ++k)
      if (g_.tensors[g_.operand(g_.nodes[j], k)].producer == i) return true;
    return false;
  }
  /// True if the second loop depends on the first one by its scans alone. Other nodes that depend on the first one can follow the second.
  constexpr bool is_free(std::int32_t i, std::int32_t r, int p, int q) {
    std::int32_t const j = nodes_.at(r, q);
    loop_layout const at = loop_layout::of(g_, g_.nodes[j]);
    waits_.assign(g_.node_count, false);
    auto const depends = [&](symbol t) {
      if (t == none) return false;
      std::int32_t const maker = g_.tensors[t].producer;
      return maker != none && (maker == i || waits_[maker]);
    };
    for (int k = p + 1; k <= q; ++k) {
      std::int32_t const at_k = nodes_.at(r, k);
      node const& n = g_.nodes[at_k];
      for (int x = 0; x < n.operand_count + n.result_count; ++x)
        if (symbol const t = g_.ids[n.first + x]; t != none && g_.tensors[t].base != none) return false;
      for (int x = 0; x < n.operand_count; ++x) {
        symbol const t = g_.operand(n, x);
        if (at_k == j && x >= at.scan(0) && t != none && g_.tensors[t].producer == i) continue;
        if (depends(t)) waits_[at_k] = true;
      }
      if (waits_[at_k] && (at_k == j || has_effect(n))) return false;
    }
    return true;
  }
  /// True if all nodes of the body of loop i can run in that of loop j, ahead of it.
  constexpr bool moves(std::int32_t i, std::int32_t j) const {
    std::int32_t const from = loop_layout::of(g_, g_.nodes[i]).body, to = loop_layout::of(g_, g_.nodes[j]).body;
    for (std::int32_t k = 0; k < i; ++k) {
      if (g_.nodes[k].region == to) return false;
      if (in_region(g_, k, from) != none && (has_effect(g_.nodes[k]) || touches_views(g_, g_.nodes[k]))) return false;
    }
    return true;
  }
  static constexpr bool has_effect(node const& n) { return n.result_count == 0 || runs_in_order(*n.op); }
};

/// One pair of loops becomes one.
class loop_fusion {
  graph_view const& g_;
  builder b_;
  array<symbol> replaced_; // by symbol
  loop_layout first_, second_;

public:
  constexpr loop_fusion(graph_view const& g, fusable_loops const& pair)
      : g_(g), b_(g), first_(loop_layout::of(g, g.nodes[pair.first])), second_(loop_layout::of(g, g.nodes[pair.second])) {
    replaced_.assign(g.tensor_count, none);
    move_body();
    join(pair.first, pair.second);
    for (symbol& t : b_.edit().ids)
      if (t >= 0 && t < replaced_.size()) t = resolved(t);
    order(pair);
  }
  constexpr graph take() { return prune(b_.edit()); }

private:
  constexpr symbol resolved(symbol t) const {
    while (t != none && t < replaced_.size() && replaced_[t] != none) t = replaced_[t];
    return t;
  }
  /// The nodes, values and regions in the body of the first loop belong to that of the second. A function that the gradient of a
  /// row would have recomputed runs just before this gradient.
  constexpr void move_body() {
    graph& g = b_.edit();
    std::int32_t const from = first_.body, to = second_.body;
    std::int32_t whole = none; // the block that is the whole body; 0: there is none
    for (node& n : g.nodes) {
      if (n.region != from) continue;
      n.region = to;
      if (n.operand_count == 0) continue; // constants belong to none
      std::int32_t block = n.flags.block < 0 ? -n.flags.block : n.flags.block;
      while (block != 0 && g.blocks[block - 1] != 0) block = g.blocks[block - 1];
      whole = whole == none || whole == block ? block : 0;
    }
    if (whole > 0) {
      for (node& n : g.nodes)
        if (n.flags.block == whole || n.flags.block == -whole) n.flags.block = 0;
      for (std::int32_t& around : g.blocks)
        if (around == whole) around = 0;
    }
    for (tensor_symbol& t : g.tensors)
      if (t.region == from) t.region = to;
    for (region& r : g.regions)
      if (r.parent == from) r.parent = to;
  }
  constexpr void join(std::int32_t i, std::int32_t j) {
    node const &n = g_.nodes[i], &m = g_.nodes[j];
    array<symbol> operands, in, results, out;
    replaced_[g_.input(0, first_.body)] = g_.input(0, second_.body);
    auto const pass = [&](symbol outside, symbol inside) {
      operands.push(outside);
      in.push(inside);
    };
    for (int k = 0; k < second_.scan(0); ++k) pass(g_.operand(m, k), g_.input(k, second_.body));
    loop_layout made = second_;
    for (int k = first_.capture(0); k < first_.scan(0); ++k)
      if (!found(g_.operand(n, k), g_.input(k, first_.body), m, second_.capture(0), second_.scan(0))) {
        pass(g_.operand(n, k), g_.input(k, first_.body));
        ++made.captured;
      }
    for (int k = second_.scan(0); k < second_.operand_count(); ++k) {
      symbol const t = g_.operand(m, k);
      int const stack = stack_of(n, t);
      if (stack < 0) pass(t, g_.input(k, second_.body));
      else {
        replaced_[g_.input(k, second_.body)] = g_.output(first_.entry(stack), first_.body);
        --made.scanned;
      }
    }
    for (int k = first_.scan(0); k < first_.operand_count(); ++k)
      if (!found(g_.operand(n, k), g_.input(k, first_.body), m, second_.scan(0), second_.operand_count())) {
        pass(g_.operand(n, k), g_.input(k, first_.body));
        ++made.scanned;
      }
    for (int k = 0; k < second_.output_count(); ++k) {
      results.push(g_.result(m, k));
      out.push(g_.output(k, second_.body));
    }
    for (int k = 0; k < first_.stacked; ++k) {
      results.push(g_.result(n, first_.stack(k)));
      out.push(g_.output(first_.entry(k), first_.body));
      ++made.stacked;
    }
    results.push(g_.result(m, second_.trips()));
    replaced_[g_.result(n, first_.trips())] = g_.result(m, second_.trips());
    b_.edit().tensors[g_.result(n, first_.trips())].producer = none;
    made.write(b_.edit().numbers.data() + m.attribute);
    b_.set_inputs(in.data(), in.size(), second_.body);
    b_.set_outputs(out.data(), out.size(), second_.body);
    b_.edit().rewire(j, operands, results);
  }
  /// True if an operand of m from `low` on is `outside`: then its input in the body is also `inside`.
  constexpr bool found(symbol outside, symbol inside, node const& m, int low, int high) {
    for (int k = low; k < high; ++k)
      if (g_.operand(m, k) == outside) {
        replaced_[inside] = g_.input(k, second_.body);
        return true;
      }
    return false;
  }
  constexpr int stack_of(node const& n, symbol t) const {
    for (int k = 0; k < first_.stacked; ++k)
      if (g_.result(n, first_.stack(k)) == t) return k;
    return -1;
  }
  /// Without the first loop; nodes that depend on it follow the second one.
  constexpr void order(fusable_loops const& pair) {
    array<std::int32_t> order, later;
    for (std::int32_t k = 0; k < g_.node_count; ++k) {
      if (k == pair.first) continue;
      (pair.waits(k) ? later : order).push(k);
      if (k != pair.second) continue;
      for (std::int32_t const i : later) order.push(i);
      later.clear();
    }
    b_.reorder(order);
  }
};

/// Loop fusion. A loop that carries nothing, as `ct::map` makes it, runs inside of a later loop that scans its entries, if they run
/// equally often and that loop depends on it in no other way: the loop of its gradient, where the cotangents of its results depend on
/// none of them. Each iteration then computes its values and their cotangents: none is recorded, none is computed twice.
///
/// Value: the same bits. Cost: linear in the nodes for each pair of loops.
/// Checked: tests/runtime/map_blocks.cpp.
constexpr graph fuse_loops(graph_view const& g) {
  graph now(g);
  for (;;) {
    graph_view const v = now;
    fusable_loops const pair(v);
    if (pair.first == none) return now;
    now = loop_fusion(v, pair).take();
  }
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
