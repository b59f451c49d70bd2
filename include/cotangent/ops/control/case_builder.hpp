// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_CONTROL_CASE_BUILDER_HPP
#define COTANGENT_OPS_CONTROL_CASE_BUILDER_HPP

#include <cotangent/ops/control/builder.hpp>

#include <cstdint>
#include <source_location>

// Branches.

namespace cotangent::detail {

/// Builds a branch:
///
///     case_builder choice(b, index, values, count);
///     symbol const* in = choice.open_branch(); // the values
///     choice.close_branch(&y, 1);
///     ...
///     choice.finish(bypass);                   // for each result the position of a value, or -1
///     choice.result(0)
///
/// Refuses: an index that is not an integer scalar; branches whose results differ in number or type.
class case_builder : public detail::control_builder {
  extend::symbol index_;
  detail::array<extend::symbol> results_;
  detail::array<detail::open_region> branches_;
  detail::open_region now_;
  int result_count_ = 0;

  constexpr extend::symbol output(int branch, int k) const {
    return b_.get().ids[b_.get().regions[branches_[branch].region].first_output + k];
  }

public:
  constexpr case_builder(extend::builder& b, extend::symbol index, extend::symbol const* values, int count)
      : control_builder(b), index_(index) {
    if (outside(index) && !is_scalar(index, element::int64) && !is_scalar(index, element::int32))
      b.refuse<refusals::case_index>(b.count(b.dims(index)), 1, b.place);
    for (int k = 0; k < count; ++k) values_.push(outside(values[k]) ? values[k] : b.refused());
  }

  constexpr extend::symbol const* open_branch() {
    now_ = {};
    open(now_);
    for (extend::symbol t : values_) now_.inputs.push(input_like(t));
    return now_.inputs.data();
  }
  constexpr void close_branch(extend::symbol const* results, int count) {
    if (branches_.size() == 0) result_count_ = count;
    if (count != result_count_) b_.refuse<refusals::case_count>(count, result_count_, b_.place);
    for (int k = 0; k < count; ++k) (void)inside(results[k]);
    b_.set_outputs(results, count, now_.region);
    close();
    branches_.push(now_);
  }
  /// Emits the node and returns its index; `none` after a failure. Without `bypass`, the default results are
  /// zeros.
  constexpr std::int32_t finish(int const* bypass = nullptr, std::source_location where = {}) {
    if (branches_.size() == 0) b_.refuse<refusals::case_branches>(0, 1, where);
    std::int32_t const owner = b_.get().nodes.size();
    detail::array<std::int64_t> attributes;
    attributes.push(result_count_);
    attributes.push(values_.size() + captures_.size());
    attributes.push(branches_.size());
    for (int k = 0; k < result_count_; ++k) {
      int const by = bypass == nullptr ? -1 : bypass[k];
      attributes.push(by);
      extend::symbol like = by >= 0 && by < values_.size() ? values_[by] : extend::none;
      for (int j = 0; j < branches_.size() && b_.failed().why == nullptr; ++j) {
        extend::symbol const y = output(j, k);
        if (y != extend::none && like != extend::none && !detail::same_value_type(b_.tensor(y), b_.tensor(like))) {
          if (j == 0) b_.refuse_types<refusals::case_bypass>(like, y, where);
          else b_.refuse_types<refusals::case_type>(y, like, where);
        }
        if (like == extend::none) like = y;
      }
      if (like == extend::none) b_.refuse<refusals::case_type>(0, 0, where);
      results_.push(b_.failed().why != nullptr ? b_.refused() : input_like(like));
    }
    if (b_.failed().why != nullptr) return extend::none;
    for (detail::open_region& r : branches_) {
      attributes.push(r.region);
      name_inputs(r, values_.size(), owner);
    }
    detail::array<extend::symbol> operands;
    operands.push(index_);
    for (extend::symbol t : values_) operands.push(t);
    for (extend::symbol t : captures_) operands.push(t);
    return b_.assign(info_of<op::case_of>(), operands.data(), operands.size(), results_.data(),
                     results_.size(), attributes.data(), attributes.size(), where);
  }
  constexpr extend::symbol result(int k) const { return results_[k]; }
};

} // namespace cotangent::detail

#endif
