// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_REMATERIALIZE_REGION_BLOCKS_HPP
#define COTANGENT_TRANSFORM_REMATERIALIZE_REGION_BLOCKS_HPP

#include <cotangent/graph/builder_scope.hpp>
#include <cotangent/transform/differentiate/block_tree.hpp>
#include <cotangent/transform/differentiate/region_copy.hpp>
#include <cotangent/transform/rematerialize/widening.hpp>

#include <cstdint>

// Checkpointed blocks in bodies and branches. Differentiation ignores the marks and takes values that loops
// record and branches return, so that derivatives are summed in the order without blocks. After all
// rewriting, values that only gradients of a block read are rematerialized in the bodies and branches that
// read them, and no longer recorded. Loops and branches of a block are copied as a whole; dead results are
// eliminated afterwards.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// True if a block in a body or branch has a loop or a branch.
constexpr bool blocks_run_regions(graph_view const& g) {
  for (std::int32_t i = 0; i < g.node_count; ++i)
    if (node const& n = g.nodes[i]; n.region != 0 && n.flags.block > 0 && value_ways::is_control(n)) return true;
  return false;
}

/// Rematerializes the values of blocks in the regions that read them, from values that the forward body
/// returns. There they belong to their blocks, so that `block_copies` orders them.
///
///
/// (Blocks around the loop or branch itself are rematerialized with all of it.)
class region_blocks {
  struct link {
    symbol of = none, at = none; // the value of a block; the input of the region that reads it
    int way = 0;
  };
  struct again {
    int way = 0;
    symbol made = none;
    std::int32_t next = none;
  };
  graph_view g_;
  block_tree const& tree_;
  builder b_;
  value_ways ways_;
  widening wider_;
  array<std::int32_t> home_; // by symbol: the innermost block around all its readers; 0: it is stored
  array<int> way_of_;        // by symbol, -1 for none yet
  array<value_way> found_;
  array<int> same_, next_; // by way: the first way with equal steps; the next way to the same region
  array<int> of_region_;   // a way there, -1 for none
  array<link> links_;
  array<std::int32_t> first_; // by symbol: into `made_`
  array<again> made_;
  array<symbol> replaced_; // by symbol: its replacement
  array<bool> used_;       // by block
  region_copier regions_;
  array<bool> whole_; // by node: a loop or branch that is copied as a whole

public:
  /// `whole`: loops and branches of blocks are copied too; else their contents are examined.
  constexpr region_blocks(graph_view const& g, block_tree const& tree, bool whole)
      : g_(g), tree_(tree), b_(g), ways_(g_), wider_(b_, g_), home_(g.tensor_count),
        way_of_(g.tensor_count, -1), of_region_(g.region_count, -1), first_(g.tensor_count, none),
        replaced_(g.tensor_count, none), used_(tree.size(), false), regions_(b_, true),
        whole_(g.node_count, false) {
    for (std::int32_t i = 0; i < g.node_count && whole; ++i) whole_[i] = is_whole(g.nodes[i]);
    find_candidates();
    for (std::int32_t i = 0; i < g_.node_count; ++i) find_readers(g_.nodes[i], whole);
    for (std::int32_t r = 0; r < g_.region_count; ++r) find_handed_on(r);
    for (link const& l : links_)
      if (is_made_again(l.of) && replaced_[l.at] == none) replaced_[l.at] = value_at(same_[l.way], l.of);
    if (b_.get().nodes.size() == g_.node_count) return;
    wider_.finish();
    replace();
  }
  constexpr bool changes() const noexcept { return b_.get().nodes.size() > g_.node_count; }
  constexpr bool uses(std::int32_t block) const noexcept { return used_[block]; }
  constexpr graph take() { return static_cast<graph&&>(b_.edit()); }

private:
  constexpr std::int32_t block_of(node const& n) const {
    return tree_.left_of(n.flags.block < 0 ? -n.flags.block : n.flags.block);
  }
  constexpr bool has_views(node const& n) const {
    for (int k = 0; k < n.operand_count + n.result_count; ++k)
      if (symbol const t = g_.ids[n.first + k]; t == none || g_.tensors[t].base != none) return true;
    return false;
  }
  constexpr bool is_whole(node const& n) const {
    return n.region != 0 && n.flags.block > 0 && value_ways::is_control(n) && !touches_views(g_, n);
  }
  constexpr void find_candidates() {
    for (std::int32_t i = 0; i < g_.node_count; ++i) {
      node const& n = g_.nodes[i];
      for (int k = 0; k < n.result_count && whole_[i]; ++k)
        if (symbol const y = g_.result(n, k); y != none) home_[y] = block_of(n);
      if (n.region != 0 && n.flags.block > 0 && n.operand_count > 0 && n.result_count == 1 &&
          n.op->kind != operation_kind::control && !has_views(n))
        home_[g_.result(n)] = block_of(n);
    }
    for (symbol t = 0; t < g_.tensor_count; ++t)
      if (g_.tensors[t].base != none) keep(g_.tensors[t].base);
  }
  /// Stores a value, at all borders that it crosses.
  constexpr void keep(symbol t) {
    for (way_step step; t != none; t = ways_.before(t, step)) home_[t] = 0;
  }

  // ---- readers

  /// A value that only passes through a loop or branch is read inside of it.
  constexpr void find_readers(node const& n, bool whole) {
    auto const use = [&](symbol x) {
      if (x == none) return;
      if (whole) read(x, block_of(n));
      else keep(x);
    };
    if (n.op == info_of<op::loop>()) {
      loop_layout const at = loop_layout::of(g_, n);
      for (int k = 0; k < at.capture(0); ++k) use(g_.operand(n, k));
      if (at.has_start()) use(g_.operand(n, at.start()));
    } else if (n.op == info_of<op::case_of>()) {
      case_layout const at = case_layout::of(g_, n);
      use(g_.operand(n, case_layout::index()));
      for (int k = 0; k < at.results; ++k)
        if (at.bypass(k) >= 0) use(g_.operand(n, case_layout::value(at.bypass(k))));
    } else
      for (int k = 0; k < n.operand_count; ++k)
        if (symbol const x = g_.operand(n, k); x != none) read(x, block_of(n));
  }
  constexpr void find_handed_on(std::int32_t r) {
    node const* const owner = g_.regions[r].owner == none ? nullptr : g_.nodes + g_.regions[r].owner;
    way_step step;
    for (int k = 0; k < g_.output_count(r); ++k) {
      bool crosses = owner != nullptr;
      if (crosses && owner->op == info_of<op::loop>()) {
        loop_layout const at = loop_layout::of(g_, *owner);
        crosses = r == at.body && k >= at.carried;
      } else if (crosses) crosses = ways_.before(g_.result(*owner, k), step) != none;
      if (!crosses) keep(g_.output(k, r));
    }
  }
  constexpr void read(symbol x, std::int32_t reader) {
    if (g_.tensors[x].depth > 0) return keep(x);
    if (!ways_.crosses(x)) {
      if (home_[x] != 0) home_[x] = tree_.common(home_[x], reader);
      return;
    }
    value_way const& way = way_to(x);
    symbol const t = way.from;
    if (home_[t] == 0) return;
    bool inside = way.out.empty();
    for (int k = 0; k < way.in.size() && inside; ++k) inside = way.in[k].what != way_step::scans;
    if (!inside && !way.matched) return keep(x);
    home_[t] = tree_.common(home_[t], reader);
    if (!inside) links_.push({t, way.arrives[way.common - 1], way_of_[x]});
  }
  constexpr value_way const& way_to(symbol x) {
    if (way_of_[x] < 0) {
      way_of_[x] = found_.push(ways_(x, whole_));
      value_way const& made = found_.back();
      int k = made.matched ? of_region_[region_of(way_of_[x])] : -1;
      while (k >= 0 && !same_steps(found_[k], made)) k = next_[k];
      same_.push(k < 0 ? way_of_[x] : k);
      next_.push(-1);
      if (k < 0 && made.matched) {
        int& first = of_region_[region_of(way_of_[x])];
        next_.back() = first;
        first = way_of_[x];
      }
    }
    return found_[way_of_[x]];
  }
  static constexpr bool same_steps(value_way const& a, value_way const& b) {
    if (a.common != b.common || !(a.out == b.out)) return false;
    for (int k = 0; k < a.common; ++k)
      if (!(a.in[k] == b.in[k])) return false;
    return true;
  }
  /// False for values that only blocks around the loop or branch have in common.
  constexpr bool is_made_again(symbol t) const {
    if (home_[t] == 0) return false;
    std::int32_t const around = block_of(g_.nodes[g_.regions[g_.tensors[t].region].owner]);
    return home_[t] != around && tree_.lies_in(home_[t], around);
  }

  // ---- rematerialized values

  constexpr std::int32_t region_of(int way) const { return found_[way].in[found_[way].common - 1].region; }
  constexpr symbol find(symbol t, int way) const {
    for (std::int32_t k = first_[t]; k != none; k = made_[k].next)
      if (made_[k].way == way) return made_[k].made;
    return none;
  }
  /// True for values that are cheaper to compute than to pass on.
  constexpr bool is_light(symbol t) const {
    node const* const n = g_.producer(t);
    if (n == nullptr || has_views(*n)) return false;
    switch (n->op->kind) {
    case operation_kind::constant:
    case operation_kind::iota:
    case operation_kind::size:
    case operation_kind::broadcast:
    case operation_kind::reshape:
    case operation_kind::permute: return true;
    default: return false;
    }
  }
  constexpr symbol value_at(int way, symbol wanted) {
    array<symbol> waiting;
    waiting.push(wanted);
    while (!waiting.empty()) {
      symbol const t = waiting.back();
      if (find(t, way) != none) {
        (void)waiting.pop();
        continue;
      }
      bool const makes = is_made_again(t) || is_light(t);
      bool ready = true;
      if (makes) {
        node const& n = g_.nodes[g_.tensors[t].producer];
        for (int k = 0; k < n.operand_count; ++k)
          if (symbol const x = g_.operand(n, k); x != none && find(x, way) == none) {
            waiting.push(x);
            ready = false;
          }
      }
      if (ready && makes) make(t, way);
      else if (ready) note(t, way, passed(t, way));
    }
    return find(wanted, way);
  }
  constexpr void note(symbol t, int way, symbol made) {
    if (find(t, way) == none) first_[t] = made_.push({way, made, first_[t]});
  }
  constexpr void make(symbol t, int way) {
    node const& n = g_.nodes[g_.tensors[t].producer];
    array<symbol> x(n.operand_count, none);
    for (int k = 0; k < n.operand_count; ++k)
      if (g_.operand(n, k) != none) x[k] = find(g_.operand(n, k), way);
    if (is_made_again(t)) used_[home_[t]] = true;
    if (n.op->prints) return note(t, way, x[0]); // the original prints
    builder_scope const outer(b_);
    b_.region = region_of(way);
    b_.flags = n.flags;
    b_.flags.merges = false;
    if (value_ways::is_control(n)) {
      array<symbol> const y = regions_.again(n, x);
      for (int k = 0; k < n.result_count; ++k)
        if (g_.result(n, k) != none) note(g_.result(n, k), way, y[k]);
    } else
      note(t, way,
           b_.push(n.op, x.data(), n.operand_count, g_.numbers + n.attribute, n.attribute_count,
                   g_.tensors[t].type, g_.tensors[t].shape, n.where));
  }
  /// Passes a value out of regions and into others; loop-invariant values and the count need no record.
  constexpr symbol passed(symbol t, int way) {
    value_way const& w = found_[way];
    array<bool> as_it_is(w.in.size());
    int begin = 0;
    for (int k = 0; k < w.out.size(); ++k) {
      way_step const& step = w.out[k];
      bool const is_input = ways_.input_of(t) == step.region, loop = step.what == way_step::stacks;
      if (is_input && loop && ways_.position(t) == 0) {
        begin = w.partner[k] + 1;
        t = g_.input(0, w.in[begin - 1].region);
        break;
      }
      way_step before;
      symbol const source = is_input ? ways_.before(t, before) : none;
      if (source == none) {
        t = wider_.cross(step, t);
        continue;
      }
      if (before.what == way_step::captures) as_it_is[w.partner[k]] = true;
      t = source;
    }
    for (int k = begin; k < w.common; ++k) {
      way_step step = w.in[k];
      if (as_it_is[k]) step.what = way_step::captures;
      t = wider_.cross(step, t);
    }
    return t;
  }

  /// Copies precede all other nodes of their regions.
  constexpr void replace() {
    for (node const& n : b_.get().nodes)
      for (int k = 0; k < n.operand_count; ++k)
        if (symbol const x = b_.get().ids[n.first + k];
            x != none && x < replaced_.size() && replaced_[x] != none)
          b_.edit().ids[n.first + k] = replaced_[x];
    array<std::int32_t> last(b_.get().regions.size(), none), before(b_.get().nodes.size(), none), order;
    for (std::int32_t i = b_.get().nodes.size(); i-- > g_.node_count;) {
      std::int32_t const r = b_.get().nodes[i].region;
      before[i] = last[r];
      last[r] = i;
    }
    for (std::int32_t r = g_.region_count; r < last.size(); ++r)
      for (std::int32_t k = last[r]; k != none; k = before[k]) order.push(k);
    for (std::int32_t i = 0; i < g_.node_count; ++i) {
      std::int32_t const r = g_.nodes[i].region;
      for (std::int32_t k = last[r]; k != none; k = before[k]) order.push(k);
      last[r] = none;
      order.push(i);
    }
    b_.reorder(order);
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
