// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_TAPE_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_TAPE_HPP

#include <cotangent/ops/control.hpp>
#include <cotangent/run/interpreter/execute/plan.hpp>
#include <cotangent/run/interpreter/execute/steps.hpp>

#include <cstdint>

// Lifetimes of the records of loops. Records that a region returns go to one stack of the tape, all others to
// the other stack. That stack is reset as soon as the last reader of its records has run. A loop that runs
// again for its gradient thus takes only its own record, once.

COTANGENT_COLD_BEGIN
namespace cotangent::detail::interpret {

/// For a region whose steps are ordered. (A template, like all of the preparation.)
template <class Build, class Control> class record_lives {
public:
  array<record_place> places;   // by position
  array<std::int32_t> released; // by position: the mark that the other stack is then reset to, -1 for none
  std::int32_t marks = 0;

  explicit record_lives(Build const& b)
      : places(b.plan.order.size()), released(b.plan.order.size(), -1), b_(b), p_(b.plan) {
    end_.assign(p_.roots.size(), never);
    bool any = false;
    for (std::int32_t at = 0; at < p_.order.size(); ++at) any = find_made(at) || any;
    if (!any) return;
    for (std::int32_t at = p_.order.size(); at-- > 0;) find_handed_on(at);
    settle();
  }

private:
  static constexpr std::int32_t never = -1;
  Build const& b_;
  plan_data const& p_;
  array<std::int32_t>
      end_; // by root: the position of its last reader; `never` if it is no record of this region

  template <class Visit> void each_unit(std::int32_t at, Visit visit) const {
    for (std::int32_t u = p_.steps[p_.order[at]].first_unit; u >= 0; u = p_.units[u].next) visit(p_.units[u]);
  }
  bool is_record(unit const& u, int k) const {
    return b_.g.tensors[b_.g.result(b_.g.nodes[u.node], k)].depth > 0;
  }
  std::int32_t first_end(std::int32_t root, std::int32_t at) const {
    memory_root const& r = p_.roots[root];
    return r.kind == home::output || r.last >= p_.order.size() ? p_.order.size() : r.last < at ? at : r.last;
  }
  bool find_made(std::int32_t at) {
    bool any = false;
    each_unit(at, [&](unit const& u) {
      if (u.node < 0 && u.count == 1 && u.root >= 0 && reads_record(u)) end_[u.root] = first_end(u.root, at);
      bool const records = u.node >= 0 && b_.g.nodes[u.node].op != Control::zero();
      for (int k = 0; k < u.more_count && records; ++k)
        if (is_record(u, k)) {
          std::int32_t const root = p_.results[u.more + k];
          end_[root] = first_end(root, at);
          any = true;
        }
    });
    return any;
  }
  bool reads_record(unit const& u) const {
    for (int k = 0; k < u.count; ++k)
      if (std::int32_t const root = p_.operand(u, k).root; root >= 0 && end_[root] != never) return true;
    return false;
  }
  /// Operands that a result may contain live as long as the result.
  void find_handed_on(std::int32_t at) {
    each_unit(at, [&](unit const& u) {
      std::int32_t end = u.node < 0 && u.root >= 0 ? end_[u.root] : never;
      for (int k = 0; k < u.more_count; ++k) {
        if (!is_record(u, k) || !may_hold_operand(u, k)) continue;
        std::int32_t const one = end_[p_.results[u.more + k]];
        if (end < one) end = one;
      }
      for (int k = 0; k < u.count && end != never; ++k)
        if (std::int32_t const root = p_.operand(u, k).root;
            root >= 0 && end_[root] != never && end_[root] < end)
          end_[root] = end;
    });
  }
  bool may_hold_operand(unit const& u, int k) const {
    node const& n = b_.g.nodes[u.node];
    bool const sum = n.op != Control::loop() && n.op != Control::case_of();
    return sum || may_be_given(b_.g.result(n, k));
  }
  /// True if a sequence computed in a region can be one of its arguments, or contain one.
  bool may_be_given(symbol y) const {
    graph_view const& g = b_.g;
    std::int32_t const p = g.tensors[y].producer;
    if (p == none) return true;
    node const& n = g.nodes[p];
    int k = 0;
    while (g.result(n, k) != y) ++k;
    if (n.op == Control::loop()) {
      loop_layout const l = loop_layout::of(g, n);
      if (k < l.carried) return true;
      return g.tensors[y].depth > 1 && may_be_given(g.output(k, l.body));
    }
    if (n.op == Control::case_of()) {
      case_layout const c = case_layout::of(g, n);
      bool given = c.bypass(k) >= 0;
      for (int j = 0; j < c.branches && !given; ++j) {
        symbol const one = g.output(k, c.branch(j));
        given = one != none && may_be_given(one);
      }
      return given;
    }
    for (int j = 0; j < n.operand_count; ++j)
      if (may_be_given(g.operand(n, j))) return true;
    return false;
  }

  void settle() {
    struct open {
      std::int32_t at = 0, end = 0;
    };
    array<std::int32_t> end(p_.order.size(), never); // by position
    std::int32_t last = -1;
    for (std::int32_t at = 0; at < p_.order.size(); ++at) {
      each_unit(at, [&](unit const& u) {
        for (int k = 0; k < u.more_count; ++k)
          if (is_record(u, k) && end[at] < end_[p_.results[u.more + k]])
            end[at] = end_[p_.results[u.more + k]];
      });
      places[at].apart = end[at] != never && end[at] < p_.order.size();
      if (places[at].apart) last = at;
    }
    array<open> stands;
    for (std::int32_t at = 0; at < last; ++at) {
      if (places[at].apart) stands.push({at, end[at]});
      std::int32_t lowest = -1;
      while (!stands.empty() && stands.back().end <= at) lowest = stands.pop().at;
      if (lowest < 0) continue;
      places[lowest].mark = released[at] = marks++;
    }
  }
};

} // namespace cotangent::detail::interpret
COTANGENT_COLD_END

#endif
