// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_ORDER_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_ORDER_HPP

#include <cotangent/plan/memory/peak_order.hpp>
#include <cotangent/run/interpreter/execute/plan.hpp>

#include <cstdint>

// The order in which steps run.

COTANGENT_COLD_BEGIN
namespace cotangent::detail::interpret {

/// A binary heap of steps; the root is the first in the graph's order.
template <class Plan> class step_heap {
  array<std::int32_t> at_;

public:
  bool empty() const noexcept { return at_.empty(); }
  void push(Plan const& p, std::int32_t s) {
    int k = at_.push(s);
    for (; k > 0 && before(p, s, at_[(k - 1) / 2]); k = (k - 1) / 2) at_[k] = at_[(k - 1) / 2];
    at_[k] = s;
  }
  std::int32_t pop(Plan const& p) {
    std::int32_t const top = at_[0], s = at_.pop();
    int const n = at_.size();
    if (n == 0) return top;
    int k = 0;
    for (int child = 1; child < n; child = 2 * k + 1) {
      if (child + 1 < n && before(p, at_[child + 1], at_[child])) ++child;
      if (!before(p, at_[child], s)) break;
      at_[k] = at_[child];
      k = child;
    }
    at_[k] = s;
    return top;
  }

private:
  static bool before(Plan const& p, std::int32_t a, std::int32_t b) {
    return p.steps[a].key != p.steps[b].key ? p.steps[a].key < p.steps[b].key : a < b;
  }
};

/// Visits each pair of steps of which the first must run before the second.
template <class Plan, class Visit> void each_step_edge(Plan const& p, Visit visit) {
  for (int s = 0; s < p.steps.size(); ++s)
    for (int u = p.steps[s].first_unit; u >= 0; u = p.units[u].next)
      for (int k = 0; k < p.units[u].count; ++k) {
        std::int32_t const root = p.operand(p.units[u], k).root;
        int const from = root < 0 ? -1 : p.roots[root].step;
        if (from >= 0 && from != s) visit(from, s);
      }
  for (int e = 0; e < p.edges.size(); ++e)
    if (p.edges[e].before != p.edges[e].after) visit(p.edges[e].before, p.edges[e].after);
}

/// A valid order of the steps, as close to the graph's order as possible.
template <class Plan> array<std::int32_t> order_of_steps(Plan const& p) {
  int const n = p.steps.size();
  array<std::int32_t> waits(n, 0), first(n + 1, 0), readers, order;
  auto const each_edge = [&](auto visit) { each_step_edge(p, visit); };
  each_edge([&](int from, int) { ++first[from + 1]; });
  for (int s = 0; s < n; ++s) first[s + 1] += first[s];
  readers.resize(first[n]);
  array<std::int32_t> filled = first;
  each_edge([&](int from, int s) {
    readers[filled[from]++] = s;
    ++waits[s];
  });
  step_heap<Plan> ready;
  for (int s = 0; s < n; ++s)
    if (waits[s] == 0) ready.push(p, s);
  while (!ready.empty()) {
    std::int32_t const s = ready.pop(p);
    order.push(s);
    for (int k = first[s]; k < first[s + 1]; ++k)
      if (--waits[readers[k]] == 0) ready.push(p, readers[k]);
  }
  return order;
}

/// Sets the order of the steps, and computes the last read of each root.
template <class Plan> void set_order(Plan& p, array<std::int32_t> const& order) {
  int const n = p.steps.size();
  p.order = order;
  for (int k = 0; k < n; ++k) p.steps[order[k]].position = k;
  auto const touch = [&](std::int32_t root, int s, bool from_outside) {
    for (;; root = p.roots[root].which) { // the enclosing root lives as long
      memory_root& r = p.roots[root];
      if (r.last < p.steps[s].position) r.last = p.steps[s].position;
      if (from_outside || r.kind == home::part) r.outside = true;
      if (r.kind != home::part) return;
      from_outside = true;
    }
  };
  for (int s = 0; s < n; ++s)
    for (int u = p.steps[s].first_unit; u >= 0; u = p.units[u].next) {
      unit const& at = p.units[u];
      for (int k = 0; k < at.count; ++k)
        if (std::int32_t const root = p.operand(at, k).root; root >= 0)
          touch(root, s, p.roots[root].step != s);
      for (int d = at.drain; d >= 0; d = p.drains[d].next) touch(p.drains[d].to.root, s, true);
      for (int k = 0; k < at.more_count; ++k) touch(p.results[at.more + k], s, true);
      if (at.root >= 0 && p.roots[at.root].kind == home::part) touch(at.root, s, true);
      // A result stored by a step of its own needs memory even if it is only waited for.
      if (at.root >= 0 && p.steps[s].shape < 0) p.roots[at.root].outside = true;
      for (std::int32_t r = at.sum; r >= 0; r = p.units[r].sum) p.roots[p.units[r].root].outside = true;
    }
}

inline void exchange(plan_data& a, plan_data& b) {
  plan_data kept = static_cast<plan_data&&>(a);
  a = static_cast<plan_data&&>(b);
  b = static_cast<plan_data&&>(kept);
}

/// The memory that steps hold in the workspace; input of the search for an order with a low peak.
template <class Build> class step_memory {
  Build const& b_;
  plan_data const& p_;
  array<std::int32_t> value_; // by root; -1: it needs no memory there
  array<std::int32_t> seen_;  // by value: the step that last reported it

public:
  peak_problem problem;

  step_memory(Build const& b, interpreter_memory const& memory)
      : b_(b), p_(b.plan), value_(b.plan.roots.size(), -1) {
    problem.steps = p_.steps.size();
    array<bool> elsewhere(p_.roots.size(), false), stays(p_.roots.size(), false);
    for (int k = 0; k < b.outputs.size(); ++k) {
      strided const& v = b.outputs[k];
      if (v.root < 0) continue;
      bool const own = k < memory.own_outputs.size() && memory.own_outputs[k];
      memory_root const& r = p_.roots[v.root];
      bool const direct =
          r.kind == home::workspace && v.offset == 0 && v.contiguous() && v.count() == r.elements;
      (direct && !own ? elsewhere : stays)[p_.whole(v.root)] = true;
    }
    for (std::int32_t r = 0; r < p_.roots.size(); ++r)
      if (p_.roots[r].kind == home::workspace && !elsewhere[r])
        value_[r] = problem.values.push({whole_lines(p_.roots[r].bytes), p_.roots[r].begins, stays[r]});
    for (int k = 0; k < b.input_roots.size() && k < memory.own_inputs.size(); ++k)
      if (std::int32_t const r = b.input_roots[k]; memory.own_inputs[k] && p_.roots[r].kind == home::input)
        value_[r] = problem.values.push({whole_lines(p_.roots[r].bytes), true, stays[r]});
    seen_.assign(problem.values.size(), -1);
    for (std::int32_t s = 0; s < problem.steps; ++s)
      for (std::int32_t u = p_.steps[s].first_unit; u >= 0; u = p_.units[u].next) add_unit(s, u);
    each_step_edge(p_, [&](std::int32_t before, std::int32_t after) { problem.edges.push({before, after}); });
    // A result that replaces an input waits for the input's readers, as it does in the graph's order.
    for (int k = 0; k < b.outputs.size() && k < memory.updates.size(); ++k)
      if (memory.updates[k] >= 0 && b.outputs[k].root >= 0)
        write_after_reads(p_.roots[b.outputs[k].root], b.input_roots[memory.updates[k]]);
  }

private:
  void use(std::int32_t s, std::int32_t root) {
    if (root < 0) return;
    std::int32_t const v = value_[p_.whole(root)];
    if (v < 0 || seen_[v] == s) return;
    seen_[v] = s;
    problem.uses.push({s, v});
  }
  void add_unit(std::int32_t s, std::int32_t u) {
    unit const& at = p_.units[u];
    for (int k = 0; k < at.count; ++k)
      if (std::int32_t const r = p_.operand(at, k).root; r >= 0 && p_.roots[p_.whole(r)].step != s) use(s, r);
    for (std::int32_t d = at.drain; d >= 0; d = p_.drains[d].next) use(s, p_.drains[d].to.root);
    for (int k = 0; k < at.more_count; ++k) use(s, p_.results[at.more + k]);
    for (std::int32_t r = at.sum; r >= 0; r = p_.units[r].sum)
      use(s, p_.units[r].root);
    if (at.root < 0 || !(p_.roots[at.root].outside || p_.roots[at.root].kind == home::part)) return;
    use(s, at.root);
    std::int32_t const made = value_[p_.whole(at.root)];
    for (int k = 0; k < at.count && p_.steps[s].shape >= 0 && made >= 0; ++k) {
      strided const& x = p_.operand(at, k);
      std::int32_t const from = x.root < 0 || p_.roots[x.root].step == s ? -1 : value_[x.root];
      if (from < 0 || problem.values[from].bytes != problem.values[made].bytes || !x.contiguous() ||
          x.offset != 0 || x.count() != p_.roots[x.root].elements)
        continue;
      problem.replacements.push({s, from, made});
      return;
    }
  }
  void write_after_reads(memory_root const& to, std::int32_t input) {
    std::int32_t const written = to.step < 0 ? -1 : p_.steps[to.step].position;
    if (written < 0 || p_.roots[input].last > written) return;
    for (std::int32_t s = 0; s < problem.steps; ++s)
      for (std::int32_t u = p_.steps[s].first_unit; u >= 0 && s != to.step; u = p_.units[u].next)
        for (int k = 0; k < p_.units[u].count; ++k)
          if (p_.operand(p_.units[u], k).root == input) problem.edges.push({s, to.step});
  }
};

/// An order with a lower peak than the current one, if the search finds one; else empty.
template <class Build> array<std::int32_t> order_of_less(Build const& b, interpreter_memory const& memory) {
  step_memory<Build> const m(b, memory);
  int const n = b.plan.order.size();
  array<std::int32_t> found = order_of_low_peak(m.problem, b.plan.order, 4 * n + 64);
  if (peak_of(m.problem, found).bytes >= peak_of(m.problem, b.plan.order).bytes) found.clear();
  return found;
}

} // namespace cotangent::detail::interpret
COTANGENT_COLD_END

#endif
