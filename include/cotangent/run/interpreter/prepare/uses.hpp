// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_USES_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_USES_HPP

#include <cotangent/run/interpreter/prepare/tile_units.hpp>

#include <cstdint>
#include <limits>

// The order of units in a segment, and the next use of each value: values with a near use stay in registers.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {
namespace interpret {
inline namespace COTANGENT_ABI {

/// Values by index: units from 0 on, outer operands of the step from -1 down.
template <class Units> class segment_uses {
public:
  static constexpr std::int32_t never = std::numeric_limits<std::int32_t>::max();

  array<std::int32_t> order; // units

  explicit segment_uses(Units& units) : t_(units) {}

  /// `stays(u)`: unit u must not be moved before the units in front of it.
  template <class Stays> void find(int first, int end, Stays stays) {
    first_ = first;
    end_ = end;
    put_in_order(stays);
    find_reads();
  }

  /// The position of the next read of a value.
  std::int32_t next(std::int32_t value) const {
    if (value < 0) return of_outer_[-1 - value];
    return value < first_ ? never : of_unit_[value - first_];
  }
  /// Advances past the reads of unit u.
  void pass(int u) {
    for (int k = 0; k < t_.units[u].count; ++k) use(t_.source(u, k)) = after_[t_.first_source[u] + k];
  }

private:
  Units& t_;
  int first_ = 0, end_ = 0;
  array<std::int32_t> of_unit_, of_outer_, after_;
  array<std::int32_t> waits_, left_, first_reader_, readers_, ready_; // by unit of the segment

  bool inside(std::int32_t value) const { return value >= first_ && value < end_; }
  std::int32_t& use(std::int32_t value) {
    if (value < 0) return of_outer_[-1 - value];
    return value < first_ ? ignored_ : of_unit_[value - first_];
  }
  std::int32_t ignored_ = never;

  /// Visits each unit of the segment that u reads, once.
  template <class Visit> void each_inside(int u, Visit visit) const {
    for (int k = 0; k < t_.units[u].count; ++k) {
      std::int32_t const v = t_.source(u, k);
      bool again = !inside(v);
      for (int j = 0; j < k; ++j) again = again || t_.source(u, j) == v;
      if (!again) visit(v - first_);
    }
  }

  /// Keeps the given order, except that a ready unit goes first if it leaves fewer values live.
  template <class Stays> void put_in_order(Stays stays) {
    int const n = end_ - first_;
    order.clear();
    ready_.clear();
    waits_.assign(n, 0);
    left_.assign(n, 0);
    first_reader_.assign(n + 1, 0);
    for (int u = first_; u < end_; ++u)
      each_inside(u, [&](std::int32_t v) {
        ++waits_[u - first_];
        ++left_[v];
        ++first_reader_[v + 1];
      });
    for (int k = 0; k < n; ++k) first_reader_[k + 1] += first_reader_[k];
    readers_.resize(first_reader_[n]);
    array<std::int32_t> at = first_reader_;
    for (int u = first_; u < end_; ++u)
      each_inside(u, [&](std::int32_t v) { readers_[at[v]++] = u - first_; });
    for (int k = 0; k < n; ++k)
      if (waits_[k] == 0) ready_.push(k);
    while (!ready_.empty()) {
      int const from = best(stays);
      std::int32_t const u = ready_[from];
      for (int k = from; k + 1 < ready_.size(); ++k) ready_[k] = ready_[k + 1];
      ready_.pop();
      order.push(first_ + u);
      each_inside(first_ + u, [&](std::int32_t v) { --left_[v]; });
      for (int k = first_reader_[u]; k < first_reader_[u + 1]; ++k)
        if (--waits_[readers_[k]] == 0) put_in(readers_[k]);
    }
  }
  void put_in(std::int32_t u) {
    int k = ready_.push(u);
    for (; k > 0 && ready_[k - 1] > u; --k) ready_[k] = ready_[k - 1];
    ready_[k] = u;
  }
  template <class Stays> int best(Stays stays) const {
    int which = 0, most = -4;
    for (int k = 0; k < ready_.size() && k < 12; ++k) {
      std::int32_t const u = ready_[k];
      if (k > 0 && stays(first_ + u)) continue;
      int gone = first_reader_[u] == first_reader_[u + 1] ? 0 : -1;
      each_inside(first_ + u, [&](std::int32_t v) { gone += left_[v] == 1 ? 1 : 0; });
      if (gone > most) most = gone, which = k;
    }
    return which;
  }

  void find_reads() {
    of_unit_.assign(end_ - first_, never);
    of_outer_.assign(t_.outers.size(), never);
    after_.resize(t_.sources.size());
    for (int at = order.size() - 1; at >= 0; --at) {
      int const u = order[at], operands = t_.first_source[u];
      for (int k = 0; k < t_.units[u].count; ++k) after_[operands + k] = use(t_.source(u, k));
      for (int k = 0; k < t_.units[u].count; ++k) use(t_.source(u, k)) = at;
    }
  }
};

} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
