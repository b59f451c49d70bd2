// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_REMATERIALIZE_MIRROR_HPP
#define COTANGENT_TRANSFORM_REMATERIALIZE_MIRROR_HPP

#include <cotangent/ops/random.hpp>
#include <cotangent/transform/rematerialize/memory_budget.hpp>
#include <cotangent/transform/rematerialize/memory_search.hpp>
#include <cotangent/transform/rematerialize/recompute.hpp>

#include <cstdint>
#include <type_traits>

// Mirroring: chooses the cheap values that are rematerialized for gradients without a memory budget.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// A memory problem with further properties that the rule of mirroring reads.
struct mirror_problem {
  memory_problem values;           // those that may not be rematerialized are `once`
  array<char> late;                // by value: computed for a gradient, or depends on such a value
  array<std::int64_t> given;       // bytes of each input
  array<std::int32_t> first_given; // by value and one more: the begin of its inputs in `given_reads`
  array<std::int32_t> given_reads;

  constexpr mirror_problem() { first_given.push(0); }
  constexpr std::int32_t add(std::int64_t size, double price, std::initializer_list<std::int32_t> of,
                             std::initializer_list<std::int32_t> of_given = {}, bool only_once = false) {
    for (std::int32_t const k : of_given) given_reads.push(k);
    first_given.push(given_reads.size());
    (void)late.push(0);
    return values.add(size, price, of, only_once);
  }
  /// Adds a value of a gradient, which is never rematerialized.
  constexpr std::int32_t add_late(std::int64_t size, double price, std::initializer_list<std::int32_t> of,
                                  std::initializer_list<std::int32_t> of_given = {}) {
    std::int32_t const v = add(size, price, of, of_given, true);
    late[v] = 1;
    return v;
  }
};

/// The rule: at first all permitted values are rematerialized. A value whose operands are all kept forms a set with the values
/// that read the same operands. The set is kept if operands without other readers free at least as many bytes as its results
/// and its other operands take. Then the readers of the set are examined.
class mirror_rule {
  mirror_problem const& m_;
  memory_problem const& p_;
  array<std::int32_t> first_reader_, readers_; // by value, then by input
  array<std::int32_t> waits_;                  // by value: operands that are not kept
  array<std::int32_t> fresh_, next_, members_, entries_;
  array<char> ready_; // by value: all operands are kept
  array<char> seen_;  // by value, then by input

  // (Before the constructor: in a constant evaluation clang knows only earlier members.)
  template <class Visit> constexpr void each_read_of(std::int32_t v, Visit visit) const {
    for (int k = p_.first[v]; k < p_.first[v + 1]; ++k) visit(p_.reads[k]);
    for (int k = m_.first_given[v]; k < m_.first_given[v + 1]; ++k) visit(p_.size() + m_.given_reads[k]);
  }
  template <class Visit> constexpr void each_read(Visit visit) const {
    for (int v = 0; v < p_.size(); ++v) each_read_of(v, [&](std::int32_t e) { visit(v, e); });
  }

public:
  array<char> again; // by value

  constexpr explicit mirror_rule(mirror_problem const& m)
      : m_(m), p_(m.values), first_reader_(p_.size() + m.given.size() + 1), waits_(p_.size()),
        ready_(p_.size()), seen_(p_.size() + m.given.size()), again(p_.size()) {
    int const n = p_.size();
    for (int v = 0; v < n; ++v) again[v] = m.late[v] == 0 && !p_.once[v] && !p_.stays[v];
    each_read([&](std::int32_t, std::int32_t e) { ++first_reader_[e + 1]; });
    for (int e = 0; e + 1 < first_reader_.size(); ++e) first_reader_[e + 1] += first_reader_[e];
    readers_.resize(first_reader_.back());
    array<std::int32_t> at = first_reader_;
    each_read([&](std::int32_t v, std::int32_t e) {
      readers_[at[e]++] = v;
      if (e < n && again[e] != 0) ++waits_[v];
    });
    for (int v = 0; v < n; ++v) join(v);
    while (!next_.empty()) {
      fresh_ = next_;
      next_.clear();
      for (std::int32_t const v : fresh_)
        if (ready_[v] != 0 && again[v] != 0) look_at(v);
    }
  }

private:
  constexpr void join(std::int32_t v) {
    if (again[v] == 0 || waits_[v] != 0 || ready_[v] != 0) return;
    ready_[v] = 1;
    next_.push(v);
  }
  constexpr std::int64_t bytes(std::int32_t e) const {
    return e < p_.size() ? p_.bytes[e] : m_.given[e - p_.size()];
  }
  /// Decides about the set of `v`: ready values that share operands with `v` or with each other.
  constexpr void look_at(std::int32_t v) {
    std::int64_t come = 0, go = 0;
    members_.clear();
    entries_.clear();
    add_member(v);
    for (int k = 0; k < members_.size(); ++k) {
      std::int32_t const m = members_[k];
      if (first_reader_[m] != first_reader_[m + 1]) come += bytes(m);
      each_read_of(m, [&](std::int32_t e) {
        if (seen_[e] != 0) return;
        seen_[e] = 1;
        entries_.push(e);
        bool others = e < p_.size() && p_.stays[e];
        for (int r = first_reader_[e]; r < first_reader_[e + 1]; ++r) {
          std::int32_t const reader = readers_[r];
          if (again[reader] != 0 && ready_[reader] != 0) add_member(reader);
          else others = true;
        }
        (others ? come : go) += bytes(e);
      });
    }
    for (std::int32_t const e : entries_) seen_[e] = 0;
    bool const kept = go >= come;
    for (std::int32_t const m : members_) seen_[m] = 0;
    if (!kept) return;
    for (std::int32_t const m : members_) again[m] = 0;
    for (std::int32_t const m : members_)
      for (int r = first_reader_[m]; r < first_reader_[m + 1]; ++r) {
        --waits_[readers_[r]];
        join(readers_[r]);
      }
  }
  constexpr void add_member(std::int32_t v) { // (ready values never read each other)
    if (seen_[v] != 0) return;
    seen_[v] = 1;
    members_.push(v);
  }
};

/// Each value in its order; rematerialized values a second time before the first late value that reads them.
class mirror_schedule {
  mirror_problem const& m_;
  array<char> const& again_;
  array<char> copied_;

public:
  array<std::int32_t> steps;

  constexpr mirror_schedule(mirror_problem const& m, array<char> const& again)
      : m_(m), again_(again), copied_(m.values.size()) {
    memory_problem const& p = m.values;
    for (std::int32_t v = 0; v < p.size(); ++v) {
      if (m.late[v] != 0) read_by(v);
      steps.push(v);
    }
  }
  constexpr bool copies(std::int32_t v) const { return copied_[v] != 0; }

private:
  constexpr void read_by(std::int32_t v) {
    memory_problem const& p = m_.values;
    array<std::int32_t> open, place; // the values on the way, and which of their operands is next
    open.push(v);
    place.push(p.first[v]);
    while (!open.empty()) {
      std::int32_t const at = open.back();
      if (place.back() == p.first[at + 1]) {
        if (at != v) steps.push(at);
        (void)open.pop();
        (void)place.pop();
        continue;
      }
      std::int32_t const x = p.reads[place.back()++];
      if (again_[x] == 0 || copied_[x] != 0) continue;
      copied_[x] = 1;
      open.push(x);
      place.push(p.first[x]);
    }
  }
};

/// The values that the rule of mirroring rematerializes, if a late value or another of them reads them.
constexpr array<char> mirrored_values(mirror_problem const& m) {
  detail::mirror_rule const rule(m);
  detail::mirror_schedule const s(m, rule.again);
  array<char> copied(m.values.size());
  for (int v = 0; v < m.values.size(); ++v) copied[v] = s.copies(v);
  return copied;
}

/// The number of rematerialized values.
constexpr std::int64_t again_count(memory_schedule const& s, memory_problem const& p) {
  return s.steps.size() - p.size();
}

/// The schedules that mirroring chooses among. `rule` is that of the rule; `reduced` has no rematerialization that does not
/// lower the peak; `lowest` has the lowest peak found with no more rematerialization. Constant evaluations do not search it.
struct mirror_choices {
  memory_schedule rule, reduced, lowest;

  constexpr explicit mirror_choices(mirror_problem const& m) {
    memory_problem const& p = m.values;
    array<char> copied = mirrored_values(m);
    std::int64_t count = 0;
    for (char const c : copied) count += c;
    if (count == 0) return;
    rule = measured(p, mirror_schedule(m, copied).steps);
    reduced = rule;
    bool constant = std::is_constant_evaluated();
    if (count * p.size() < (constant ? most_tried_constant_ : most_tried_))
      for (std::int32_t v = p.size(); v-- > 0;) {
        if (copied[v] == 0) continue;
        copied[v] = 0;
        memory_schedule without = measured(p, mirror_schedule(m, copied).steps);
        if (without.peak <= reduced.peak) reduced = static_cast<memory_schedule&&>(without);
        else copied[v] = 1;
      }
    lowest = reduced;
    if (std::int64_t const plain = computed_once(p).peak; plain <= lowest.peak) lowest = computed_once(p);
    std::int64_t low = memory_bound(p);
    for (int tries = 0; tries < 20 && low < lowest.peak && !constant; ++tries) {
      std::int64_t const limit = low + (lowest.peak - low) / 2;
      memory_schedule found = schedule_within(p, limit);
      if (found && found.again <= rule.again && again_count(found, p) <= count)
        lowest = static_cast<memory_schedule&&>(found);
      else low = limit + 1;
    }
  }

private:
  static constexpr std::int64_t most_tried_ = 20000000, most_tried_constant_ = 1000;
};

/// The problem of a graph, for the values of `values`.
constexpr mirror_problem mirror_problem_of(graph_view const& g, memory_values const& values) {
  mirror_problem m;
  m.values = values.problem;
  array<std::int32_t> number(g.tensor_count, none), seen(g.tensor_count, none);
  for (std::int32_t v = 0; v < m.values.size(); ++v) {
    bool late = false;
    for (int k = m.values.first[v]; k < m.values.first[v + 1]; ++k)
      late = late || m.late[m.values.reads[k]] != 0;
    for (int k = values.groups.first[v]; k < values.groups.first[v + 1]; ++k) {
      node const& n = g.nodes[values.groups.nodes[k]];
      late = late || n.flags.of_gradient;
      for (int j = 0; j < n.operand_count; ++j) {
        symbol t = g.operand(n, j);
        while (t != none && g.tensors[t].producer != none && values.groups.is_free(g.tensors[t].producer)) {
          node const& of = g.nodes[g.tensors[t].producer];
          t = of.operand_count == 0 ? none : g.operand(of, 0);
        }
        if (t != none && g.tensors[t].base != none) t = g.tensors[t].base;
        if (t == none || g.tensors[t].producer != none || seen[t] == v || values.groups.is_written(t)) continue;
        seen[t] = v;
        if (number[t] == none) number[t] = m.given.push(values.bytes_of(t));
        m.given_reads.push(number[t]);
      }
    }
    m.first_given.push(m.given_reads.size());
    (void)m.late.push(late);
  }
  return m;
}

} // namespace cotangent::detail

namespace cotangent {
/// True if mirroring rematerializes the node by default: elementwise operations except random numbers.
constexpr bool is_cheap(extend::node const& n) noexcept {
  for (operation const* const random : {info_of<op::random24>(), info_of<op::random53>(),
                                        info_of<op::second_random24>(), info_of<op::second_random53>()})
    if (n.op == random) return false;
  return n.op->kind == operation_kind::elementwise;
}
} // namespace cotangent

namespace cotangent::detail {

/// The graph in which gradients rematerialize some values with `may(node)`: those of the rule of mirroring, or of a schedule
/// that takes less memory and no more work. The graph is unchanged if `measure` finds no smaller program.
///
/// Source: the rule is that of MXNet's gradient pass (docs/how-to/run-time-graphs.md says it in words).
/// Checked: tests/runtime/memory_search.cpp, tests/runtime/memory_budget.cpp.
template <class Measure>
constexpr budgeted_graph mirrored(graph_view const& g, bool (*may)(node const&), Measure measure) {
  detail::memory_values const values(g, may);
  detail::mirror_choices const choices(detail::mirror_problem_of(g, values));
  budgeted_graph best;
  best.fits = true;
  best.predicted.bytes = measure(g);
  for (double const c : values.problem.cost) best.predicted.seconds += c;
  double const once = best.predicted.seconds;
  for (memory_schedule const* const s : {&choices.rule, &choices.reduced, &choices.lowest}) {
    if (s->steps.size() <= values.problem.size()) continue;
    graph made = recomputed(g, values.groups, *s);
    std::int64_t const bytes = measure(made);
    bool const less = bytes < best.predicted.bytes,
               cheaper = best.changed && bytes == best.predicted.bytes && s->again < best.predicted.again;
    if (!less && !cheaper) continue;
    best.made = static_cast<graph&&>(made);
    best.changed = true;
    best.predicted = {bytes, once + s->again, s->again};
  }
  return best;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
