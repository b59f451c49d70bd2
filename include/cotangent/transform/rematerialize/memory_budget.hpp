// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_REMATERIALIZE_MEMORY_BUDGET_HPP
#define COTANGENT_TRANSFORM_REMATERIALIZE_MEMORY_BUDGET_HPP

#include <cotangent/transform/rematerialize/memory_search.hpp>
#include <cotangent/transform/rematerialize/memory_values.hpp>
#include <cotangent/transform/rematerialize/recompute.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The predicted cost of a run. Seconds are those of a model of operations and bytes, good for comparisons.
struct run_prediction {
  std::int64_t bytes = 0; // of the workspace, as laid out
  double seconds = 0;     // of a run
  double again = 0;       // of these: for recomputation
  std::int64_t tape = 0;  // bytes: records of loops with a known bound
};

/// A graph within a budget, and its cost.
struct budgeted_graph {
  graph made; // empty if the graph fits unchanged, or not at all
  bool changed = false;
  bool fits = false;
  run_prediction predicted; // of the smallest program found, if none fits
};

template <class Measure> class memory_budget_search {
  graph_view const& g_;
  std::int64_t budget_;
  Measure measure_;
  memory_values const values_;
  std::int64_t least_ = INT64_MAX, last_bytes_ = 0;
  array<std::int32_t> last_; // the last schedule that was tried

public:
  budgeted_graph best;

  constexpr memory_budget_search(graph_view const& g, std::int64_t budget, Measure measure, bool (*may)(node const&))
      : g_(g), budget_(budget), measure_(measure),
        values_(g, [may](node const& n) { return may == nullptr || may(n); }) {
    double once = 0;
    for (double const c : values_.problem.cost) once += c;
    best.predicted.seconds = once;
    memory_schedule const plain = computed_once(values_.problem);
    least_ = best.predicted.bytes = measure_(g);
    best.fits = least_ <= budget;
    if (best.fits || !plain) return;
    search(plain.peak);
    if (!best.fits) best.predicted.bytes = least_;
    best.predicted.seconds = once + best.predicted.again;
  }

private:
  /// The limit of the model differs from the program's: each schedule is measured, and the limit moves until
  /// the program just fits.
  constexpr void search(std::int64_t high) {
    std::int64_t low = memory_bound(values_.problem);
    std::int64_t const beside = least_ - high; // bytes outside the model, as far as they are constant
    std::int64_t limit = budget_ - beside;
    for (int tries = 0; tries < most_tries && low < high; ++tries) {
      if (limit < low) limit = low;
      if (limit >= high) limit = high - 1;
      memory_schedule const s = schedule_within(values_.problem, limit);
      if (!s) {
        low = limit + 1;
        limit = low + (high - low) / 2;
        continue;
      }
      std::int64_t const bytes = attempt(s);
      if (bytes > budget_) {
        high = s.peak < limit ? s.peak : limit; // limits in between give the same schedule
        limit = high;
        limit -= bytes - budget_;
      } else {
        if (bytes > budget_ - budget_ / 64) return;
        low = limit + 1;
        limit += budget_ - bytes;
      }
      if (tries % 3 == 2) limit = low + (high - low) / 2;
    }
    if (best.fits) return;
    memory_schedule const s = smallest_schedule(values_.problem);
    if (!s) return;
    for (int part = 0; part < 4 && !best.fits; ++part) // a little more room may have a better layout
      if (memory_schedule const t = schedule_within(values_.problem, s.peak + s.peak / 24 * part); t)
        (void)attempt(t);
  }
  static constexpr int most_tries = 12;

  constexpr std::int64_t attempt(memory_schedule const& s) {
    if (s.steps == last_) return last_bytes_;
    graph made = recomputed(g_, values_.groups, s);
    std::int64_t const bytes = measure_(made);
    last_ = s.steps;
    last_bytes_ = bytes;
    if (bytes < least_) least_ = bytes;
    if (bytes <= budget_ && (!best.fits || s.again < best.predicted.again)) {
      best.made = static_cast<graph&&>(made);
      best.changed = best.fits = true;
      best.predicted.bytes = bytes;
      best.predicted.again = s.again;
    }
    return bytes;
  }
};

/// The cheapest program found that needs at most `budget` bytes, as measured by `measure`. A model chooses
/// the values to store and to recompute, and its limit moves until the layout fits. The graph must be final:
/// no rewrites follow. `may(node)`: true if it may be recomputed; null: all may.
///
/// Value: the same bits.
/// Cost: that of a dozen calls of `schedule_within` and `measure`.
/// Checked: tests/runtime/memory_budget.cpp.
template <class Measure>
constexpr budgeted_graph within_budget(graph_view const& g, std::int64_t budget, Measure measure,
                                 bool (*may)(node const&) = nullptr) {
  return static_cast<budgeted_graph&&>(detail::memory_budget_search<Measure>(g, budget, measure, may).best);
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
