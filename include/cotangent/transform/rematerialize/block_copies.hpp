// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_REMATERIALIZE_BLOCK_COPIES_HPP
#define COTANGENT_TRANSFORM_REMATERIALIZE_BLOCK_COPIES_HPP

#include <cotangent/graph/builder_scope.hpp>
#include <cotangent/ops/compare.hpp>
#include <cotangent/ops/control.hpp>
#include <cotangent/transform/differentiate/block_tree.hpp>
#include <cotangent/transform/differentiate/region_copy.hpp>

#include <cstdint>

// Copies the nodes of blocks for their gradients: see checkpoint.hpp.
//
// The result of a node belongs to the node's block, and is read by the gradient of a block. Its home is the
// innermost block around all its readers. A value without a home is stored. A value with a home block is
// rematerialized with that block, once the block's gradient starts. It is computed from values with outer
// homes, which are stored or rematerialized with outer blocks, and from all values in between. Inner blocks
// are then rematerialized from these once more.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

class block_copies {
  /// A rematerialized value of a block; or one that waits for `since`.
  struct again {
    std::int32_t block = 0;
    symbol made = none, since = none;
    std::int32_t next = none;
  };
  graph_view g_;
  block_tree const& tree_;
  builder b_;
  region_copier regions_;
  array<std::int32_t> block_;        // by node: its remaining block; negative for gradients
  array<std::int32_t> home_;         // by symbol
  array<std::int32_t> first_, late_; // by symbol: into `all_`
  array<again> all_;
  array<symbol> arrived_;         // by block: the last cotangent from outside
  array<std::int32_t> last_node_; // by block: its last node in the current region
  array<std::int32_t> last_;      // by block: its last node
  array<std::int32_t> before_;    // by new node: the node that it precedes
  array<bool> used_;              // by block
  std::int32_t now_ = 0;          // the current node
  bool regions_copied_ = false;

public:
  constexpr block_copies(graph_view const& g, block_tree const& tree)
      : g_(g), tree_(tree), b_(g), regions_(b_, true), block_(g.node_count), home_(g.tensor_count),
        first_(g.tensor_count, none), late_(g.tensor_count, none), last_(tree.size(), none),
        used_(tree.size(), false) {
    b_.flags.merges = false;
    find_blocks();
    find_homes();
    region_nodes const nodes(g_);
    for (std::int32_t r = 0; r < g_.region_count; ++r) visit_region(r, nodes);
    reorder();
  }
  constexpr graph take() { return static_cast<graph&&>(b_.edit()); }
  constexpr bool has_regions() const noexcept { return regions_copied_; }
  /// True if any value of this block is rematerialized.
  constexpr bool uses(std::int32_t block) const noexcept { return used_[block]; }
  constexpr std::int32_t last_node(std::int32_t block) const noexcept { return last_[block]; }

private:
  static constexpr bool is_source(node const& n) noexcept {
    return n.op->kind == operation_kind::constant || n.op->kind == operation_kind::iota ||
           n.op->kind == operation_kind::size;
  }
  /// Writers of views stay in place, and a node without results has a side effect.
  constexpr bool can_run_again(node const& n) const {
    for (int k = 0; k < n.result_count; ++k)
      if (g_.tensors[g_.result(n, k)].base != none) return false;
    return n.result_count > 0;
  }
  constexpr void find_blocks() {
    for (std::int32_t i = 0; i < g_.node_count; ++i) {
      node const& n = g_.nodes[i];
      if (n.flags.block == 0) continue;
      bool const forward = n.flags.block > 0;
      std::int32_t const left = tree_.left_of(forward ? n.flags.block : -n.flags.block);
      block_[i] = !forward ? -left : can_run_again(n) ? left : 0;
      for (std::int32_t a = forward ? left : 0; a != 0; a = tree_.around(a)) last_[a] = i;
    }
  }
  constexpr std::int32_t block_of(symbol t) const {
    std::int32_t const p = g_.tensors[t].producer;
    return p == none || block_[p] < 0 ? 0 : block_[p];
  }
  constexpr void find_homes() {
    for (symbol t = 0; t < g_.tensor_count; ++t) home_[t] = block_of(t);
    for (std::int32_t i = 0; i < g_.node_count; ++i) {
      node const& n = g_.nodes[i];
      std::int32_t const reader = block_[i] < 0 ? -block_[i] : block_[i];
      for (int k = 0; k < n.operand_count; ++k)
        if (symbol const x = g_.operand(n, k); x != none && home_[x] != 0)
          home_[x] = tree_.common(home_[x], reader);
    }
    for (std::int32_t r = 0; r < g_.region_count; ++r)
      for (int k = 0; k < g_.output_count(r); ++k)
        if (g_.output(k, r) != none) home_[g_.output(k, r)] = 0;
  }

  constexpr void visit_region(std::int32_t r, region_nodes const& nodes) {
    bool any = false;
    for (int p = 0; p < nodes.count(r) && !any; ++p) any = block_[nodes.at(r, p)] < 0;
    if (!any) return;
    arrived_.assign(tree_.size(), none);
    last_node_.assign(tree_.size(), none);
    for (int p = 0; p < nodes.count(r); ++p) {
      std::int32_t const i = nodes.at(r, p), block = g_.nodes[i].flags.block;
      for (std::int32_t a = block > 0 ? tree_.left_of(block) : 0; a != 0; a = tree_.around(a))
        last_node_[a] = i;
    }
    b_.region = r;
    for (int p = 0; p < nodes.count(r); ++p) {
      now_ = nodes.at(r, p);
      if (block_[now_] < 0) visit(g_.nodes[now_]);
    }
  }
  /// New nodes precede the current node, in the order of emission.
  constexpr void stands_here() {
    while (g_.node_count + before_.size() < b_.get().nodes.size()) before_.push(now_);
  }
  constexpr void reorder() {
    if (before_.empty()) return;
    array<std::int32_t> order, last(g_.node_count, none), other(before_.size(), none);
    for (int k = before_.size(); k-- > 0;) {
      other[k] = last[before_[k]];
      last[before_[k]] = k;
    }
    for (std::int32_t i = 0; i < g_.node_count; ++i) {
      for (std::int32_t k = last[i]; k != none; k = other[k]) order.push(g_.node_count + k);
      order.push(i);
    }
    b_.reorder(order);
  }
  constexpr void visit(node const& n) {
    std::int32_t const of = -block_[now_];
    for (int k = 0; k < n.operand_count; ++k)
      if (symbol const x = g_.operand(n, k); x != none) arrive(x, of);
    for (int k = 0; k < n.operand_count; ++k)
      if (symbol const x = g_.operand(n, k); x != none && home_[x] != 0) {
        symbol const made = computed(x, home_[x]);
        b_.edit().ids[b_.get().nodes[now_].first + k] = made;
      }
  }
  /// Notes a value that the gradient of block `of` reads: it is a cotangent for the blocks whose gradient did
  /// not compute it.
  constexpr void arrive(symbol x, std::int32_t of) {
    std::int32_t const p = g_.tensors[x].producer;
    if (p == none || block_[p] > 0 || is_source(g_.nodes[p]) || g_.tensors[x].depth > 0) return;
    std::int32_t const common = tree_.common(of, -block_[p]);
    for (std::int32_t a = of; a != common; a = tree_.around(a))
      if ((block_[p] < 0 || p > last_node_[a]) &&
          (arrived_[a] == none || g_.tensors[arrived_[a]].producer < p))
        arrived_[a] = x;
  }
  /// The value that a copy in this block has to wait for.
  constexpr symbol cotangent_of(std::int32_t block) const {
    if (arrived_[block] != none) return arrived_[block];
    for (std::int32_t i = now_ - 1; i >= 0; --i) {
      node const& n = g_.nodes[i];
      bool const works = n.op->kind == operation_kind::elementwise ||
                         n.op->kind == operation_kind::reduction || n.op->kind == operation_kind::matmul ||
                         n.op->kind == operation_kind::whole;
      if (n.region == b_.region && works && home_[g_.result(n)] == 0) return g_.result(n);
    }
    return none;
  }

  // ---- copies

  constexpr symbol find(symbol t, std::int32_t block) const {
    for (std::int32_t k = first_[t]; k != none; k = all_[k].next)
      if (all_[k].block == block) return all_[k].made;
    return none;
  }
  constexpr void note(symbol t, std::int32_t block, symbol made) {
    first_[t] = all_.push({block, made, none, first_[t]});
  }
  /// True if a value is rematerialized with this block; otherwise it exists when the block begins.
  constexpr bool is_inside(symbol t, std::int32_t block) const {
    return home_[t] != 0 && tree_.lies_in(home_[t], block);
  }
  /// A value that exists when a block inside its home is rematerialized.
  constexpr symbol there(symbol t) { return home_[t] == 0 ? t : computed(t, home_[t]); }

  constexpr symbol computed(symbol wanted, std::int32_t block) {
    if (symbol const found = find(wanted, block); found != none) return found;
    used_[block] = true;
    array<symbol> waiting;
    waiting.push(wanted);
    while (!waiting.empty()) {
      symbol const t = waiting.back();
      std::int32_t const i = g_.tensors[t].producer;
      node const& n = g_.nodes[i];
      bool ready = find(t, block) == none;
      if (!ready) {
        (void)waiting.pop();
        continue;
      }
      if (is_source(n)) {
        note(t, block, t);
        continue;
      }
      for (int k = 0; k < n.operand_count; ++k)
        if (symbol const x = g_.operand(n, k); x != none && is_inside(x, block) && find(x, block) == none) {
          waiting.push(x);
          ready = false;
        }
      if (ready) make(i, block);
    }
    return find(wanted, block);
  }
  constexpr void make(std::int32_t i, std::int32_t block) {
    node const n = g_.nodes[i];
    array<symbol> x(n.operand_count, none);
    int outside = -1;
    bool late = false; // some operand is a copy that waits already
    for (int k = 0; k < n.operand_count; ++k) {
      symbol const t = g_.operand(n, k);
      if (t == none) continue;
      bool const source = g_.tensors[t].producer != none && is_source(g_.nodes[g_.tensors[t].producer]);
      bool const inside = !source && is_inside(t, block);
      x[k] = source ? t : inside ? find(t, block) : there(t);
      late = late || inside;
      if (!source && !inside && outside < 0 && g_.tensors[t].depth == 0) outside = k;
    }
    if (!late && outside >= 0) x[outside] = waiting_for(g_.operand(n, outside), x[outside], block);
    builder_scope const outer(b_);
    b_.flags = n.flags;
    b_.flags.merges = false;
    b_.flags.block = 0;
    if (n.op->prints) {
      note(g_.result(n), block, x[0]); // the original prints
    } else if (n.op->kind == operation_kind::control) {
      array<symbol> const made = regions_.again(n, x);
      for (int k = 0; k < n.result_count; ++k) note(g_.result(n, k), block, made[k]);
      regions_copied_ = true;
    } else {
      symbol const y = g_.result(n);
      note(y, block,
           b_.push(n.op, x.data(), n.operand_count, g_.numbers + n.attribute, n.attribute_count,
                   g_.tensors[y].type, g_.tensors[y].shape, n.where));
    }
    stands_here();
  }
  /// The value of t, ordered after the cotangents of the block.
  constexpr symbol waiting_for(symbol t, symbol x, std::int32_t block) {
    symbol const since = cotangent_of(block);
    if (since == none || since == x) return x;
    for (std::int32_t k = late_[t]; k != none; k = all_[k].next)
      if (all_[k].block == block && all_[k].since == since) return all_[k].made;
    symbol const both[2]{x, since};
    symbol const y = b_.push(info_of<op::after>(), both, 2, nullptr, 0, b_.tensor(x).type, b_.tensor(x).shape,
                             g_.nodes[now_].where);
    stands_here();
    late_[t] = all_.push({block, y, since, late_[t]});
    return y;
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
