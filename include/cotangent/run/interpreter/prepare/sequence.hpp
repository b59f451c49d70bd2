// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_SEQUENCE_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_SEQUENCE_HPP

#include <cotangent/run/interpreter/prepare/units.hpp>

#include <cstdint>

// The order of units within a step. Each unit follows its operands as closely as possible, so that few values
// are live and most are read right after they are computed. A reduction of a whole tensor to one element runs
// while the tensor is computed, tile by tile, so that it need not be stored.

COTANGENT_COLD_BEGIN
namespace cotangent::detail::interpret {

/// Moves units that reduce the whole result of an elementwise step into that step.
template <class Build> void absorb_reductions(Build& b) {
  plan_data& p = b.plan;
  for (std::int32_t u = 0; u < p.units.size(); ++u) {
    unit& at = p.units[u];
    if (at.node < 0 || at.count != 1 || at.root < 0 || at.drain >= 0 || p.operand(at, 0).after >= 0 ||
        b.g.nodes[at.node].op->kind != operation_kind::reduction)
      continue;
    strided const& v = p.operand(at, 0);
    memory_root const &from = p.roots[v.root], &to = p.roots[at.root];
    kernel_set const* const k = b.kernels.find(b.g.nodes[at.node].op);
    bool const made_here = from.kind == home::workspace && from.unit >= 0 && from.pieces < 0 && !from.given &&
                           p.steps[from.step].shape >= 0 && p.units[from.unit].node >= 0 &&
                           !p.units[from.unit].absorbed;
    bool const whole = v.contiguous() && v.offset == 0 && v.count() == from.elements && from.elements > 0;
    if (!made_here || !whole || to.kind != home::workspace || to.pieces >= 0 || to.elements != 1 ||
        k == nullptr || k->parts[static_cast<int>(v.type)] == nullptr)
      continue;
    planned_step& left = p.steps[at.step];
    left.first_unit = left.last_unit = -1;
    at.step = from.step;
    p.roots[at.root].step = from.step;
    at.absorbed = true;
    at.sum = p.units[from.unit].sum;
    p.units[from.unit].sum = u;
  }
}

template <class Plan> class unit_sequence {
public:
  explicit unit_sequence(Plan& p) : p_(p), local_(p.units.size(), 0) {
    for (int s = 0; s < p.steps.size(); ++s)
      if (p.steps[s].shape >= 0) arrange(s);
  }

private:
  struct visit {
    std::int32_t uses = 0; // within the step
    std::int32_t depth = 0;
    bool entered = false;
  };
  Plan& p_;
  array<std::int32_t> local_; // by unit of the plan: its index in its step
  array<std::int32_t> at_;    // by index in the step: the unit
  array<visit> visits_;
  array<std::int32_t> sequence_, waiting_;
  array<unit> moved_;

  /// The unit of this step that computes operand k of u, or -1.
  std::int32_t made_by(unit const& u, int k, std::int32_t s) const {
    std::int32_t const root = p_.operand(u, k).root;
    return root >= 0 && p_.roots[root].step == s ? local_[p_.roots[root].unit] : -1;
  }

  void arrange(std::int32_t s) {
    at_.clear();
    for (std::int32_t u = p_.steps[s].first_unit; u >= 0; u = p_.units[u].next) local_[u] = at_.push(u);
    int const n = at_.size();
    if (n < 3) return;
    visits_.assign(n, {});
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < p_.units[at_[i]].count; ++k)
        if (std::int32_t const from = made_by(p_.units[at_[i]], k, s); from >= 0) {
          ++visits_[from].uses;
          if (visits_[i].depth <= visits_[from].depth) visits_[i].depth = visits_[from].depth + 1;
        }
    sequence_.clear();
    for (int i = 0; i < n; ++i)
      if (visits_[i].uses == 0) enter(i, s);
    moved_.clear();
    for (std::int32_t const i : sequence_) moved_.push(p_.units[at_[i]]);
    for (int i = 0; i < n; ++i) {
      unit& to = p_.units[at_[i]];
      std::int32_t const next = to.next;
      to = moved_[i];
      to.next = next;
      p_.roots[to.root].unit = at_[i];
    }
  }

  /// Appends a unit after its operands: first operands with several readers, which are stored anyway, then
  /// the deepest.
  void enter(std::int32_t sink, std::int32_t s) {
    waiting_.push(sink);
    visits_[sink].entered = true;
    while (!waiting_.empty()) {
      std::int32_t const i = waiting_.back();
      unit const& u = p_.units[at_[i]];
      std::int32_t best = -1;
      for (int k = 0; k < u.count; ++k) {
        std::int32_t const from = made_by(u, k, s);
        if (from < 0 || visits_[from].entered) continue;
        visit const& v = visits_[from];
        if (best < 0 || (v.uses > 1) > (visits_[best].uses > 1) ||
            ((v.uses > 1) == (visits_[best].uses > 1) && v.depth > visits_[best].depth))
          best = from;
      }
      if (best >= 0) {
        visits_[best].entered = true;
        waiting_.push(best);
      } else sequence_.push(waiting_.pop());
    }
  }
};

} // namespace cotangent::detail::interpret
COTANGENT_COLD_END

#endif
