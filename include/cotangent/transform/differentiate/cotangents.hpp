// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_COTANGENTS_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_COTANGENTS_HPP

#include <cotangent/transform/differentiate/views/viewed.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The contributions to the cotangents of symbols from `first` on, in order of arrival. Those of views are
/// contributions to their tensor.
class cotangents {
  symbol first_;
  viewed_tensors* views_;           // null if there are none
  array<std::int32_t> head_, tail_; // by symbol - first_, into the lists; 0: none
  contribution_lists lists_;

public:
  constexpr cotangents(builder& b, symbol first, int count, viewed_tensors* views, aggregation const& how)
      : first_(first), views_(views), head_(count), tail_(count), lists_(b, how) {}
  constexpr bool any(symbol t) const {
    if (views_ != nullptr && views_->has(t)) return views_->any(t);
    return t >= first_ && head_[t - first_] != 0;
  }
  constexpr void add(symbol t, symbol contribution) {
    if (views_ != nullptr && views_->has(t)) return views_->add(t, contribution);
    lists_.add(head_[t - first_], tail_[t - first_], contribution);
  }
  /// The sum, emitted at the first request.
  constexpr symbol sum(symbol t) {
    if (views_ != nullptr && views_->has(t)) return views_->sum(t);
    return lists_.sum(head_[t - first_], tail_[t - first_]);
  }
  /// The sum as the result of a gradient.
  constexpr symbol gradient(symbol t) {
    if (!any(t)) return none;
    symbol const total = sum(t);
    return views_ != nullptr && views_->has(t) ? views_->of_input(t, total) : total;
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
