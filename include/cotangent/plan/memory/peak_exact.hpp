// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_MEMORY_PEAK_EXACT_HPP
#define COTANGENT_PLAN_MEMORY_PEAK_EXACT_HPP

#include <cotangent/core/heap.hpp>
#include <cotangent/graph/builder.hpp>

#include <bit>
#include <cstdint>

// The order of a few steps with the lowest peak, by a search through the sets of executed steps.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// At most 64 steps with their values.
struct few_steps {
  struct used {
    std::uint64_t users = 0;
    std::int64_t bytes = 0;
    bool before = false, after = false; // live before the first step; after the last one
  };
  struct replaced { // in this step, if one ends and the other begins there
    std::int32_t step = 0, from = 0, to = 0;
  };
  array<used> values;
  array<array<std::int32_t>> uses;     // by step: values
  array<std::uint64_t> waits_for;      // by step
  array<array<replaced>> replacements; // by step
  array<std::int64_t> work;            // by step: bytes while it runs

  constexpr int count() const noexcept { return waits_for.size(); }

  struct move {
    std::int64_t during = 0, after = 0; // bytes more than before it
  };
  constexpr move run(std::uint64_t done, int step) const {
    std::uint64_t const now = done | std::uint64_t{1} << step;
    move m;
    for (std::int32_t const v : uses[step]) {
      used const& u = values[v];
      if (!u.before && (u.users & done) == 0) {
        m.during += u.bytes;
        m.after += u.bytes;
      }
      if (!u.after && (u.users & ~now) == 0) m.after -= u.bytes;
    }
    std::uint64_t taken = 0; // values of this step that are replaced already
    array<replaced> const& all = replacements[step];
    for (int k = 0; k < all.size(); ++k) {
      used const &from = values[all[k].from], &to = values[all[k].to];
      bool const ends = !from.after && (from.users & ~now) == 0 && (from.before || (from.users & done) != 0);
      bool const begins = !to.before && (to.users & done) == 0;
      bool free = true;
      for (int j = 0; j < k && j < 64; ++j)
        free = free && ((taken >> j & 1) == 0 || (all[j].from != all[k].from && all[j].to != all[k].to));
      if (!ends || !begins || !free) continue;
      if (k < 64) taken |= std::uint64_t{1} << k;
      m.during -= from.bytes;
    }
    m.during += work[step];
    return m;
  }
};

/// Expands the set reached with the lowest peak first. A step that leaves no more live bytes, and whose peak
/// is no higher than the present one, is taken at once: delaying it improves no order.
class peak_search {
  struct state {
    std::uint64_t done = 0;
    std::int64_t peak = 0, live = 0;
    std::int32_t from = none, step = none; // the previous state, and the step between
  };
  few_steps const& p_;
  array<state> states_;
  array<std::int32_t> heap_;
  hash_index seen_;
  array<std::uint64_t> sets_; // reached sets
  array<std::int64_t> peaks_; // the lowest peak of each

public:
  array<std::int32_t> order; // empty: no better order was found
  std::int64_t peak = 0;     // of that order, above the bytes live before

  /// `bound`: a peak that is known to be possible; `most`: the largest number of sets to visit.
  constexpr peak_search(few_steps const& p, std::int64_t bound, int most) : p_(p) {
    std::uint64_t const all = p.count() == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << p.count()) - 1;
    push({});
    while (!heap_.empty() && states_.size() < most) {
      std::int32_t const at = pop();
      if (states_[at].done == all) {
        finish(at);
        return;
      }
      state const s = states_[at];
      int only = none;
      std::uint64_t ready = 0;
      for (int k = 0; k < p.count() && only == none; ++k) {
        if ((s.done >> k & 1) != 0 || (p.waits_for[k] & ~s.done) != 0) continue;
        few_steps::move const m = p.run(s.done, k);
        if (m.after <= 0 && s.live + m.during <= s.peak) only = k;
        else if (s.live + m.during < bound) ready |= std::uint64_t{1} << k;
      }
      if (only != none) ready = std::uint64_t{1} << only;
      for (; ready != 0; ready &= ready - 1) {
        int const k = std::countr_zero(ready);
        few_steps::move const m = p.run(s.done, k);
        std::int64_t const during = s.live + m.during;
        push({s.done | std::uint64_t{1} << k, during > s.peak ? during : s.peak, s.live + m.after, at, k});
      }
    }
  }

  constexpr int looked_at() const noexcept { return states_.size(); }

private:
  constexpr void finish(std::int32_t at) {
    peak = states_[at].peak;
    order.resize(p_.count());
    for (int k = p_.count(); k-- > 0; at = states_[at].from) order[k] = states_[at].step;
  }
  constexpr bool before(std::int32_t a, std::int32_t b) const {
    state const &x = states_[a], &y = states_[b];
    if (x.peak != y.peak) return x.peak < y.peak;
    int const m = std::popcount(x.done), n = std::popcount(y.done);
    return m != n ? m > n : a < b;
  }
  static constexpr std::uint32_t hash_of_set(std::uint64_t done) {
    return static_cast<std::uint32_t>((done ^ done >> 29) * 0x9e3779b97f4a7c15u >> 32) | 1u;
  }
  constexpr void push(state const& s) {
    std::int32_t const known =
        seen_.find_or_add(hash_of_set(s.done), [&](std::int32_t k) { return sets_[k] == s.done; });
    if (known == none) {
      sets_.push(s.done);
      peaks_.push(s.peak);
    } else if (peaks_[known] <= s.peak) return;
    else peaks_[known] = s.peak;
    heap_push(heap_, states_.push(s), [&](std::int32_t a, std::int32_t b) { return before(a, b); });
  }
  constexpr std::int32_t pop() {
    return heap_pop(heap_, [&](std::int32_t a, std::int32_t b) { return before(a, b); });
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
