// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_SEQUENCE_HPP
#define COTANGENT_RUN_INTERPRETER_SEQUENCE_HPP

#include <cotangent/run/interpreter_plan.hpp>

#include <cstdint>

// The order of units within a step: each right after what it reads, as far as that goes, so that values are few and are
// taken from where they were just made.

namespace cotangent::detail::interpret {

template <class Plan> class unit_sequence {
public:
  explicit unit_sequence(Plan& p) : p_(p), local_(p.units.size(), 0) {
    for (int s = 0; s < p.steps.size(); ++s)
      if (p.steps[s].shape >= 0) arrange(s);
  }

private:
  struct visit {
    std::int32_t uses = 0; // in the step
    std::int32_t depth = 0;
    bool entered = false;
  };
  Plan& p_;
  array<std::int32_t> local_; // by unit of the plan: its place in its step
  array<std::int32_t> at_;    // by place: the unit
  array<visit> visits_;
  array<std::int32_t> sequence_, waiting_;
  array<unit> moved_;

  /// The unit of this step that makes operand k of one, or -1.
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

  /// A unit after all that it reads: first what others read too, which is stored anyway, then what takes longest.
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

#endif
