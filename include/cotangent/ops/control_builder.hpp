// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_CONTROL_BUILDER_HPP
#define COTANGENT_OPS_CONTROL_BUILDER_HPP

#include <cotangent/core/refusal.hpp>
#include <cotangent/ops/control.hpp>
#include <cotangent/ops/indexing.hpp>
#include <cotangent/ops/movement.hpp>

#include <cstdint>
#include <source_location>

// Builders of loops and branches: open a region, compute in it, close it, and emit the node at the end.

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
                  "cotangent: case_of: the index must be an integer scalar")
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

/// True if the numbers of iterations, below `limit`, plus `offset` are below `rows`; with `all`, if each row has an iteration.
constexpr bool iterates_rows(builder const& b, symbol limit, dimension rows, std::int64_t offset, bool all) {
  node const* const n = limit == none ? nullptr : b.producer(limit);
  if (n == nullptr) return false;
  std::int64_t const* const number = b.get().numbers.data() + n->attribute;
  if (n->op == info_of<op::size>()) return n->attribute_count == 1 && *number == rows && offset == 0;
  if (n->op != info_of<op::constant>() || *number <= 0 || offset < 0 || *number > rows || offset > rows - *number) return false;
  return !all || *number == rows;
}
/// The sequence of the rows from the offset on.
constexpr symbol sequence_read(builder& b, read_by_row const& read) {
  term x{&b, read.from};
  if (read.offset != 0) x = extend::slice(x, 0, read.offset, x.dims().size[0] - read.offset);
  return extend::rows_to_sequence(x).id;
}
/// The input of the open body for a row of `x`, which it captures, at the number of the iteration or that plus a constant;
/// `none` if `x` or `index` is another value, or could be out of range.
constexpr symbol row_of_iteration(builder& b, symbol x, symbol index) {
  open_region* const body = b.open;
  if (body == nullptr || body->limit == none || body->region != b.region) return none;
  std::int64_t offset = 0;
  if (node const* const n = b.producer(index); n != nullptr && n->op == info_of<op::add>()) {
    auto const of = [&](int k) { return b.get().ids[n->first + k]; };
    for (int k = 0; k < 2; ++k)
      if (node const* const c = b.producer(of(k)); c != nullptr && c->op == info_of<op::constant>()) {
        offset = b.get().numbers[c->attribute];
        index = of(1 - k);
        break;
      }
  }
  if (index != body->inputs[loop_layout::count()]) return none;
  for (int k = 0; k < body->captured.size(); ++k) {
    if (body->captured[k] != x) continue;
    symbol const from = (*body->captures)[k];
    bool const in_body = b.tensor(from).region != 0; // where rows that are not read would cost time in each iteration
    if (b.tensor(from).depth != 0 || !iterates_rows(b, body->limit, b.dims(from).size[0], offset, in_body)) return none;
    for (read_by_row const& r : body->rows)
      if (r.from == from && r.offset == offset) return r.row;
    dimensions row = b.dims(from);
    for (int j = 1; j < row.rank; ++j) row.size[j - 1] = row.size[j];
    --row.rank;
    symbol const y = b.symbol_of(b.tensor(from).type, b.shape(row));
    body->inputs.push(y);
    body->rows.push({from, offset, y});
    return y;
  }
  return none;
}

} // namespace detail

namespace extend {

/// Row `index` of x along axis 0. If a body of a loop reads a tensor from outside at the number of its iteration, or at that
/// plus a constant, and is known to stay inside, the row is scanned: an input of the body, without a check, whose cotangents
/// are rows of a result of the reverse loop.
constexpr term row_at(term x, term index) {
  symbol const row = detail::row_of_iteration(*x.b, x.id, index.id);
  return row != none ? term{x.b, row} : gather(x, index);
}

} // namespace extend

/// The operands of a loop: see `loop_layout`.
struct loop_start {
  symbol const* inits = nullptr;
  int carried = 0;
  symbol limit = none;
  std::int64_t flags = 0;
  symbol const* scans = nullptr;
  int scanned = 0;
  symbol start = none;
  std::int64_t tape_limit = 0;
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
  array<symbol> inits_, scans_, results_;
  symbol limit_, start_;
  detail::open_region condition_, body_;

  constexpr symbol const* open_with(detail::open_region& r, bool slices) {
    open(r);
    r.inputs.push(b_.symbol_of(element::int64, b_.shape(dimensions{})));
    for (int k = 0; k < at_.carried; ++k) r.inputs.push(input_like(inits_[k]));
    for (int k = 0; slices && k < at_.scanned; ++k) r.inputs.push(input_like(scans_[k], 1));
    return r.inputs.data();
  }

public:
  constexpr loop_builder(builder& b, loop_start const& s)
      : control_builder(b), at_{.carried = s.carried, .scanned = s.scanned, .flags = s.flags, .tape_limit = s.tape_limit > 0 ? s.tape_limit : 0},
        limit_(s.limit), start_(s.start) {
    if (start_ != none) at_.flags |= loop_layout::starts;
    for (int k = 0; k < s.carried; ++k) inits_.push(outside(s.inits[k]) ? s.inits[k] : b.refused());
    for (int k = 0; k < s.scanned; ++k) {
      scans_.push(s.scans[k]);
      if (outside(s.scans[k]) && b.tensor(s.scans[k]).depth == 0)
        b.refuse<refusals::loop_scanned>(k, 1, b.place);
    }
    for (symbol const t : {limit_, start_})
      if (t != none && outside(t) && !is_scalar(t, element::int64))
        b.refuse<refusals::loop_limit>(b.count(b.dims(t)), 1, b.place);
  }

  constexpr symbol const* open_condition() { return open_with(condition_, false); }
  constexpr void close_condition(symbol goes_on) {
    if (inside(goes_on) && !is_scalar(goes_on, element::boolean))
      b_.refuse<refusals::loop_condition>(b_.count(b_.dims(goes_on)), 1, b_.place);
    b_.set_outputs(&goes_on, 1, condition_.region);
    at_.condition = condition_.region;
    close();
  }
  constexpr symbol const* open_body() { return open_with(body_, true); }
  /// The same, for a body that may read tensors row by row: see `extend::row_at`.
  constexpr symbol const* open_body_of_rows() {
    body_.limit = limit_;
    return open_body();
  }
  constexpr void close_body(symbol const* next, int count, symbol const* entries = nullptr,
                            int entry_count = 0) {
    if (count != at_.carried) b_.refuse<refusals::loop_count>(at_.carried, count, b_.place);
    array<symbol> all;
    for (int k = 0; k < count; ++k) all.push(next[k]);
    for (int k = 0; k < entry_count; ++k) all.push(entries[k]);
    for (int k = 0; k < all.size(); ++k) (void)inside(all[k]);
    for (int k = 0; k < count && k < at_.carried; ++k)
      if (!detail::same_value_type(b_.tensor(inits_[k]), b_.tensor(next[k])))
        b_.refuse<refusals::loop_carried>(b_.count(b_.dims(inits_[k])), b_.count(b_.dims(next[k])), b_.place);
    b_.set_outputs(all.data(), all.size(), body_.region);
    at_.body = body_.region;
    at_.stacked = entry_count;
    close();
  }
  /// Emits the node and returns its index; `none` after a failure.
  constexpr std::int32_t finish(std::source_location where = {}) {
    if (limit_ == none && at_.condition == none) b_.refuse<refusals::loop_endless>(0, 0, where);
    if (at_.is_reverse() && (limit_ == none || at_.condition != none))
      b_.refuse<refusals::loop_reverse>(limit_ != none, at_.condition != none, where);
    if (at_.has_start() && (limit_ == none || at_.condition != none))
      b_.refuse<refusals::loop_starts>(limit_ != none, at_.condition != none, where);
    bool const failed = b_.failed().why != nullptr;
    for (int k = 0; k < body_.rows.size() && !failed; ++k) scans_.push(detail::sequence_read(b_, body_.rows[k]));
    at_.captured = captures_.size();
    at_.scanned = scans_.size();
    for (int k = 0; k < at_.carried; ++k) results_.push(failed ? b_.refused() : input_like(inits_[k]));
    for (int k = 0; k < at_.stacked; ++k)
      results_.push(
          failed ? b_.refused()
                 : input_like(b_.get().ids[b_.get().regions[at_.body].first_output + at_.entry(k)], -1));
    results_.push(failed ? b_.refused() : b_.symbol_of(element::int64, b_.shape(dimensions{})));
    if (failed) return none;
    std::int32_t const owner = b_.get().nodes.size();
    if (at_.condition != none) name_inputs(condition_, 1 + at_.carried, owner);
    name_inputs(body_, 1 + at_.carried, owner);
    array<symbol> operands;
    operands.push(limit_);
    for (symbol t : inits_) operands.push(t);
    for (symbol t : captures_) operands.push(t);
    for (symbol t : scans_) operands.push(t);
    if (start_ != none) operands.push(start_);
    std::int64_t attributes[loop_layout::attribute_count]{};
    at_.write(attributes);
    return b_.assign(info_of<op::loop>(), operands.data(), operands.size(), results_.data(), results_.size(),
                     attributes, loop_layout::attribute_count, where);
  }
  constexpr symbol last(int k) const { return results_[k]; }
  constexpr symbol stack(int k) const { return results_[at_.stack(k)]; }
  constexpr symbol trips() const { return results_[at_.trips()]; }
};

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
  symbol index_;
  array<symbol> results_;
  array<detail::open_region> branches_;
  detail::open_region now_;
  int result_count_ = 0;

  constexpr symbol output(int branch, int k) const {
    return b_.get().ids[b_.get().regions[branches_[branch].region].first_output + k];
  }

public:
  constexpr case_builder(builder& b, symbol index, symbol const* values, int count)
      : control_builder(b), index_(index) {
    if (outside(index) && !is_scalar(index, element::int64) && !is_scalar(index, element::int32))
      b.refuse<refusals::case_index>(b.count(b.dims(index)), 1, b.place);
    for (int k = 0; k < count; ++k) values_.push(outside(values[k]) ? values[k] : b.refused());
  }

  constexpr symbol const* open_branch() {
    now_ = {};
    open(now_);
    for (symbol t : values_) now_.inputs.push(input_like(t));
    return now_.inputs.data();
  }
  constexpr void close_branch(symbol const* results, int count) {
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
    array<std::int64_t> attributes;
    attributes.push(result_count_);
    attributes.push(values_.size() + captures_.size());
    attributes.push(branches_.size());
    for (int k = 0; k < result_count_; ++k) {
      int const by = bypass == nullptr ? -1 : bypass[k];
      attributes.push(by);
      symbol like = by >= 0 && by < values_.size() ? values_[by] : none;
      for (int j = 0; j < branches_.size() && b_.failed().why == nullptr; ++j) {
        symbol const y = output(j, k);
        if (y != none && like != none && !detail::same_value_type(b_.tensor(y), b_.tensor(like))) {
          dimension const n = b_.count(b_.dims(y)), m = b_.count(b_.dims(like));
          if (j == 0) b_.refuse<refusals::case_bypass>(m, n, where);
          else b_.refuse<refusals::case_type>(n, m, where);
        }
        if (like == none) like = y;
      }
      if (like == none) b_.refuse<refusals::case_type>(0, 0, where);
      results_.push(b_.failed().why != nullptr ? b_.refused() : input_like(like));
    }
    if (b_.failed().why != nullptr) return none;
    for (detail::open_region& r : branches_) {
      attributes.push(r.region);
      name_inputs(r, values_.size(), owner);
    }
    array<symbol> operands;
    operands.push(index_);
    for (symbol t : values_) operands.push(t);
    for (symbol t : captures_) operands.push(t);
    return b_.assign(info_of<op::case_of>(), operands.data(), operands.size(), results_.data(),
                     results_.size(), attributes.data(), attributes.size(), where);
  }
  constexpr symbol result(int k) const { return results_[k]; }
};

} // namespace cotangent

#endif
