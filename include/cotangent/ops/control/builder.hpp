// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_CONTROL_BUILDER_HPP
#define COTANGENT_OPS_CONTROL_BUILDER_HPP

#include <cotangent/core/refusal.hpp>
#include <cotangent/ops/control.hpp>

#include <cstdint>
#include <source_location>

// The common part of the builders of loops and branches: open a region, compute in it, close it, and emit the node at the end.

namespace cotangent {

namespace refusals {
COTANGENT_REFUSAL(loop_carried, equal, elements_before, elements_after,
                  "cotangent: loop: a carried value must keep its element type and shape")
COTANGENT_REFUSAL(loop_count, equal, values_before, values_after,
                  "cotangent: loop: the body must give as many values as are carried")
COTANGENT_REFUSAL(loop_condition, is, elements_of_condition, one_bool,
                  "cotangent: loop: the condition must be one bool")
COTANGENT_REFUSAL(loop_limit, is, elements_of_limit, one_int64,
                  "cotangent: loop: the limit must be an int64 scalar")
COTANGENT_REFUSAL(loop_endless, is, limits, conditions,
                  "cotangent: loop: there must be a limit or a condition")
COTANGENT_REFUSAL(loop_reverse, is, limits, conditions,
                  "cotangent: loop: a loop in reverse needs a limit, and can have no condition")
COTANGENT_REFUSAL(loop_starts, is, limits, conditions,
                  "cotangent: loop: a loop with a start needs a limit, and can have no condition")
COTANGENT_REFUSAL(loop_scanned, is, position_of_scanned, sequence,
                  "cotangent: loop: a scanned operand must be a sequence that a loop has recorded")
COTANGENT_REFUSAL(region_capture, is, value_captured, computed_outside,
                  "cotangent: a loop or branch can use values of the function around it only")
COTANGENT_REFUSAL(case_index, is, elements_of_index, one_integer,
                  "cotangent: case_of: the index must be an integer scalar, and the predicate of cond a bool scalar")
COTANGENT_REFUSAL(case_branches, at_least, branches_given, branches_needed,
                  "cotangent: case_of: there must be a branch")
COTANGENT_REFUSAL(case_count, equal, results_of_branch, results_of_first_branch,
                  "cotangent: case_of: all branches must give the same number of values")
COTANGENT_REFUSAL(case_type, equal, elements_in_branch, elements_in_other_branch,
                  "cotangent: case_of: all branches must give the same element types and shapes")
COTANGENT_REFUSAL(case_bypass, equal, elements_passing_by, elements_of_result,
                  "cotangent: case_of: a value that is passed through must have the element type and shape of its result")
} // namespace refusals

namespace detail {

/// The common base of loops and branches, whose regions share a list of captured values.
class control_builder {
protected:
  builder& b_;
  std::int32_t const parent_;
  array<symbol> captures_;
  array<symbol> values_; // outer values of the first inputs of each region
  open_region* open_ = nullptr;

  constexpr explicit control_builder(builder& b) : b_(b), parent_(b.region) {}
  constexpr control_builder(control_builder const&) = delete;
  constexpr ~control_builder() {
    if (open_ != nullptr) b_.open = open_->around;
  }

  constexpr symbol input_like(symbol t, int shallower = 0) {
    tensor_symbol const like = b_.tensor(t);
    return b_.symbol_of(like.type, like.shape, like.depth - shallower);
  }
  constexpr bool is_scalar(symbol t, element e) const {
    return b_.tensor(t).type == e && b_.tensor(t).depth == 0 && b_.dims(t).rank == 0;
  }
  constexpr bool outside(symbol t) {
    if (t == none || b_.tensor(t).region == parent_) return true;
    b_.refuse<refusals::region_capture>(t, parent_, b_.place);
    return false;
  }
  constexpr bool inside(symbol t) {
    if (t == none || b_.tensor(t).region == open_->region) return true;
    b_.refuse<refusals::region_leak>(t, open_->region, b_.place);
    return false;
  }
  constexpr void open(open_region& r) {
    r.region = b_.open_region();
    r.captures = &captures_;
    r.settled = captures_.size();
    r.around = b_.open;
    b_.open = open_ = &r;
  }
  constexpr void close() {
    b_.close_region(open_->region);
    b_.open = open_->around;
    open_ = nullptr;
  }
  /// Orders the inputs of a region once all captures are known: own inputs before `split`, captures, other
  /// own inputs.
  constexpr void name_inputs(open_region& r, int split, int owner) {
    array<symbol> all;
    b_.region = r.region;
    for (int k = 0; k < split; ++k) all.push(r.inputs[k]);
    for (int k = 0; k < captures_.size(); ++k)
      all.push(k < r.captured.size() && r.captured[k] != none ? r.captured[k] : input_like(captures_[k]));
    for (int k = split; k < r.inputs.size(); ++k) all.push(r.inputs[k]);
    b_.region = parent_;
    b_.set_inputs(all.data(), all.size(), r.region);
    b_.edit().regions[r.region].owner = owner;
  }

public:
  /// The symbol, in the open region, of `outer` in the region around the loop or branch.
  constexpr symbol capture(symbol outer) {
    if (b_.failed().why != nullptr || !outside(outer)) return b_.refused();
    return b_.capture(outer, *open_);
  }
  constexpr open_region* body() const noexcept { return open_; }
  /// Calls `with(outer, inner)` for each outer value that the open region has an input or a copy for.
  template <class With> constexpr void each_known(With with) const {
    for (int k = 0; k < values_.size(); ++k) with(values_[k], open_->inputs[k]);
    for (int k = 0; k < open_->captured.size(); ++k)
      if (open_->captured[k] != none) with(captures_[k], open_->captured[k]);
    for (int k = 0; k < open_->copies.size(); ++k) with(open_->sources[k], open_->copies[k]);
  }
  /// The inputs of the open region so far.
  constexpr array<symbol> inputs() const {
    array<symbol> all;
    for (symbol const t : open_->inputs) all.push(t);
    for (symbol const t : open_->captured)
      if (t != none) all.push(t);
    return all;
  }
};

} // namespace detail

} // namespace cotangent

#endif
