// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_MEMORY_PEAK_ORDER_HPP
#define COTANGENT_PLAN_MEMORY_PEAK_ORDER_HPP

#include <cotangent/plan/memory/peak_lists.hpp>

#include <cstdint>

// Finds an order of steps with low peak memory.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Tries several orders, keeps the one with the lowest peak, then searches for a better one around the peak.
class peak_improver {
  peak_problem const& p_;
  peak_uses uses_;
  int effort_;
  array<std::int32_t> first_, last_; // by value: the positions of its users
  array<std::int32_t> local_; // by value: its index in the current window
  array<std::int32_t> position_; // by step

public:
  array<std::int32_t> order;
  std::int64_t peak = 0;

  constexpr peak_improver(peak_problem const& p, array<std::int32_t> const& given, int effort)
      : p_(p), uses_(p), effort_(effort), local_(p.values.size(), none), position_(p.steps), order(given),
        peak(uses_.peak_of(given).bytes) {
    std::int64_t const least = uses_.least();
    for (int k = 0; k < 3 && peak > least; ++k)
      consider(k == 0   ? peak_list(p, uses_, given, true).order
               : k == 1 ? peak_list(p, uses_, given, false).order
                        : peak_descent(p, uses_, given).order);
    while (peak > least && effort_ > 0)
      if (!improve_at(uses_.peak_of(order).position)) break;
  }

private:
  constexpr void consider(array<std::int32_t> const& other) {
    std::int64_t const bytes = uses_.peak_of(other).bytes;
    if (bytes >= peak) return;
    peak = bytes;
    order = other;
  }
  /// Reorders the steps around this position optimally; false if that does not lower their peak.
  constexpr bool improve_at(int position) {
    int const n = order.size();
    for (int length = n <= 64 ? n : 12; effort_ > 0; length = length * 2 < 64 ? length * 2 : 64) {
      int const before = n <= 64 ? 0 : position - length / 2;
      int const from = before < 0 ? 0 : before + length > n ? (n > length ? n - length : 0) : before;
      int const to = from + length < n ? from + length : n;
      if (improve(from, to)) return true;
      if (length >= 64 || length >= n) return false;
    }
    return false;
  }
  constexpr bool improve(int from, int to) {
    uses_.note_positions(order, position_, first_, last_);
    few_steps few;
    array<std::int32_t> values;
    few.uses.resize(to - from);
    few.replacements.resize(to - from);
    few.waits_for.assign(to - from, 0);
    few.work.assign(to - from, 0);
    for (int k = from; k < to; ++k) {
      std::int32_t const s = order[k];
      few.work[k - from] = s < p_.work.size() ? p_.work[s] : 0;
      for (int u = uses_.first_value[s]; u < uses_.first_value[s + 1]; ++u) {
        std::int32_t const v = uses_.values[u];
        if (local_[v] == none) {
          peak_problem::value const& of = p_.values[v];
          local_[v] = values.push(v);
          few.values.push({0, of.bytes, of.given || first_[v] < from, of.stays || last_[v] >= to});
        }
        few.values[local_[v]].users |= std::uint64_t{1} << (k - from);
        few.uses[k - from].push(local_[v]);
      }
      for (int e = uses_.first_before[s]; e < uses_.first_before[s + 1]; ++e)
        if (int const at = position_[uses_.before[e]]; at >= from)
          few.waits_for[k - from] |= std::uint64_t{1} << (at - from);
    }
    for (peak_problem::replacement const& r : p_.replacements)
      if (int const at = position_[r.step];
          at >= from && at < to && local_[r.from] != none && local_[r.to] != none)
        few.replacements[at - from].push({at - from, local_[r.from], local_[r.to]});
    for (std::int32_t const v : values) local_[v] = none;
    std::int64_t const before = uses_.live_before(order, from);
    int const most = effort_ < most_sets ? effort_ : most_sets;
    peak_search const found(few, peak - before, most);
    effort_ -= found.looked_at() + order.size() / 4;
    if (found.order.empty()) return false;
    array<std::int32_t> other = order;
    for (int k = from; k < to; ++k) other[k] = order[from + found.order[k - from]];
    std::int64_t const bytes = uses_.peak_of(other).bytes;
    bool const better = bytes < peak;
    // (another position may have the same peak: it is next)
    if (bytes <= peak) order = other;
    peak = bytes < peak ? bytes : peak;
    return better || (bytes == peak && --ties_ > 0);
  }
  static constexpr int most_sets = 1 << 14;
  int ties_ = 64;
};

/// The order of lowest peak that is found: a valid order, never worse than the given valid one. For few
/// steps, or little freedom, it is optimal.
///
/// Cost: n log n, and at most `effort` sets of steps.
/// Source: the search through sets of steps is Dijkstra's for the widest path; operands of largest need
/// first: Sethi and Ullman, The generation of optimal code for arithmetic expressions, 1970.
/// Checked: tests/runtime/peak_order.cpp, tests/static/arena.cpp
constexpr array<std::int32_t> order_of_low_peak(peak_problem const& p, array<std::int32_t> const& given,
                                                int effort = 1 << 16) {
  return detail::peak_improver(p, given, effort).order;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
