// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_REMATERIALIZE_WIDENING_HPP
#define COTANGENT_TRANSFORM_REMATERIALIZE_WIDENING_HPP

#include <cotangent/graph/builder_scope.hpp>
#include <cotangent/transform/differentiate/saved_values.hpp>
#include <cotangent/transform/rematerialize/value_ways.hpp>

#include <cstdint>

// Loops and branches that pass further values.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Passes values across the borders of regions: by existing captures, sequences, values and results, or by
/// new ones, which `finish` adds to the nodes. Until then the graph that is read does not change.
class widening {
  struct crossing {
    symbol outside = none, inside = none, also = none; // also: in the condition
    int branch = 0;
  };
  struct addition {
    array<crossing> captures, scans, stacks, gives;
    array<symbol> values;           // of a choice
    array<array<symbol>> in_branch; // by value, by branch
  };
  builder& b_;
  graph_view const& g_;
  array<int> of_;             // by node: the index of its addition, -1 for none
  array<std::int32_t> wider_; // nodes
  array<addition> added_;

public:
  /// Precondition: `b` is a copy of `g`.
  constexpr widening(builder& b, graph_view const& g) : b_(b), g_(g), of_(g.node_count, -1) {}

  /// Returns the symbol on the other side of a border.
  constexpr symbol cross(way_step const& step, symbol t) {
    switch (step.what) {
    case way_step::stacks: return stacked(step, t);
    case way_step::gives: return given(step, t);
    case way_step::scans: return scanned(step, t);
    case way_step::captures: return captured(step, t);
    default: return entered(step, t);
    }
  }
  constexpr void finish() {
    for (int k = 0; k < wider_.size(); ++k)
      if (g_.nodes[wider_[k]].op == info_of<op::loop>()) widen_loop(wider_[k], added_[k]);
      else widen_choice(wider_[k], added_[k]);
  }

private:
  constexpr addition& more(std::int32_t i) {
    if (of_[i] < 0) {
      of_[i] = added_.push({});
      wider_.push(i);
    }
    return added_[of_[i]];
  }
  constexpr symbol like(symbol t, std::int32_t region, int deeper = 0) {
    builder_scope const outer(b_);
    b_.region = region;
    return b_.symbol_like(t, deeper);
  }

  constexpr symbol stacked(way_step const& step, symbol t) {
    node const& n = g_.nodes[step.node];
    loop_layout const at = loop_layout::of(g_, n);
    for (int k = at.carried; k < at.output_count(); ++k)
      if (g_.output(k, at.body) == t) return g_.result(n, k);
    addition& a = more(step.node);
    for (crossing const& c : a.stacks)
      if (c.inside == t) return c.outside;
    a.stacks.push({like(t, n.region, 1), t});
    return a.stacks.back().outside;
  }
  constexpr symbol given(way_step const& step, symbol t) {
    node const& n = g_.nodes[step.node];
    case_layout const at = case_layout::of(g_, n);
    for (int k = 0; k < at.results; ++k)
      if (g_.output(k, step.region) == t) return g_.result(n, k);
    addition& a = more(step.node);
    for (crossing const& c : a.gives)
      if (c.inside == t) return c.outside;
    a.gives.push({like(t, n.region), t, none, step.branch});
    return a.gives.back().outside;
  }
  constexpr symbol scanned(way_step const& step, symbol t) {
    node const& n = g_.nodes[step.node];
    loop_layout const at = loop_layout::of(g_, n);
    for (int k = at.scan(0); k < at.operand_count(); ++k)
      if (g_.operand(n, k) == t) return g_.input(k, at.body);
    addition& a = more(step.node);
    for (crossing const& c : a.scans)
      if (c.outside == t) return c.inside;
    a.scans.push({t, like(t, at.body, -1)});
    return a.scans.back().inside;
  }
  constexpr symbol captured(way_step const& step, symbol t) {
    node const& n = g_.nodes[step.node];
    loop_layout const at = loop_layout::of(g_, n);
    bool const in_condition = at.condition != none && step.region == at.condition;
    for (int k = at.capture(0); k < at.scan(0); ++k)
      if (g_.operand(n, k) == t) return g_.input(k, step.region);
    addition& a = more(step.node);
    for (crossing const& c : a.captures)
      if (c.outside == t) return in_condition ? c.also : c.inside;
    a.captures.push({t, like(t, at.body), at.condition == none ? none : like(t, at.condition)});
    return in_condition ? a.captures.back().also : a.captures.back().inside;
  }
  constexpr symbol entered(way_step const& step, symbol t) {
    node const& n = g_.nodes[step.node];
    case_layout const at = case_layout::of(g_, n);
    for (int k = 0; k < at.values; ++k)
      if (g_.operand(n, case_layout::value(k)) == t) return g_.input(k, step.region);
    addition& a = more(step.node);
    for (int k = 0; k < a.values.size(); ++k)
      if (a.values[k] == t) return a.in_branch[k][step.branch];
    array<symbol> in;
    for (int j = 0; j < at.branches; ++j) in.push(like(t, at.branch(j)));
    a.values.push(t);
    a.in_branch.push(in);
    return in[step.branch];
  }

  constexpr void widen_loop(std::int32_t i, addition const& a) {
    node const& n = g_.nodes[i];
    loop_layout const old = loop_layout::of(g_, n);
    loop_layout now = old;
    array<symbol> operands, in, in_condition, results, out;
    for (int k = 0; k < old.scan(0); ++k) {
      operands.push(g_.operand(n, k));
      in.push(g_.input(k, old.body));
      if (old.condition != none) in_condition.push(g_.input(k, old.condition));
    }
    for (crossing const& c : a.captures) {
      operands.push(c.outside);
      in.push(c.inside);
      in_condition.push(c.also);
    }
    for (int k = old.scan(0); k < old.operand_count(); ++k) {
      operands.push(g_.operand(n, k));
      in.push(g_.input(k, old.body));
    }
    for (crossing const& c : a.scans) {
      operands.push(c.outside);
      in.push(c.inside);
    }
    if (old.has_start()) operands.push(g_.operand(n, old.start()));
    for (int k = 0; k < old.output_count(); ++k) {
      results.push(g_.result(n, k));
      out.push(g_.output(k, old.body));
    }
    for (crossing const& c : a.stacks) {
      results.push(c.outside);
      out.push(c.inside);
    }
    results.push(g_.result(n, old.trips()));
    now.captured += a.captures.size();
    now.scanned += a.scans.size();
    now.stacked += a.stacks.size();
    now.write(b_.edit().numbers.data() + n.attribute);
    b_.set_inputs(in.data(), in.size(), old.body);
    b_.set_outputs(out.data(), out.size(), old.body);
    if (old.condition != none) b_.set_inputs(in_condition.data(), in_condition.size(), old.condition);
    b_.edit().rewire(i, operands, results);
  }

  constexpr void widen_choice(std::int32_t i, addition const& a) {
    node const& n = g_.nodes[i];
    case_layout const old = case_layout::of(g_, n);
    array<symbol> operands, results;
    array<std::int64_t> attributes;
    for (int const count : {old.results + a.gives.size(), old.values + a.values.size(), old.branches})
      attributes.push(count);
    for (int k = 0; k < old.results; ++k) attributes.push(old.bypass(k));
    for (int k = 0; k < a.gives.size(); ++k) attributes.push(-1);
    for (int k = 0; k < n.operand_count; ++k) operands.push(g_.operand(n, k));
    for (symbol const t : a.values) operands.push(t);
    for (int k = 0; k < old.results; ++k) results.push(g_.result(n, k));
    for (crossing const& c : a.gives) results.push(c.outside);
    for (int j = 0; j < old.branches; ++j) {
      std::int32_t const r = old.branch(j);
      attributes.push(r);
      array<symbol> in, out;
      for (int k = 0; k < old.values; ++k) in.push(g_.input(k, r));
      for (array<symbol> const& value : a.in_branch) in.push(value[j]);
      for (int k = 0; k < old.results; ++k) out.push(g_.output(k, r));
      for (crossing const& c : a.gives) out.push(c.branch == j ? c.inside : none);
      b_.set_inputs(in.data(), in.size(), r);
      b_.set_outputs(out.data(), out.size(), r);
    }
    b_.edit().nodes[i].attribute = b_.get().numbers.size();
    b_.edit().nodes[i].attribute_count = attributes.size();
    for (std::int64_t const v : attributes) b_.edit().numbers.push(v);
    b_.edit().rewire(i, operands, results);
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
