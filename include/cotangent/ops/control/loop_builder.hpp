// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_CONTROL_LOOP_BUILDER_HPP
#define COTANGENT_OPS_CONTROL_LOOP_BUILDER_HPP

#include <cotangent/ops/control/builder.hpp>
#include <cotangent/ops/control/rows.hpp>
#include <cotangent/ops/functions.hpp>

#include <cstdint>
#include <source_location>

// Loops.

namespace cotangent::detail {

/// The operands of a loop: see `loop_layout`.
struct loop_start {
  extend::symbol const* inits = nullptr;
  int carried = 0;
  extend::symbol limit = extend::none;
  std::int64_t flags = 0;
  extend::symbol const* scans = nullptr;
  int scanned = 0;
  extend::symbol start = extend::none;
  std::int64_t tape_limit = 0;
  extend::symbol most = extend::none; // the loop ends after this number of iterations at the latest; an int64 scalar
};

/// Builds a loop:
///
///     loop_builder loop(b, {.inits = &x, .carried = 1});
///     symbol const* in = loop.open_condition(); // count, carried
///     loop.close_condition(goes_on);
///     in = loop.open_body();                    // count, carried, slices
///     ... loop.capture(y) ...
///     loop.close_body(&next, &entries, 1);
///     loop.finish();
///     loop.last(0)
///
/// Refuses: carried values that change their type; a condition that is not one bool; neither limit nor condition.
class loop_builder : public detail::control_builder {
  loop_layout at_;
  detail::array<extend::symbol> inits_, scans_, results_;
  extend::symbol limit_, start_, left_out_ = extend::none;
  detail::array<extend::symbol> in_body_; // what the body is given
  detail::open_region condition_, body_;

  /// At most `most` iterations. Those that a reverse loop leaves out have the lowest numbers.
  constexpr void bound(extend::symbol most) {
    if (most == extend::none || b_.failed().why != nullptr) return;
    term const bound{&b_, most}, given{&b_, limit_};
    limit_ = limit_ == extend::none ? most : extend::apply<op::min>(given, bound).id;
    if (at_.is_reverse() && given.id != extend::none) left_out_ = (given - term{&b_, limit_}).id;
  }

  constexpr extend::symbol const* open_with(detail::open_region& r, bool slices) {
    open(r);
    r.inputs.push(b_.symbol_of(element::int64, b_.shape(extend::dimensions{})));
    for (int k = 0; k < at_.carried; ++k) r.inputs.push(input_like(inits_[k]));
    for (int k = 0; slices && k < at_.scanned; ++k) r.inputs.push(input_like(scans_[k], 1));
    return r.inputs.data();
  }

public:
  constexpr loop_builder(extend::builder& b, loop_start const& s)
      : control_builder(b), at_{.carried = s.carried, .scanned = s.scanned, .flags = s.flags, .tape_limit = s.tape_limit > 0 ? s.tape_limit : 0},
        limit_(s.limit), start_(s.start) {
    if (start_ != extend::none) at_.flags |= loop_layout::starts;
    for (int k = 0; k < s.carried; ++k) inits_.push(outside(s.inits[k]) ? s.inits[k] : b.refused());
    for (int k = 0; k < s.scanned; ++k) {
      scans_.push(s.scans[k]);
      if (outside(s.scans[k]) && b.tensor(s.scans[k]).depth == 0)
        b.refuse<refusals::loop_scanned>(k, 1, b.place);
    }
    for (extend::symbol const t : {limit_, start_})
      if (t != extend::none && outside(t) && !is_scalar(t, element::int64))
        b.refuse<refusals::loop_limit>(b.count(b.dims(t)), 1, b.place);
    bound(s.most);
  }

  constexpr extend::symbol const* open_condition() { return open_with(condition_, false); }
  constexpr void close_condition(extend::symbol goes_on) {
    if (inside(goes_on) && !is_scalar(goes_on, element::boolean))
      b_.refuse<refusals::loop_condition>(b_.count(b_.dims(goes_on)), 1, b_.place);
    b_.set_outputs(&goes_on, 1, condition_.region);
    at_.condition = condition_.region;
    close();
  }
  constexpr extend::symbol const* open_body() {
    extend::symbol const* const in = open_with(body_, true);
    if (left_out_ == extend::none) return in;
    in_body_ = body_.inputs;
    in_body_[0] = (term{&b_, in[0]} + term{&b_, capture(left_out_)}).id;
    return in_body_.data();
  }
  /// The same, for a body that may read tensors row by row: see `extend::row_at`.
  constexpr extend::symbol const* open_body_of_rows() {
    body_.limit = limit_;
    body_.runs_all = at_.condition == extend::none && start_ == extend::none;
    return open_body();
  }
  constexpr void close_body(extend::symbol const* next, int count, extend::symbol const* entries = nullptr,
                            int entry_count = 0) {
    if (count != at_.carried) b_.refuse<refusals::loop_count>(at_.carried, count, b_.place);
    detail::array<extend::symbol> all;
    for (int k = 0; k < count; ++k) all.push(next[k]);
    for (int k = 0; k < entry_count; ++k) all.push(entries[k]);
    for (int k = 0; k < all.size(); ++k) (void)inside(all[k]);
    for (int k = 0; k < count && k < at_.carried; ++k)
      if (!detail::same_value_type(b_.tensor(inits_[k]), b_.tensor(next[k])))
        b_.refuse_types<refusals::loop_carried>(inits_[k], next[k], b_.place);
    b_.set_outputs(all.data(), all.size(), body_.region);
    at_.body = body_.region;
    at_.stacked = entry_count;
    close();
  }
  /// Emits the node and returns its index; `none` after a failure.
  constexpr std::int32_t finish(std::source_location where = {}) {
    if (limit_ == extend::none && at_.condition == extend::none) b_.refuse<refusals::loop_endless>(0, 0, where);
    if (at_.is_reverse() && (limit_ == extend::none || at_.condition != extend::none))
      b_.refuse<refusals::loop_reverse>(limit_ != extend::none, at_.condition != extend::none, where);
    if (at_.has_start() && (limit_ == extend::none || at_.condition != extend::none))
      b_.refuse<refusals::loop_starts>(limit_ != extend::none, at_.condition != extend::none, where);
    bool const failed = b_.failed().why != nullptr;
    for (int k = 0; k < body_.rows.size() && !failed; ++k) {
      detail::read_by_row const& r = body_.rows[k];
      if (r.checked) limit_ = detail::limited_to_rows({&b_, limit_}, b_.dims(r.from).size[0] - r.offset).id; // of a name the offset is 0
      scans_.push(detail::sequence_read(b_, r));
    }
    at_.captured = captures_.size();
    at_.scanned = scans_.size();
    for (int k = 0; k < at_.carried; ++k) results_.push(failed ? b_.refused() : input_like(inits_[k]));
    for (int k = 0; k < at_.stacked; ++k)
      results_.push(
          failed ? b_.refused()
                 : input_like(b_.get().ids[b_.get().regions[at_.body].first_output + at_.entry(k)], -1));
    results_.push(failed ? b_.refused() : b_.symbol_of(element::int64, b_.shape(extend::dimensions{})));
    if (failed) return extend::none;
    std::int32_t const owner = b_.get().nodes.size();
    if (at_.condition != extend::none) name_inputs(condition_, 1 + at_.carried, owner);
    name_inputs(body_, 1 + at_.carried, owner);
    detail::array<extend::symbol> operands;
    operands.push(limit_);
    for (extend::symbol t : inits_) operands.push(t);
    for (extend::symbol t : captures_) operands.push(t);
    for (extend::symbol t : scans_) operands.push(t);
    if (start_ != extend::none) operands.push(start_);
    std::int64_t attributes[loop_layout::attribute_count]{};
    at_.write(attributes);
    return b_.assign(info_of<op::loop>(), operands.data(), operands.size(), results_.data(), results_.size(),
                     attributes, loop_layout::attribute_count, where);
  }
  constexpr extend::symbol last(int k) const { return results_[k]; }
  constexpr extend::symbol stack(int k) const { return results_[at_.stack(k)]; }
  constexpr extend::symbol trips() const { return results_[at_.trips()]; }
};

} // namespace cotangent::detail

#endif
