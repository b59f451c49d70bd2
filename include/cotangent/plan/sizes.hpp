// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_SIZES_HPP
#define COTANGENT_PLAN_SIZES_HPP

#include <cotangent/graph/hash_index.hpp>
#include <cotangent/plan/plan.hpp>

// Arithmetic on dimensions in a plan: constants at once, everything else as a derived size that the call
// computes.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

class size_table {
  array<derived_size>& derived_;
  std::int32_t known_;
  hash_index index_; // of the first derived sizes

public:
  constexpr size_table(array<derived_size>& derived, std::int32_t known) : derived_(derived), known_(known) {}

  constexpr dimension product(dimension a, dimension b) {
    if (a >= 0 && b >= 0) return capped_product(a, b);
    return a == 0 || b == 0 ? 0 : a == 1 ? b : b == 1 ? a : derive(a, b, true);
  }
  constexpr dimension sum(dimension a, dimension b) {
    if (a >= 0 && b >= 0) return capped_sum(a, b);
    return a == 0 ? b : b == 0 ? a : derive(a, b, false);
  }

  /// True if a walk along two neighboring axes continues where the inner one ends.
  constexpr bool joins(dimension outer, dimension inner, dimension inner_size) {
    return inner_size == 0 || (outer == 0 ? inner == 0 : inner != 0 && outer == product(inner, inner_size));
  }

private:
  constexpr dimension derive(dimension a, dimension b, bool product) {
    while (index_.size() < derived_.size()) index_.add(hash_of(derived_[index_.size()]));
    derived_size const wanted{a, b, product};
    std::int32_t const found = index_.find(hash_of(wanted), [&](std::int32_t k) {
      derived_size const& d = derived_[k];
      return d.product == product && ((d.a == a && d.b == b) || (d.a == b && d.b == a));
    });
    if (found != none) return -1 - (known_ + found);
    return -1 - (known_ + derived_.push(wanted));
  }
  static constexpr std::uint32_t hash_of(derived_size const& d) {
    auto const a = static_cast<std::uint64_t>(d.a), b = static_cast<std::uint64_t>(d.b);
    return mix(d.product ? 1 : 0, (a + b) * odd_multiplier + (a ^ b)) | 1u; // symmetric
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
