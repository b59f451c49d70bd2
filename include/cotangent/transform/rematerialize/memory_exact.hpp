// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_REMATERIALIZE_MEMORY_EXACT_HPP
#define COTANGENT_TRANSFORM_REMATERIALIZE_MEMORY_EXACT_HPP

#include <cotangent/core/heap.hpp>
#include <cotangent/transform/rematerialize/memory_problem.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The cheapest schedule of a few values within a limit: a shortest path through sets of present values, up
/// to each value that is computed for the first time. Cost: 2^n n log n.
class exact_schedule {
  memory_problem const& p_;
  std::int64_t limit_;
  struct visited {
    double cost = -1;       // -1: not reached
    std::int32_t from = 0;  // the index of the previous state
    std::int32_t step = -1; // the value computed in between
    bool done = false;
  };
  struct waiting {
    double cost;
    std::int32_t state;
  };
  // A state: 2^k + (bits of present values below k), where k is the next value that was never computed.
  array<visited> states_;
  array<waiting> heap_;
  array<std::uint32_t> needs_; // by value: a bit for each operand
  std::uint32_t gone_ = 0;     // values that may be absent at the end

public:
  array<std::int32_t> steps; // none if nothing fits
  int ways = 0;
  bool finished = false;

  /// Not finished if more than about `most_ways` transitions between sets of values would be visited.
  constexpr exact_schedule(memory_problem const& p, std::int64_t limit, int most_ways = 1 << 30)
      : p_(p), limit_(limit), states_(1 << (p.size() + 1)), needs_(p.size()) {
    int const n = p.size();
    for (int v = 0; v < n; ++v) gone_ |= p.stays[v] ? 0u : 1u << v;
    for (int v = 0; v < n; ++v)
      for (int k = p.first[v]; k < p.first[v + 1]; ++k) needs_[v] |= 1u << p.reads[k];
    reach(1, 0, 0, -1);
    while (!heap_.empty()) {
      std::int32_t const state = heap_pop(heap_, before).state;
      if (states_[state].done) continue;
      if (ways > most_ways) return;
      states_[state].done = true;
      int const k = 31 - __builtin_clz(static_cast<std::uint32_t>(state));
      if (k == n) {
        trace_back(state);
        break;
      }
      visit(state, k);
    }
    finished = true;
  }

private:
  constexpr void visit(std::int32_t state, int k) {
    double const cost = states_[state].cost;
    auto const there = static_cast<std::uint32_t>(state) ^ 1u << k;
    std::int64_t bytes = limit_;
    for (std::uint32_t rest = there; rest != 0; rest &= rest - 1) bytes -= p_.bytes[__builtin_ctz(rest)];
    for (std::uint32_t rest = there & gone_; rest != 0; rest &= rest - 1)
      reach(state ^ static_cast<std::int32_t>(rest & -rest), cost, state, -1);
    for (std::uint32_t rest = ((2u << k) - 1) & ~there; rest != 0; rest &= rest - 1) {
      int const v = __builtin_ctz(rest);
      if ((needs_[v] & ~there) != 0 || p_.bytes[v] > bytes || (v < k && p_.once[v])) continue;
      if (v < k) reach(state | 1 << v, cost + p_.cost[v], state, v);
      else reach(static_cast<std::int32_t>(there | 1u << k | 2u << k), cost, state, v);
    }
  }
  constexpr void trace_back(std::int32_t state) {
    for (; state != 1; state = states_[state].from)
      if (states_[state].step >= 0) steps.push(states_[state].step);
    for (int a = 0, b = steps.size() - 1; a < b; ++a, --b) {
      std::int32_t const t = steps[a];
      steps[a] = steps[b];
      steps[b] = t;
    }
  }
  constexpr void reach(std::int32_t state, double cost, std::int32_t from, std::int32_t step) {
    ++ways;
    visited& s = states_[state];
    if (s.done || (s.cost >= 0 && s.cost <= cost)) return;
    s.cost = cost;
    s.from = from;
    s.step = step;
    heap_push(heap_, waiting{cost, state}, before);
  }
  static constexpr bool before(waiting const& a, waiting const& b) {
    return a.cost != b.cost ? a.cost < b.cost : a.state > b.state; // of equal costs the state that is further
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
