// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_SIZES_HPP
#define COTANGENT_PLAN_SIZES_HPP

#include <cotangent/plan/plan.hpp>

// Arithmetic on dimensions in a plan: constants at once, everything else as a derived size that the call
// computes.

namespace cotangent::detail {

class size_table {
  array<derived_size>& derived_;
  std::int32_t known_;

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
    for (int k = 0; k < derived_.size(); ++k)
      if (derived_[k].product == product &&
          ((derived_[k].a == a && derived_[k].b == b) || (derived_[k].a == b && derived_[k].b == a)))
        return -1 - (known_ + k);
    return -1 - (known_ + derived_.push({a, b, product}));
  }
};

} // namespace cotangent::detail

#endif
