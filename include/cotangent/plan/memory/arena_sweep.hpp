// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_MEMORY_ARENA_SWEEP_HPP
#define COTANGENT_PLAN_MEMORY_ARENA_SWEEP_HPP

#include <cotangent/graph/window_index.hpp>

#include <bit>
#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// A live range: from step `first` to step `last`, both included.
struct lifetime {
  std::int32_t first = 0, last = 0;
  std::int64_t bytes = 0;
};

/// The offset of each value, and the total bytes.
struct arena {
  array<std::int64_t> offsets;
  std::int64_t bytes = 0;
};

/// Stable sort by time.
template <class Time>
constexpr array<std::int32_t> by_time(array<std::int32_t> const& values, Time time) {
  std::int32_t low = time(values[0]), high = low;
  for (std::int32_t const k : values) {
    if (time(k) < low) low = time(k);
    if (time(k) > high) high = time(k);
  }
  array<std::int32_t> order(values.size());
  if (high - low > 8 * values.size() + 64) {
    order = values;
    sort(order.data(), order.size(), [&](std::int32_t a, std::int32_t b) { return time(a) < time(b); });
    return order;
  }
  array<std::int32_t> at(high - low + 2);
  for (std::int32_t const k : values) ++at[time(k) - low + 1];
  for (int k = 0; k <= high - low; ++k) at[k + 1] += at[k];
  for (std::int32_t const k : values) order[at[time(k) - low]++] = k;
  return order;
}

/// Sweeps through time: a value that begins takes the smallest gap that holds it, a value that ends leaves a
/// gap. Gaps are listed by the number of occurring sizes that fit, so that the smallest suitable gap is found
/// without a search.
class arena_sweep {
  struct block {
    std::int64_t offset = 0, bytes = 0;
    std::int32_t below = none, above = none;  // neighbors in memory
    std::int32_t before = none, after = none; // in the same list of gaps
    bool free = false;
  };
  array<lifetime> const& v_;
  array<std::int64_t> sizes_;    // that occur, ascending
  array<std::int32_t> head_;     // by number of fitting sizes: a gap
  // a bit tree: which lists have gaps; then which of these words are nonzero, and so on
  array<std::uint64_t> bits_[4];
  array<block> blocks_;
  array<std::int32_t> unused_;
  std::int32_t top_ = none; // the highest block
  int levels_ = 1;

public:
  arena made;
  std::int64_t most_at_once = 0; // peak bytes: no arena needs less

  constexpr explicit arena_sweep(array<lifetime> const& values) : v_(values) {
    int const n = v_.size();
    made.offsets.resize(n);
    if (n == 0) return;
    array<std::int32_t> by_size(n), begins, ends, in(n);
    for (std::int32_t k = 0; k < n; ++k) by_size[k] = k;
    sort(by_size.data(), n, [&](std::int32_t a, std::int32_t b) { return v_[a].bytes > v_[b].bytes; });
    find_sizes(by_size);
    begins = by_time(by_size, [&](std::int32_t k) { return v_[k].first; });
    ends = by_time(by_size, [&](std::int32_t k) { return v_[k].last; });
    std::int64_t now = 0;
    int e = 0;
    for (std::int32_t const k : begins) {
      for (; v_[ends[e]].last < v_[k].first; ++e) {
        give_back(in[ends[e]]);
        now -= v_[ends[e]].bytes;
      }
      in[k] = take(v_[k].bytes);
      made.offsets[k] = blocks_[in[k]].offset;
      now += v_[k].bytes;
      if (most_at_once < now) most_at_once = now;
    }
  }

private:
  constexpr void find_sizes(array<std::int32_t> const& largest_first) {
    for (int k = largest_first.size(); k-- > 0;)
      if (std::int64_t const bytes = v_[largest_first[k]].bytes; sizes_.empty() || sizes_.back() != bytes)
        sizes_.push(bytes);
    head_.assign(sizes_.size() + 1, none);
    int words = sizes_.size() / 64 + 1;
    for (levels_ = 0; levels_ < 4; ++levels_) {
      bits_[levels_] = array<std::uint64_t>(words);
      if (words == 1) break;
      words = (words + 63) / 64;
    }
    ++levels_;
  }
  /// The number of sizes that are no larger.
  constexpr int fitting(std::int64_t bytes) const {
    int low = 0, high = sizes_.size();
    while (low < high) {
      int const middle = (low + high) / 2;
      if (sizes_[middle] <= bytes) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  constexpr void mark(int at) {
    for (int level = 0; level < levels_; ++level, at /= 64) {
      std::uint64_t& word = bits_[level][at / 64];
      bool const known = word != 0;
      word |= std::uint64_t{1} << (at % 64);
      if (known) return;
    }
  }
  constexpr void unmark(int at) {
    for (int level = 0; level < levels_; ++level, at /= 64)
      if ((bits_[level][at / 64] &= ~(std::uint64_t{1} << (at % 64))) != 0) return;
  }
  /// The first non-empty list from this one on, or none.
  constexpr int next_list(int at) const {
    for (int level = 0; level < levels_ && at / 64 < bits_[level].size(); ++level, at = at / 64 + 1) {
      std::uint64_t const left = bits_[level][at / 64] & ~std::uint64_t{0} << (at % 64);
      if (left == 0) continue;
      at = at / 64 * 64 + std::countr_zero(left);
      while (level-- > 0) at = at * 64 + std::countr_zero(bits_[level][at]);
      return at;
    }
    return none;
  }

  constexpr void add_gap(std::int32_t b) {
    int const list = fitting(blocks_[b].bytes);
    blocks_[b].free = true;
    blocks_[b].before = none;
    blocks_[b].after = head_[list];
    if (head_[list] != none) blocks_[head_[list]].before = b;
    head_[list] = b;
    mark(list);
  }
  constexpr void remove_gap(std::int32_t b) {
    block const& at = blocks_[b];
    int const list = fitting(at.bytes);
    (at.before == none ? head_[list] : blocks_[at.before].after) = at.after;
    if (at.after != none) blocks_[at.after].before = at.before;
    blocks_[b].free = false;
    if (head_[list] == none) unmark(list);
  }
  constexpr std::int32_t new_block(block const& b) {
    if (unused_.empty()) return blocks_.push(b);
    std::int32_t const at = unused_.pop();
    blocks_[at] = b;
    return at;
  }
  constexpr std::int32_t take(std::int64_t bytes) {
    std::int32_t at = none;
    if (int const list = next_list(fitting(bytes)); list != none) {
      at = head_[list];
      remove_gap(at);
    } else if (top_ != none && blocks_[top_].free) { // the gap at the end grows
      at = top_;
      remove_gap(at);
      made.bytes += bytes - blocks_[at].bytes;
      blocks_[at].bytes = bytes;
    } else {
      at = new_block({made.bytes, bytes, top_, none, none, none, false});
      if (top_ != none) blocks_[top_].above = at;
      top_ = at;
      made.bytes += bytes;
    }
    if (std::int64_t const rest = blocks_[at].bytes - bytes; rest > 0) {
      std::int32_t const gap =
          new_block({blocks_[at].offset + bytes, rest, at, blocks_[at].above, none, none, false});
      if (blocks_[at].above != none) blocks_[blocks_[at].above].below = gap;
      else top_ = gap;
      blocks_[at].above = gap;
      blocks_[at].bytes = bytes;
      add_gap(gap);
    }
    return at;
  }
  constexpr void give_back(std::int32_t b) {
    if (std::int32_t const above = blocks_[b].above; above != none && blocks_[above].free) {
      remove_gap(above);
      join(b, above);
    }
    if (std::int32_t const below = blocks_[b].below; below != none && blocks_[below].free) {
      remove_gap(below);
      join(below, b);
      b = below;
    }
    add_gap(b);
  }
  /// Merges the block above into this one.
  constexpr void join(std::int32_t b, std::int32_t above) {
    blocks_[b].bytes += blocks_[above].bytes;
    blocks_[b].above = blocks_[above].above;
    if (blocks_[b].above != none) blocks_[blocks_[b].above].below = b;
    else top_ = b;
    unused_.push(above);
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
