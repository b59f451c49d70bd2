// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_GRAPH_HASH_INDEX_HPP
#define COTANGENT_GRAPH_HASH_INDEX_HPP

#include <cotangent/graph/graph.hpp>

#include <cstdint>

// Finds the shape or node of a builder that equals a new one.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Open addressing over indices: 0 is free, i + 1 is the index i. It grows at half full, so probes stay
/// short.
class hash_index {
  array<std::int32_t> slots_;
  array<std::uint32_t> hashes_; // by index
  int mask_ = -1;               // the number of slots minus one

public:
  constexpr int size() const noexcept { return hashes_.size(); }
  /// The index with this hash for which `same(index)` is true, or none.
  template <class Same> constexpr std::int32_t find(std::uint32_t hash, Same same) const {
    std::int32_t const* const slots = slots_.data();
    for (int p = static_cast<int>(hash >> 1) & mask_; mask_ > 0 && slots[p] != 0; p = (p + 1) & mask_)
      if (hashes_[slots[p] - 1] == hash && same(slots[p] - 1)) return slots[p] - 1;
    return none;
  }
  /// Like `find`, but adds a missing entry, with the next index.
  template <class Same> constexpr std::int32_t find_or_add(std::uint32_t hash, Same same) {
    int const n = hashes_.push(hash) + 1;
    if (2 * n > mask_) grow(n - 1);
    std::int32_t* const slots = slots_.data();
    int p = static_cast<int>(hash >> 1) & mask_;
    for (; slots[p] != 0; p = (p + 1) & mask_)
      if (hashes_[slots[p] - 1] == hash && same(slots[p] - 1)) {
        (void)hashes_.pop();
        return slots[p] - 1;
      }
    slots[p] = n;
    return none;
  }
  /// Adds the next index, `size()`; `listed`: a search may find it.
  constexpr void add(std::uint32_t hash, bool listed = true) {
    int const n = hashes_.push(listed ? hash : 0) + 1;
    if (2 * n > mask_) grow(n);
    else if (listed) insert(hash, n);
  }
  constexpr void reserve(int count) {
    hashes_.reserve(count);
    if (2 * count > mask_) grow(hashes_.size(), count);
  }

  /// Removes the indices from `count` on. (Later entries were inserted last, so no probe passed them: their
  /// slots become free.)
  constexpr void take_back(int count) {
    while (hashes_.size() > count) {
      std::int32_t const n = hashes_.size();
      if (std::uint32_t const hash = hashes_.pop(); hash != 0) {
        int p = static_cast<int>(hash >> 1) & mask_;
        while (slots_[p] != n) p = (p + 1) & mask_;
        slots_[p] = 0;
      }
    }
  }

private:
  constexpr void insert(std::uint32_t hash, std::int32_t value) {
    std::int32_t* const slots = slots_.data();
    int p = static_cast<int>(hash >> 1) & mask_;
    while (slots[p] != 0) p = (p + 1) & mask_;
    slots[p] = value;
  }
  constexpr void grow(int count, int wanted = 0) {
    int n = mask_ < 0 ? 64 : 4 * (mask_ + 1);
    while (n <= 2 * wanted) n *= 2;
    slots_ = array<std::int32_t>(n);
    mask_ = n - 1;
    for (int k = 0; k < count; ++k)
      if (hashes_[k] != 0) insert(hashes_[k], k + 1);
  }
};

inline constexpr std::uint64_t odd_multiplier = 0x9E3779B97F4A7C15ull;
constexpr std::uint32_t mix(std::uint32_t h, std::uint64_t v) noexcept {
  std::uint64_t const x = (h ^ v) * odd_multiplier;
  return static_cast<std::uint32_t>((x ^ (x >> 32)) * 0x85EBCA6Bu) ^ static_cast<std::uint32_t>(x >> 43);
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
