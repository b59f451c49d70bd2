// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_PROVIDER_LIST_HPP
#define COTANGENT_PLAN_PROVIDER_LIST_HPP

#include <cotangent/graph/hash_index.hpp>

#include <cstdint>

// The instances that serve one symbol, by the nest and the stage that they serve.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The readers that one instance serves; of loads, those with one offset.
struct served {
  std::int32_t nest = 0, stage = 0;
  dimension offset = 0;

  constexpr bool operator==(served const& r) const {
    return nest == r.nest && stage == r.stage && offset == r.offset;
  }
  constexpr std::uint32_t hash() const {
    std::uint32_t const h = mix(static_cast<std::uint32_t>(stage), static_cast<std::uint64_t>(offset));
    return mix(h, static_cast<std::uint64_t>(nest)) | 1u;
  }
};

/// The first instances are searched one after the other: most symbols have no more, and an index costs many
/// constexpr steps. Later ones are indexed, since thousands of nests may read one symbol.
///
/// Checked: tests/runtime/executor_plan.cpp
template <class Served> class provider_list {
  struct entry {
    Served readers;
    std::int32_t instance = none;
  };
  static constexpr int most_searched = 8;
  entry first_[most_searched];
  int count_ = 0; // of all
  array<entry> later_;
  hash_index index_; // of later_

public:
  constexpr void clear() {
    if (count_ > most_searched) {
      later_.clear();
      index_.take_back(0);
    }
    count_ = 0;
  }
  /// The instance for these readers for which `same(instance)` is true, or none.
  template <class Same> constexpr std::int32_t find(Served const& r, Same same) const {
    for (int k = count_ < most_searched ? count_ - 1 : most_searched - 1; k >= 0; --k)
      if (first_[k].readers == r && same(first_[k].instance)) return first_[k].instance;
    if (count_ <= most_searched) return none;
    std::int32_t const found = index_.find(
        r.hash(), [&](std::int32_t k) { return later_[k].readers == r && same(later_[k].instance); });
    return found == none ? none : later_[found].instance;
  }
  constexpr std::int32_t add(Served const& r, std::int32_t instance) {
    if (count_ < most_searched) {
      first_[count_].readers = r;
      first_[count_].instance = instance;
    } else {
      later_.push({r, instance});
      index_.add(r.hash());
    }
    ++count_;
    return instance;
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
