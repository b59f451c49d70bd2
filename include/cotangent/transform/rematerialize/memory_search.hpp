// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_REMATERIALIZE_MEMORY_SEARCH_HPP
#define COTANGENT_TRANSFORM_REMATERIALIZE_MEMORY_SEARCH_HPP

#include <cotangent/transform/rematerialize/chain_schedule.hpp>
#include <cotangent/transform/rematerialize/memory_exact.hpp>
#include <cotangent/transform/rematerialize/memory_problem.hpp>

#include <cstdint>
#include <type_traits>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Computes the values in order. If memory is short, it evicts values that are cheap to recompute for their
/// bytes and not read for long, and recomputes them when they are read. The rules weigh the three
/// differently.
class evicting_schedule {
  memory_problem const& p_;
  std::int64_t limit_, used_ = 0;
  int rule_;
  array<std::int32_t> first_use_, uses_; // by value: its readers, ascending
  array<std::int32_t> next_;             // by value: the next reader
  // by value: when it is needed to recompute evicted values; in the past, if never
  array<std::int32_t> indirect_;
  array<char> there_;
  array<std::int32_t> pinned_; // by value: the number of pins
  array<std::int32_t> stamp_, stack_, present_, place_;
  // past: all values up to here, in the problem's order, have run
  std::int32_t stamp_now_ = 0, now_ = 0, past_ = -1;
  static constexpr std::int32_t never = INT32_MAX;
  static constexpr int rules_end = 4;
  bool constant_ = std::is_constant_evaluated(); // then only a few values are examined, and near ones

public:
  array<std::int32_t> steps;
  bool fits = true;
  static constexpr int rules = rules_end;

  constexpr evicting_schedule(memory_problem const& p, std::int64_t limit, int rule)
      : p_(p), limit_(limit), rule_(rule), first_use_(p.size() + 1), uses_(p.reads.size()), next_(p.size()),
        indirect_(p.size(), -1), there_(p.size()), pinned_(p.size()), stamp_(p.size()), place_(p.size()) {
    int const n = p.size();
    for (int k = 0; k < p.reads.size(); ++k) ++first_use_[p.reads[k] + 1];
    for (int v = 0; v < n; ++v) first_use_[v + 1] += first_use_[v];
    for (int v = 0; v < n; ++v) next_[v] = first_use_[v];
    array<std::int32_t> at = next_;
    for (int v = 0; v < n; ++v)
      for (int k = p.first[v]; k < p.first[v + 1]; ++k) uses_[at[p.reads[k]]++] = v;
    for (now_ = 0; now_ < n && fits; ++now_) compute(now_, 0);
  }

private:
  constexpr void compute(std::int32_t v, int depth) {
    if (depth > 2000 || steps.size() > 4 * p_.size() + 1000) fits = false;
    for (int k = p_.first[v]; k < p_.first[v + 1] && fits; ++k) {
      std::int32_t const x = p_.reads[k];
      ++pinned_[x];
      if (there_[x] != 0) continue;
      if (p_.once[x]) fits = false;
      else compute(x, depth + 1);
    }
    if (fits) make_room(p_.bytes[v]);
    if (!fits) return;
    if (v == now_) past_ = v;
    steps.push(v);
    there_[v] = 1;
    place_[v] = p_.bytes[v] == 0 || p_.stays[v] ? none_ : present_.push(v);
    used_ += p_.bytes[v];
    for (int k = p_.first[v]; k < p_.first[v + 1]; ++k) --pinned_[p_.reads[k]];
  }
  constexpr void make_room(std::int64_t bytes) {
    while (used_ + bytes > limit_) {
      std::int32_t worst = none_;
      double least = 0;
      int const n = present_.size(), step = constant_ ? n / most_looked + 1 : 1;
      for (int k = constant_ ? steps.size() % step : 0; k < n; k += step) {
        std::int32_t const v = present_[k];
        if (pinned_[v] != 0) continue;
        double const s = score(v);
        if (s == kept) continue;
        if (worst == none_ || s < least) {
          worst = v;
          least = s;
        }
        if (s < 0) break;
      }
      if (worst == none_) {
        fits = false;
        return;
      }
      give_up(worst);
    }
  }
  static constexpr int most_looked = 16;
  static constexpr std::int32_t none_ = -1;
  static constexpr double kept = 1e300;

  /// The next value, in the order of the problem, that needs v; `never` if none does.
  constexpr std::int32_t need(std::int32_t v) {
    while (next_[v] < first_use_[v + 1] && uses_[next_[v]] <= past_) ++next_[v];
    std::int32_t const direct = next_[v] < first_use_[v + 1] ? uses_[next_[v]] : never;
    return indirect_[v] > past_ && indirect_[v] < direct ? indirect_[v] : direct;
  }
  constexpr double score(std::int32_t v) {
    std::int32_t const needed = need(v);
    if (needed == never) return -1;
    double const again = cost_again(v);
    if (again == kept) return kept;
    double const bytes = static_cast<double>(p_.bytes[v]), wait = needed - now_ + 1;
    if (rule_ == 0) return again / (bytes * wait);
    if (rule_ == 1) return again / bytes;
    if (rule_ == 2) return again / (bytes * wait * wait);
    return 1 / wait;
  }
  /// Including everything absent that it is computed from.
  constexpr double cost_again(std::int32_t v) {
    if (p_.once[v]) return kept;
    double sum = 0;
    ++stamp_now_;
    stack_.clear();
    stack_.push(v);
    for (int visited = 0; !stack_.empty() && visited < (constant_ ? 4 : 256); ++visited) {
      std::int32_t const x = stack_.pop();
      sum += p_.cost[x];
      for (int k = p_.first[x]; k < p_.first[x + 1]; ++k) {
        std::int32_t const y = p_.reads[k];
        if (there_[y] != 0 || stamp_[y] == stamp_now_) continue;
        if (p_.once[y]) return kept;
        stamp_[y] = stamp_now_;
        stack_.push(y);
      }
    }
    return sum;
  }
  constexpr void give_up(std::int32_t v) {
    std::int32_t const when = need(v);
    there_[v] = 0;
    used_ -= p_.bytes[v];
    if (place_[v] != none_) {
      std::int32_t const moved = present_.back();
      present_[place_[v]] = moved;
      place_[moved] = place_[v];
      (void)present_.pop();
    }
    if (when == never) return;
    stack_.clear();
    stack_.push(v);
    while (!stack_.empty()) {
      std::int32_t const x = stack_.pop();
      for (int k = p_.first[x]; k < p_.first[x + 1]; ++k) {
        std::int32_t const y = p_.reads[k];
        if (indirect_[y] > past_ && indirect_[y] <= when) continue;
        indirect_[y] = when;
        if (there_[y] == 0) stack_.push(y);
      }
    }
  }
};

/// Removes needless recomputations: of values that can stay, and of values that are not read.
class needless_steps {
  memory_problem const& p_;
  std::int64_t limit_;

public:
  array<std::int32_t> steps;

  constexpr needless_steps(memory_problem const& p, array<std::int32_t> const& of, std::int64_t limit)
      : p_(p), limit_(limit), steps(of) {
    remove_unread();
    for (int round = 0; round < 8 && keep_some(); ++round) remove_unread();
  }

private:
  constexpr void remove_unread() {
    array<char> read(p_.size()), comes(p_.size()),
        stays(steps.size(), char{1}); // comes: it is computed later too
    array<std::int32_t> first(p_.size());
    for (int q = steps.size(); q-- > 0;) first[steps[q]] = q;
    for (int v = 0; v < p_.size(); ++v) read[v] = p_.stays[v];
    for (int q = steps.size(); q-- > 0;) {
      std::int32_t const v = steps[q];
      stays[q] = read[v] != 0 || (comes[v] == 0 && first[v] == q);
      read[v] = 0;
      if (stays[q] == 0) continue;
      comes[v] = 1;
      for (int k = p_.first[v]; k < p_.first[v + 1]; ++k) read[p_.reads[k]] = 1;
    }
    compress(stays);
  }
  constexpr void compress(array<char> const& stays) {
    int n = 0;
    for (int q = 0; q < steps.size(); ++q)
      if (stays[q] != 0) steps[n++] = steps[q];
    steps.resize(n);
  }
  /// Keeps values that are recomputed while there is room, the most expensive first.
  constexpr bool keep_some() {
    step_lifetimes lives(p_, steps);
    array<std::int32_t> again;
    for (int q = 0; q < steps.size(); ++q)
      if (lives.previous[q] >= 0) again.push(q);
    if (again.empty()) return false;
    sort(again.data(), again.size(),
         [&](std::int32_t a, std::int32_t b) { return p_.cost[steps[a]] > p_.cost[steps[b]]; });
    array<char> stays(steps.size(), char{1});
    array<std::int32_t> last = lives.last, previous = lives.previous, next(steps.size(), -1);
    for (int q = 0; q < steps.size(); ++q)
      if (previous[q] >= 0) next[previous[q]] = q;
    bool some = false;
    for (std::int32_t const q : again) {
      std::int64_t const bytes = p_.bytes[steps[q]];
      std::int32_t const before = previous[q];
      bool room = true;
      for (int k = last[before] + 1; k < q && room; ++k) room = lives.there[k] + bytes <= limit_;
      if (!room) continue;
      for (int k = last[before] + 1; k < q; ++k) lives.there[k] += bytes;
      last[before] = last[q];
      next[before] = next[q];
      if (next[q] >= 0) previous[next[q]] = before;
      stays[q] = 0;
      some = true;
    }
    if (some) compress(stays);
    return some;
  }
};

/// The largest number of values that are solved exactly, and of links of a chain.
inline constexpr int most_exact_values = 14, most_chain_links = 96;
/// The limits of one constant evaluation, and the number of evaluations for a chain in a static program
/// (trace/transformations/memory_budget_stages.hpp).
inline constexpr int most_exact_values_constant = 12, most_exact_ways_constant = 9000, most_chain_links_constant = 16,
                     most_chain_stages = 8;
inline constexpr std::int64_t chain_work_constant = 10000;

/// The cheapest schedule found with a peak of at most `limit`; none if none was found. Exact for 14 values,
/// and for chains of up to 96 links (among schedules that hold a value until its reader has run). One
/// constant evaluation stops at 12 and 16. (A static program has several: for 64 equal links, or 28 of any
/// sizes.) Larger problems are solved by several greedy rules; the best result is kept, without needless
/// steps. Nothing is recomputed unless the limit requires it.
///
/// Cost: chains n^3, few values 2^n n^2; else n times the number of live values.
/// Checked: tests/runtime/memory_search.cpp.
constexpr memory_schedule schedule_within(memory_problem const& p, std::int64_t limit) {
  memory_schedule best = computed_once(p);
  if (!best || best.peak <= limit) return best;
  best = {};
  if (memory_bound(p) > limit) return best;
  bool constant = std::is_constant_evaluated(); // (g++ would evaluate a `const` variable too early)
  if (p.size() <= (constant ? detail::most_exact_values_constant : detail::most_exact_values))
    if (detail::exact_schedule const found(p, limit, constant ? detail::most_exact_ways_constant : 1 << 30);
        found.finished)
      return found.steps.empty() ? best : measured(p, found.steps);
  auto const consider = [&](array<std::int32_t> const& steps) {
    memory_schedule found = measured(p, detail::needless_steps(p, steps, limit).steps);
    if (found && found.peak <= limit && (!best || found.again < best.again))
      best = static_cast<memory_schedule&&>(found);
  };
  detail::memory_chain const chain(p);
  if (chain.length > 0 &&
      chain.links.size() <= (constant ? detail::most_chain_links_constant : detail::most_chain_links))
    if (detail::chain_schedule const found(p, chain, limit); !found.steps.empty()) consider(found.steps);
  if (constant && best) return best;
  for (int rule = 0; rule < (constant ? 1 : detail::evicting_schedule::rules); ++rule)
    if (detail::evicting_schedule const found(p, limit, rule); found.fits) consider(found.steps);
  return best;
}

/// The schedule with the lowest peak that was found.
///
/// Cost: about twenty times that of `schedule_within`.
constexpr memory_schedule smallest_schedule(memory_problem const& p) {
  memory_schedule best = computed_once(p);
  if (!best) return best;
  std::int64_t low = memory_bound(p); // no schedule has a lower peak
  for (int tries = 0; tries < 24 && low < best.peak; ++tries) {
    std::int64_t const limit = low + (best.peak - low) / 2;
    memory_schedule found = schedule_within(p, limit);
    if (found) best = static_cast<memory_schedule&&>(found);
    else low = limit + 1;
  }
  return best;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
