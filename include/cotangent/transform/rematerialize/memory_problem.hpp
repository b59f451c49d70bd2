// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_REMATERIALIZE_MEMORY_PROBLEM_HPP
#define COTANGENT_TRANSFORM_REMATERIALIZE_MEMORY_PROBLEM_HPP

#include <cotangent/core/abi.hpp>
#include <cotangent/core/array.hpp>

#include <cstdint>
#include <initializer_list>

// The choice between storing and recomputing values as an abstract problem: only sizes, costs and reads of a
// computation remain.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Values in the order of computation. Operands precede their readers; values in the caller's memory are
/// excluded.
struct memory_problem {
  array<std::int64_t> bytes; // by value: its bytes while it is live
  array<double> cost;        // of computing it
  array<std::int32_t> first; // by value, and the end: its first operand in `reads`
  array<std::int32_t> reads;
  array<bool> once;  // never recomputed
  array<bool> stays; // live to the end

  constexpr memory_problem() { first.push(0); }
  constexpr int size() const noexcept { return bytes.size(); }
  constexpr std::int32_t add(std::int64_t size, double price, std::int32_t const* of, int count,
                             bool only_once = false, bool kept = false) {
    for (int k = 0; k < count; ++k) reads.push(of[k]);
    first.push(reads.size());
    cost.push(price);
    once.push(only_once);
    stays.push(kept);
    return bytes.push(size);
  }
  constexpr std::int32_t add(std::int64_t size, double price, std::initializer_list<std::int32_t> of,
                             bool only_once = false, bool kept = false) {
    return add(size, price, of.begin(), static_cast<int>(of.size()), only_once, kept);
  }
};

/// An order of computing the values, some of them repeatedly. A value is freed after its last reader before
/// its next computation.
struct memory_schedule {
  array<std::int32_t> steps;
  double again = 0;       // the cost of recomputation
  std::int64_t peak = -1; // peak bytes; -1: not a valid order

  constexpr explicit operator bool() const noexcept { return peak >= 0; }
};

/// The end of each step's value, and the live bytes during each step.
struct step_lifetimes {
  array<std::int32_t> last;     // by step: the last reader of its value, itself if there is none
  array<std::int32_t> previous; // by step: the previous computation of the same value, -1 if there is none
  array<std::int64_t> there;    // by step: bytes
  bool possible = true;
  std::int64_t peak = 0;

  constexpr step_lifetimes(memory_problem const& p, array<std::int32_t> const& steps)
      : last(steps.size()), previous(steps.size()), there(steps.size() + 1) {
    int const n = steps.size();
    array<std::int32_t> at(p.size(), -1); // by value: the step that computed it last
    for (int q = 0; q < n; ++q) {
      std::int32_t const v = steps[q];
      for (int k = p.first[v]; k < p.first[v + 1]; ++k) {
        std::int32_t const from = at[p.reads[k]];
        if (from < 0) possible = false;
        else last[from] = q;
      }
      previous[q] = at[v];
      last[q] = q;
      at[v] = q;
    }
    for (int v = 0; v < p.size(); ++v)
      if (p.stays[v] && at[v] >= 0) last[at[v]] = n - 1;
    for (int q = 0; q < n; ++q) {
      there[q] += p.bytes[steps[q]];
      there[last[q] + 1] -= p.bytes[steps[q]];
    }
    std::int64_t now = 0;
    for (int q = 0; q < n; ++q) {
      now += there[q];
      there[q] = now;
      if (peak < now) peak = now;
    }
  }
};

/// The cost and the peak of a schedule.
constexpr memory_schedule measured(memory_problem const& p, array<std::int32_t> steps) {
  memory_schedule s;
  detail::step_lifetimes const lives(p, steps);
  array<bool> known(p.size());
  bool complete = lives.possible;
  for (int q = 0; q < steps.size(); ++q) {
    std::int32_t const v = steps[q];
    if (known[v]) s.again += p.cost[v];
    complete = complete && !(known[v] && p.once[v]);
    known[v] = true;
  }
  for (int v = 0; v < p.size(); ++v) complete = complete && known[v];
  s.peak = complete ? lives.peak : -1;
  s.steps = static_cast<array<std::int32_t>&&>(steps);
  return s;
}

/// Every value once, in the order of the problem.
constexpr memory_schedule computed_once(memory_problem const& p) {
  array<std::int32_t> steps(p.size());
  for (int v = 0; v < p.size(); ++v) steps[v] = v;
  return measured(p, static_cast<array<std::int32_t>&&>(steps));
}

/// A lower bound of all schedules: the largest operand set of one step.
constexpr std::int64_t memory_bound(memory_problem const& p) {
  std::int64_t most = 0;
  for (int v = 0; v < p.size(); ++v) {
    std::int64_t now = p.bytes[v];
    for (int k = p.first[v]; k < p.first[v + 1]; ++k) {
      bool seen = p.reads[k] == v;
      for (int j = p.first[v]; j < k; ++j) seen = seen || p.reads[j] == p.reads[k];
      if (!seen) now += p.bytes[p.reads[k]];
    }
    if (most < now) most = now;
  }
  return most;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
