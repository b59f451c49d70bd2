// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_REMATERIALIZE_VALUE_WAYS_HPP
#define COTANGENT_TRANSFORM_REMATERIALIZE_VALUE_WAYS_HPP

#include <cotangent/ops/control.hpp>

#include <cstdint>

// Traces values from the body or branch that computes them to another one: a sequence that one loop stacks
// and another one scans, a result of a branch that is passed to another branch.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// A step across the border of one region, out of it or into it.
struct way_step {
  enum kind : unsigned char { stacks, gives, scans, captures, enters };
  kind what = stacks;
  std::int32_t node = none;   // the loop or the branch
  std::int32_t region = none; // the region that is left or entered
  int branch = 0;             // of a choice

  constexpr bool leaves() const noexcept { return what == stacks || what == gives; }
  friend constexpr bool operator==(way_step const&, way_step const&) = default;
};

/// The way of a value from its computation: first out of regions, then into others.
struct value_way {
  symbol from = none;      // its symbol there
  array<way_step> out, in; // in order
  array<symbol> arrives;   // by step in: the input of the region
  array<int> partner;      // by step out: the step in that undoes it
  int common = 0;          // the number of steps in, up to the last that undoes one
  bool matched = false;    // each step out is undone: in each iteration it is the value of that iteration
};

/// Finds the ways of values in a graph.
class value_ways {
  graph_view const& g_;
  array<std::int32_t> region_; // by symbol: the region whose input it is, none for others; 0 counts as none
  array<int> position_;        // by symbol: among the inputs, or among the results of a loop or branch

public:
  constexpr explicit value_ways(graph_view const& g)
      : g_(g), region_(g.tensor_count, none), position_(g.tensor_count) {
    for (std::int32_t r = 1; r < g.region_count; ++r)
      for (int k = 0; k < g.input_count(r); ++k) {
        region_[g.input(k, r)] = r;
        position_[g.input(k, r)] = k;
      }
    for (std::int32_t i = 0; i < g.node_count; ++i)
      for (int k = 0; is_control(g.nodes[i]) && k < g.nodes[i].result_count; ++k)
        if (symbol const y = g.result(g.nodes[i], k); y != none) position_[y] = k;
  }

  static constexpr bool is_control(node const& n) noexcept {
    return n.op == info_of<op::loop>() || n.op == info_of<op::case_of>();
  }
  /// The body, condition or branch of which it is an input; none for other symbols.
  constexpr std::int32_t input_of(symbol t) const { return t < region_.size() ? region_[t] : none; }
  constexpr int position(symbol t) const { return position_[t]; }
  /// True if it crosses a border.
  constexpr bool crosses(symbol t) const {
    std::int32_t const p = g_.tensors[t].producer;
    return region_[t] != none || (p != none && is_control(g_.nodes[p]));
  }

  /// The symbol on the other side of the last border; none if it is computed here, carried, or ambiguous.
  constexpr symbol before(symbol t, way_step& step) const {
    if (std::int32_t const r = region_[t]; r != none) {
      std::int32_t const at = g_.regions[r].owner;
      node const& n = g_.nodes[at];
      int const k = position_[t];
      if (n.op == info_of<op::case_of>()) {
        case_layout const choice = case_layout::of(g_, n);
        int j = 0;
        while (choice.branch(j) != r) ++j;
        step = {way_step::enters, at, r, j};
        return g_.operand(n, case_layout::value(k));
      }
      loop_layout const loop = loop_layout::of(g_, n);
      if (k < loop.capture(0)) return none;
      step = {k < loop.scan(0) ? way_step::captures : way_step::scans, at, r, 0};
      return g_.operand(n, k);
    }
    std::int32_t const at = g_.tensors[t].producer;
    if (at == none || !is_control(g_.nodes[at])) return none;
    node const& n = g_.nodes[at];
    int const k = position_[t];
    if (n.op == info_of<op::loop>()) {
      loop_layout const loop = loop_layout::of(g_, n);
      if (k < loop.carried || k >= loop.trips()) return none;
      step = {way_step::stacks, at, loop.body, 0};
      return g_.output(k, loop.body);
    }
    case_layout const choice = case_layout::of(g_, n);
    int only = -1;
    if (choice.bypass(k) >= 0) return none;
    for (int j = 0; j < choice.branches; ++j)
      if (g_.output(k, choice.branch(j)) != none) {
        if (only >= 0) return none;
        only = j;
      }
    if (only < 0) return none;
    step = {way_step::gives, at, choice.branch(only), only};
    return g_.output(k, choice.branch(only));
  }

  /// Back to the symbol that is computed there, or that leaves one of `whole`, nodes that count as one value.
  constexpr value_way operator()(symbol t, array<bool> const& whole) const {
    value_way way;
    array<way_step> out, in;
    array<symbol> arrives;
    int open = 0; // sequences of which an entry is wanted
    for (way_step step;;) {
      if (std::int32_t const p = g_.tensors[t].producer; p != none && !out.empty() && whole[p]) break;
      symbol const next = before(t, step);
      if (next == none || (!step.leaves() && !out.empty()) || (step.what == way_step::stacks && open == 0))
        break;
      if (step.what == way_step::stacks) --open;
      if (step.what == way_step::scans) ++open;
      if (step.leaves()) out.push(step);
      else in.push(step), arrives.push(t);
      t = next;
    }
    way.from = t;
    for (int k = out.size(); k-- > 0;) way.out.push(out[k]);
    for (int k = in.size(); k-- > 0;) way.in.push(in[k]), way.arrives.push(arrives[k]);
    match(way);
    return way;
  }

private:
  /// The symbol that computes the value, across all borders.
  constexpr symbol source(symbol t) const {
    for (way_step step;;) {
      symbol const next = before(t, step);
      if (next == none) return t;
      t = next;
    }
  }
  /// True if two choices select the same branch.
  constexpr bool same_choice(std::int32_t a, std::int32_t b) const {
    return source(g_.operand(g_.nodes[a], case_layout::index())) ==
           source(g_.operand(g_.nodes[b], case_layout::index()));
  }
  constexpr void match(value_way& way) const {
    way.partner.assign(way.out.size(), -1);
    int k = way.out.size() - 1;
    for (int j = 0; j < way.in.size(); ++j) {
      bool const scans = way.in[j].what == way_step::scans;
      bool const undoes =
          k >= 0 &&
          (scans ? way.out[k].what == way_step::stacks
                 : way.in[j].what == way_step::enters && way.out[k].what == way_step::gives &&
                       way.in[j].branch == way.out[k].branch && same_choice(way.in[j].node, way.out[k].node));
      if (scans && !undoes && k >= 0) return;
      if (scans && !undoes) break; // an entry of a value that is a sequence itself
      if (!undoes) continue;
      way.partner[k--] = j;
      way.common = j + 1;
    }
    way.matched = k < 0 && way.common > 0;
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
