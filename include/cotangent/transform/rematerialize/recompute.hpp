// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_REMATERIALIZE_RECOMPUTE_HPP
#define COTANGENT_TRANSFORM_REMATERIALIZE_RECOMPUTE_HPP

#include <cotangent/ops/compare.hpp>
#include <cotangent/transform/rematerialize/memory_nodes.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// A graph whose nodes run in the order of a schedule, with a copy of a node for each further run. A copy reads its operands
/// through `op::after`, so it runs after the preceding steps of the schedule. It never merges with the original.
class recomputing {
  graph_view const& g_;
  memory_nodes const& values_;
  graph to_;
  struct standing {
    symbol now = none;     // what a symbol of the graph is at this time
    std::int32_t turn = 0; // the turn for which it waited, if it is a copy
  };
  array<standing> now_;       // by old symbol
  array<std::int32_t> place_; // by node: its position in the copy, none while it has no copy
  array<std::int32_t> late_;  // by new symbol: that turn
  struct barrier {
    symbol of = none, with = none;
  };
  array<barrier> barriers_;                   // by new symbol: itself after some value
  symbol trigger_ = none;                     // the value that was last computed for the first time
  std::int32_t turn_ = 0;                     // how many times there was one
  array<std::int32_t> first_inside_, inside_; // by node: those of its regions

public:
  constexpr recomputing(graph_view const& g, memory_nodes const& values, array<std::int32_t> const& steps)
      : g_(g), values_(values), to_(g), now_(g.tensor_count), place_(g.node_count, none) {
    start();
    array<char> known(values.size());
    for (std::int32_t const v : steps) {
      run(v, known[v] != 0);
      known[v] = 1;
    }
    array<symbol> outputs;
    for (int k = 0; k < g.output_count(); ++k) outputs.push(current(g.output(k)));
    to_.set_outputs(outputs.data(), outputs.size());
    for (region& r : to_.regions)
      if (r.owner != none) r.owner = place_[r.owner];
  }
  constexpr graph& result() { return to_; }

private:
  constexpr void start() {
    to_.nodes.clear();
    to_.ids.clear();
    for (std::int32_t r = 0; r < g_.region_count; ++r) {
      to_.set_inputs(g_.ids + g_.regions[r].first_input, g_.input_count(r), r);
      to_.set_outputs(g_.ids + g_.regions[r].first_output, g_.output_count(r), r);
    }
    for (symbol t = 0; t < g_.tensor_count; ++t) now_[t].now = t;
    late_.assign(g_.tensor_count, 0);
    barriers_.resize(g_.tensor_count);
    if (g_.region_count == 1) return;
    first_inside_.assign(g_.node_count + 1, 0);
    array<std::int32_t> owner(g_.node_count, none);
    for (std::int32_t i = 0; i < g_.node_count; ++i)
      if (g_.nodes[i].region != 0) {
        owner[i] = in_region(g_, i, 0);
        if (owner[i] != none) ++first_inside_[owner[i] + 1];
      }
    for (std::int32_t i = 0; i < g_.node_count; ++i) first_inside_[i + 1] += first_inside_[i];
    inside_.resize(first_inside_[g_.node_count]);
    array<std::int32_t> at = first_inside_;
    for (std::int32_t i = 0; i < g_.node_count; ++i)
      if (owner[i] != none) inside_[at[owner[i]]++] = i;
  }

  constexpr void run(std::int32_t v, bool again) {
    for (int k = values_.first[v]; k < values_.first[v + 1]; ++k) {
      std::int32_t const i = values_.nodes[k];
      if (again) copy(i);
      else emit(i);
    }
    node const& n = g_.nodes[values_.nodes[values_.first[v + 1] - 1]];
    if (again || n.result_count == 0 || g_.result(n) == none || g_.tensors[g_.result(n)].depth > 0) return;
    trigger_ = now_[g_.result(n)].now;
    ++turn_;
  }

  /// The current symbol of operand t. A free node (a view of it, say) is copied if its operands have changed.
  constexpr symbol current(symbol t) {
    if (t == none) return none;
    std::int32_t const i = g_.tensors[t].producer;
    if (i == none || g_.nodes[i].region != 0 || !values_.is_free(i)) return now_[t].now;
    node const n = g_.nodes[i];
    array<symbol> x(n.operand_count);
    bool still = place_[i] != none;
    std::int32_t turn = 0;
    std::int32_t const made = now_[t].now;
    for (int k = 0; k < n.operand_count; ++k) {
      // (the values that `after` waits for exist already)
      x[k] = k > 0 && n.op == info_of<op::after>() ? first_of(g_.operand(n, k)) : current(g_.operand(n, k));
      if (turn < late_[x[k]]) turn = late_[x[k]];
    }
    if (still) {
      node const& there = to_.nodes[to_.tensors[made].producer];
      for (int k = 0; k < n.operand_count; ++k) still = still && to_.ids[there.first + k] == x[k];
      if (still) return made;
    }
    symbol y = t;
    if (place_[i] != none) y = new_symbol(t, turn);
    else late_[t] = turn;
    push(i, x, &y, y == t);
    return now_[t].now = y;
  }
  constexpr symbol first_of(symbol t) {
    std::int32_t const i = t == none ? none : g_.tensors[t].producer;
    return i != none && place_[i] == none ? current(t) : t;
  }

  /// The first run of a node, with the nodes of its sub-graphs.
  constexpr void emit(std::int32_t i) {
    node const& n = g_.nodes[i];
    array<symbol> x(n.operand_count);
    for (int k = 0; k < n.operand_count; ++k) x[k] = current(g_.operand(n, k));
    bool const runs = g_.region_count > 1;
    int k = runs ? first_inside_[i] : 0;
    int const end = runs ? first_inside_[i + 1] : 0;
    for (; k < end && inside_[k] < i; ++k) move(inside_[k]);
    push(i, x, g_.ids + n.first + n.operand_count, true);
    for (; k < end; ++k) move(inside_[k]);
  }
  constexpr void move(std::int32_t i) {
    node const& n = g_.nodes[i];
    array<symbol> x(n.operand_count);
    for (int k = 0; k < n.operand_count; ++k) x[k] = g_.operand(n, k);
    push(i, x, g_.ids + n.first + n.operand_count, true);
  }

  constexpr void copy(std::int32_t i) {
    node const& n = g_.nodes[i];
    array<symbol> x(n.operand_count);
    std::int32_t turn = 0;
    int ordered = none;
    for (int k = 0; k < n.operand_count; ++k) {
      x[k] = current(g_.operand(n, k));
      if (turn < late_[x[k]]) turn = late_[x[k]];
      if (ordered == none && values_.is_ordered(g_.operand(n, k))) ordered = k;
    }
    if (turn < turn_ && ordered != none && trigger_ != none) {
      x[ordered] = waiting(x[ordered]);
      turn = turn_;
    }
    symbol const y = new_symbol(g_.result(n), turn);
    push(i, x, &y, false);
    now_[g_.result(n)].now = y;
  }
  /// `x` after `trigger_`, the value that was last computed for the first time.
  constexpr symbol waiting(symbol x) {
    if (barriers_[x].with == trigger_) return barriers_[x].of;
    symbol const y = new_symbol(x, turn_);
    to_.tensors[y].base = to_.tensors[y].window = none;
    symbol const both[]{x, trigger_};
    node n;
    n.op = info_of<op::after>();
    n.flags.merges = false;
    (void)to_.add(n, both, 2, &y, 1);
    barriers_[x] = {y, trigger_};
    return y;
  }
  constexpr symbol new_symbol(symbol like, std::int32_t turn) {
    tensor_symbol t = to_.tensors[like];
    t.producer = none;
    (void)late_.push(turn);
    (void)barriers_.push({});
    return to_.tensors.push(t);
  }
  constexpr void push(std::int32_t i, array<symbol> const& x, symbol const* y, bool original) {
    node n = g_.nodes[i];
    if (!original) n.flags.merges = false;
    std::int32_t const at = to_.add(n, x.data(), x.size(), y, n.result_count);
    if (original) place_[i] = at;
  }
};

/// The graph whose values are computed in the order of a schedule, some of them again: as late as the schedule has it, and
/// with equal bits.
constexpr graph recomputed(graph_view const& g, detail::memory_nodes const& values,
                           memory_schedule const& s) {
  return static_cast<graph&&>(detail::recomputing(g, values, s.steps).result());
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
