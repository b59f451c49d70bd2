// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_MEMORY_ARENA_HPP
#define COTANGENT_PLAN_MEMORY_ARENA_HPP

#include <cotangent/graph/window_index.hpp>
#include <cotangent/plan/memory/arena_sweep.hpp>

#include <cstdint>

// Assigns offsets to values in one block of memory, from their live ranges and sizes.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Puts each value at the lowest offset that overlaps no neighbor in time, in several orders, and keeps the
/// best.
class arena_search {
  array<lifetime> const& v_;
  array<std::int32_t> first_, others_; // by value: the first of its neighbors in time, in `others_`
  array<std::int64_t> offsets_;        // of the current order, -1 if not placed yet
  struct taken {
    std::int64_t from, to;
  };
  array<taken> heap_;
  std::int64_t lower_bound_, left_; // the remaining number of pairs

public:
  arena best;

  /// `effort`: the largest number of pairs of neighbors to visit.
  constexpr arena_search(array<lifetime> const& values, arena&& found, std::int64_t lower_bound,
                         std::int64_t effort)
      : v_(values), lower_bound_(lower_bound), left_(effort), best(static_cast<arena&&>(found)) {
    if (best.bytes <= lower_bound_ || effort <= 0 || !find_neighbors()) return;
    array<std::int32_t> order(v_.size()), best_order;
    for (int rule = 0; rule < 6 && !done(); ++rule) {
      for (std::int32_t k = 0; k < order.size(); ++k) order[k] = k;
      sort_by(order, rule);
      std::int64_t const before = best.bytes;
      std::int64_t const bytes = place(order);
      if (bytes < before || best_order.empty()) best_order = order;
    }
    improve(best_order);
  }

private:
  constexpr bool done() const { return best.bytes <= lower_bound_ || left_ < 0; }

  constexpr void sort_by(array<std::int32_t>& order, int rule) const {
    auto const life = [&](std::int32_t k) { return static_cast<std::int64_t>(v_[k].last) - v_[k].first + 1; };
    auto const larger = [&](std::int32_t a, std::int32_t b) {
      if (v_[a].bytes != v_[b].bytes) return v_[a].bytes > v_[b].bytes;
      if (life(a) != life(b)) return life(a) > life(b);
      return v_[a].first < v_[b].first;
    };
    auto const by = [&](auto const& before) { sort(order.data(), order.size(), before); };
    if (rule == 0) return by([&](std::int32_t a, std::int32_t b) { return v_[a].bytes > v_[b].bytes; });
    if (rule == 5) return by(larger);
    if (rule == 1)
      return by([&](std::int32_t a, std::int32_t b) {
        double const p = static_cast<double>(v_[a].bytes) * static_cast<double>(life(a)),
                     q = static_cast<double>(v_[b].bytes) * static_cast<double>(life(b));
        return p != q ? p > q : larger(a, b);
      });
    if (rule == 2)
      return by([&](std::int32_t a, std::int32_t b) {
        return life(a) != life(b) ? life(a) > life(b) : larger(a, b);
      });
    if (rule == 3)
      return by([&](std::int32_t a, std::int32_t b) {
        return v_[a].first != v_[b].first ? v_[a].first < v_[b].first : larger(a, b);
      });
    by([&](std::int32_t a, std::int32_t b) {
      return v_[a].last != v_[b].last ? v_[a].last > v_[b].last : larger(a, b);
    });
  }

  /// Finds all pairs of values that are live at the same time; false if there are too many.
  constexpr bool find_neighbors() {
    int const n = v_.size();
    array<std::int32_t> order(n), active, pairs;
    for (std::int32_t k = 0; k < n; ++k) order[k] = k;
    sort(order.data(), n, [&](std::int32_t a, std::int32_t b) { return v_[a].first < v_[b].first; });
    first_.assign(n + 1, 0);
    for (std::int32_t const k : order) {
      int kept = 0;
      for (std::int32_t const a : active)
        if (v_[a].last >= v_[k].first) active[kept++] = a;
      left_ -= active.size() + 1;
      if (left_ < 0) return false;
      active.resize(kept);
      for (std::int32_t const a : active) {
        pairs.push(a);
        pairs.push(k);
        ++first_[a];
        ++first_[k];
      }
      active.push(k);
    }
    std::int32_t sum = 0;
    for (std::int32_t& f : first_) {
      std::int32_t const count = f;
      f = sum;
      sum += count;
    }
    others_.resize(sum);
    array<std::int32_t> at = first_;
    for (int p = 0; p < pairs.size(); p += 2) {
      others_[at[pairs[p]]++] = pairs[p + 1];
      others_[at[pairs[p + 1]]++] = pairs[p];
    }
    offsets_.resize(n);
    return true;
  }

  /// The bytes that this order needs; it is kept if no earlier order needs less.
  constexpr std::int64_t place(array<std::int32_t> const& order) {
    for (std::int64_t& o : offsets_) o = -1;
    std::int64_t top = 0;
    for (std::int32_t const k : order) {
      offsets_[k] = lowest(k);
      if (top < offsets_[k] + v_[k].bytes) top = offsets_[k] + v_[k].bytes;
    }
    left_ -= others_.size() + order.size();
    if (top < best.bytes) {
      best.bytes = top;
      best.offsets = offsets_;
    }
    return top;
  }
  constexpr std::int64_t lowest(std::int32_t k) {
    heap_.clear();
    for (int j = first_[k]; j < first_[k + 1]; ++j)
      if (std::int32_t const o = others_[j]; offsets_[o] >= 0)
        heap_.push({offsets_[o], offsets_[o] + v_[o].bytes});
    for (int j = heap_.size() / 2; j-- > 0;) sink(j);
    std::int64_t end = 0;
    while (!heap_.empty() && heap_[0].from - end < v_[k].bytes) {
      if (end < heap_[0].to) end = heap_[0].to;
      heap_[0] = heap_.back();
      (void)heap_.pop();
      sink(0);
    }
    return end;
  }
  constexpr void sink(int k) {
    int const n = heap_.size();
    for (int child = 2 * k + 1; child < n; k = child, child = 2 * k + 1) {
      if (child + 1 < n && heap_[child + 1].from < heap_[child].from) ++child;
      if (heap_[k].from <= heap_[child].from) return;
      taken const t = heap_[k];
      heap_[k] = heap_[child];
      heap_[child] = t;
    }
  }

  /// Repeatedly moves the topmost values to the front of the order.
  constexpr void improve(array<std::int32_t>& order) {
    std::uint32_t seed = 1;
    for (int round = 0; round < most_rounds && !done() && best.bytes - lower_bound_ > lower_bound_ / 64;
         ++round) {
      std::int64_t const top = place(order);
      int at = order.size() - 1;
      while (at >= 0 && offsets_[order[at]] + v_[order[at]].bytes != top) --at;
      if (at <= 0) return;
      seed = seed * 1664525u + 1013904223u;
      int const to = static_cast<int>((seed >> 8) % static_cast<std::uint32_t>(at));
      std::int32_t const moved = order[at];
      for (int k = at; k > to; --k) order[k] = order[k - 1];
      order[to] = moved;
    }
  }
  static constexpr int most_rounds = 200;
};

/// Gives every value an offset, so that no two live values overlap. The bytes never exceed those of
/// largest-first placement (of equal sizes the first given), unless there are more than `effort` pairs of
/// neighbors. Values of equal size need no more than the peak.
///
/// More than 2^61 bytes in total are not placed: `bytes` is INT64_MAX, which cannot be allocated.
///
/// Cost: n log n, and at most `effort`.
/// Checked: tests/runtime/arena.cpp, tests/long/arena.cpp, tests/static/arena.cpp.
constexpr arena plan_arena(array<lifetime> const& values, std::int64_t effort = std::int64_t{1} << 21) {
  std::int64_t together = 0;
  for (lifetime const& value : values) together = detail::capped_sum(together, value.bytes);
  // else offsets could overflow
  if (together > INT64_MAX / 4) return {array<std::int64_t>(values.size()), INT64_MAX};
  detail::arena_sweep sweep(values);
  std::int64_t const bound = sweep.most_at_once;
  return detail::arena_search(values, static_cast<arena&&>(sweep.made), bound, effort).best;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
