// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_BATCH_BATCH_CONTROL_HPP
#define COTANGENT_TRANSFORM_BATCH_BATCH_CONTROL_HPP

#include <cotangent/ops/reduction.hpp>
#include <cotangent/transform/batch/batch_sweep.hpp>
#include <cotangent/transform/differentiate/saved_values.hpp>
#include <cotangent/transform/masked.hpp>

#include <cstdint>
#include <utility>

// Loops and branches of a batch. A loop runs as long as any row does; rows that have ended keep their values. If rows select
// different branches, all branches are computed, and each row takes its own.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// `yes` in the rows that the mask selects, `no` in the others.
constexpr symbol select_rows(builder& b, symbol mask, symbol yes, symbol no) {
  return extend::select(rows_like({&b, mask}, b.tensor(yes).shape), {&b, yes}, {&b, no}).id;
}
constexpr symbol both_masks(builder& b, symbol x, symbol y) {
  return x == none ? y : y == none ? x : (term{&b, x} && term{&b, y}).id;
}

class loop_batch {
  batch_scope const& s_;
  batch_sweep& outer_;
  builder& b_;
  std::int32_t const at_;
  node const n_;
  loop_layout const old_;
  loop_layout now_;
  bool by_row_ = false;        // rows end in different iterations
  symbol limit_ = none, start_ = none; // of each row, if they differ
  symbol goes_on_ = none;              // in the new body: the rows whose condition has held so far
  array<symbol> operands_;
  array<bool> carried_rows_;

public:
  constexpr loop_batch(batch_scope const& s, batch_sweep& outer, std::int32_t at)
      : s_(s), outer_(outer), b_(s.b), at_(at), n_(b_.get().nodes[at]), old_(loop_layout::of(b_, n_)), now_(old_) {
    if (old_.tape_limit > 0 && s.rows > 0) now_.tape_limit = capped_product(s.rows, old_.tape_limit);
  }

  constexpr void run() {
    batch_sweep body(s_, old_.body, true);
    array<bool> from;
    for (int k = 0; k < n_.operand_count; ++k) from.push(outer_.rows(operand(k)) != none);
    by_row_ = activity(b_.get(), s_.index, true).forward_rows(old_, from.data(), body.varying());
    choose_operands(body, from.data());
    if (b_.failed().why != nullptr) return;
    std::int32_t const outside = b_.region;
    array<symbol> inputs, outputs;
    now_.body = b_.open_region();
    make_inputs(body, inputs);
    symbol const going = by_row_ ? goes(body, inputs) : none;
    for (int k = 0; k < old_.stacked; ++k) // (a sequence that must have rows)
      if (outer_.varies(result(old_.stack(k)))) body.varying()[output(old_.entry(k))] = true;
    if (b_.failed().why == nullptr) body.run();
    if (b_.failed().why == nullptr) make_outputs(body, going, inputs, outputs);
    b_.region = outside;
    if (b_.failed().why != nullptr) return;
    b_.set_inputs(inputs.data(), inputs.size(), now_.body);
    b_.set_outputs(outputs.data(), outputs.size(), now_.body);
    if (old_.condition != none && !make_condition()) return;
    finish(body, outputs);
  }

private:
  constexpr symbol id(int k) const { return b_.get().ids[k]; }
  constexpr symbol operand(int k) const { return id(n_.first + k); }
  constexpr symbol result(int k) const { return id(n_.first + n_.operand_count + k); }
  constexpr symbol input(int k) const { return region_input(b_, old_.body, k); }
  constexpr symbol output(int k) const { return region_output(b_, old_.body, k); }
  constexpr bool is_carried(int k) const { return k < old_.capture(0); }
  constexpr symbol scalar(element e, double value) { return extend::constant(b_, e, b_.shape(dimensions{}), value).id; }
  constexpr symbol each_row(symbol scalar) {
    return extend::broadcast_to({&b_, scalar}, b_.shape({1, {s_.rows}})).id;
  }

  /// Operands as before, with rows where the body's inputs vary, and those that tell where rows end.
  constexpr void choose_operands(batch_sweep& body, bool const* from) {
    symbol const limit = operand(0);
    if (limit != none && from[0]) {
      limit_ = outer_.if_active(outer_.rows(limit));
      operands_.push(outer_.bound(limit) != none ? outer_.bound(limit) : extend::max({&b_, limit_}, 1u).id);
    } else operands_.push(outer_.if_any_active(outer_.plain(limit)));
    for (int k = 1; k < old_.capture(0); ++k) {
      carried_rows_.push(body.varies(input(k)));
      operands_.push(carried_rows_.back() ? outer_.guarded(outer_.every(operand(k))) : outer_.plain(operand(k)));
    }
    if (by_row_) { // carried: the rows that have not ended; the number of iterations of each
      now_.carried += 2;
      operands_.push(outer_.active != none ? outer_.active : each_row(scalar(element::boolean, 1)));
      operands_.push(each_row(scalar(element::int64, 0)));
    }
    for (int k = old_.capture(0); k < old_.scan(0); ++k)
      operands_.push(from[k] ? outer_.guarded(outer_.rows(operand(k))) : outer_.plain(operand(k)));
    if (old_.has_start() && from[old_.start()]) start_ = outer_.rows(operand(old_.start()));
    for (symbol const t : {limit_, start_, by_row_ ? none : outer_.active})
      if (t != none) {
        operands_.push(t);
        ++now_.captured;
      }
    for (int k = old_.scan(0); k < old_.operand_count(); ++k)
      operands_.push(from[k] ? outer_.rows(operand(k)) : outer_.plain(operand(k)));
    if (!old_.has_start()) return;
    if (start_ != none || limit_ != none) {
      now_.flags &= loop_layout::at_most(1) - 1; // parts of different places, in one loop
      if (old_.tape_limit > 0) b_.fail({why<refusals::batched_tape_limit>(), {}, {}, none, n_.where});
    }
    operands_.push(start_ != none ? extend::min({&b_, start_}, 1u).id : outer_.plain(operand(old_.start())));
  }
  /// The position among the new operands, and the inputs of the body, of the old one.
  constexpr int position(int k) const {
    int at = k;
    if (!is_carried(k)) at += now_.carried - old_.carried;
    if (k >= old_.scan(0)) at += now_.captured - old_.captured;
    return at;
  }
  /// The inputs of the new body, in the order of the operands.
  constexpr void make_inputs(batch_sweep& body, array<symbol>& inputs) {
    inputs.push(b_.symbol_like(input(0)));
    for (int k = 1; k < now_.operand_count(); ++k)
      inputs.push(b_.symbol_like(operands_[k], k < now_.scan(0) ? 0 : -1));
    take_inputs(body, old_.body, old_.operand_count(), inputs);
    body.may_be_idle = by_row_ ? start_ != none : outer_.may_be_idle;
    if (outer_.active != none && !by_row_) body.active = inputs[now_.scan(0) - 1];
  }
  /// Lets inputs of the new body or condition stand for those of region `r`.
  constexpr void take_inputs(batch_sweep& to, std::int32_t r, int count, array<symbol> const& inputs) {
    for (int k = 0; k < count; ++k) {
      symbol const x = region_input(b_, r, k);
      bool const rows = k > 0 && b_.tensor(inputs[position(k)]).shape != b_.tensor(x).shape;
      to.varying()[x] = rows;
      to.set(x, rows ? none : inputs[position(k)], rows ? inputs[position(k)] : none);
    }
  }
  /// In the new body: the rows that this iteration is for. `inputs`: of the body, or the condition.
  constexpr symbol goes(batch_sweep& body, array<symbol> const& inputs) {
    symbol const count = inputs[0];
    symbol going = inputs[1 + old_.carried];
    if (old_.condition != none) {
      batch_sweep condition(s_, old_.condition, true);
      symbol rows = holds(condition, inputs);
      if (b_.failed().why != nullptr) return none;
      if (rows != none) {
        if ((old_.flags & loop_layout::runs_first) != 0)
          rows = (term{&b_, each_row((term{&b_, count} == 0).id)} || term{&b_, rows}).id;
        going = both_masks(b_, going, rows);
      }
    }
    goes_on_ = going;
    int at = now_.capture(old_.captured);
    if (limit_ != none) going = both_masks(b_, going, (term{&b_, each_row(count)} < term{&b_, inputs[at++]}).id);
    if (start_ != none) going = both_masks(b_, going, (term{&b_, each_row(count)} >= term{&b_, inputs[at]}).id);
    body.active = going;
    for (int k = 1; k < old_.operand_count(); ++k)
      if (symbol const rows = body.rows(input(k)); rows != none) body.set(input(k), none, body.guarded(rows));
    return going;
  }
  /// The condition of each row, computed where nodes go now; none if all rows have the same.
  constexpr symbol holds(batch_sweep& condition, array<symbol> const& inputs) {
    take_inputs(condition, old_.condition, old_.condition_input_count(), inputs);
    condition.find_varying(0);
    condition.run();
    return b_.failed().why != nullptr ? none : condition.result_rows(region_output(b_, old_.condition, 0));
  }

  constexpr void make_outputs(batch_sweep& body, symbol going, array<symbol> const& inputs, array<symbol>& outputs) {
    for (int k = 0; k < old_.carried; ++k) {
      symbol const y = carried_rows_[k] ? body.every(output(k)) : body.plain(output(k));
      if (by_row_ && b_.tensor(y).depth > 0) body.refuse(at_, n_.where); // (a sequence that the loop hands on)
      if (b_.failed().why != nullptr) return;
      outputs.push(by_row_ ? select_rows(b_, going, y, inputs[old_.init(k)]) : carried_rows_[k] ? body.guarded(y) : y);
    }
    if (by_row_) {
      outputs.push(goes_on_); // (a loop in reverse begins with the rows of the largest limit)
      outputs.push((term{&b_, inputs[now_.init(old_.carried + 1)]} + extend::convert({&b_, going}, element::int64)).id);
    }
    for (int k = old_.carried; k < old_.output_count() && b_.failed().why == nullptr; ++k) {
      symbol const y = body.varies(output(k)) ? body.every(output(k)) : body.plain(output(k));
      bool const shorter = by_row_ && b_.tensor(y).depth == 0 && !is_record(result(old_.stack(k - old_.carried)));
      outputs.push(shorter ? select_rows(b_, going, y, extend::constant_like(term{&b_, y}, 0).id)
                           : body.varies(output(k)) ? body.guarded(y) : y);
    }
  }
  /// True if only loops read a sequence: those that have the same iterations. Otherwise rows that have ended give zeros.
  constexpr bool is_record(symbol sequence) const {
    for (node const& n : b_.get().nodes)
      for (int k = 0; k < n.operand_count; ++k)
        if (id(n.first + k) == sequence && n.op != info_of<op::loop>()) return false;
    return true;
  }
  /// True if any row goes on.
  constexpr bool make_condition() {
    std::int32_t const outside = b_.region;
    now_.condition = b_.open_region();
    array<symbol> inputs;
    inputs.push(b_.symbol_like(input(0)));
    for (int k = 1; k < now_.condition_input_count(); ++k) inputs.push(b_.symbol_like(operands_[k]));
    batch_sweep condition(s_, old_.condition, true);
    symbol const rows = holds(condition, inputs);
    if (b_.failed().why == nullptr) {
      symbol result = rows == none ? condition.plain(region_output(b_, old_.condition, 0)) : rows;
      if (rows != none) result = any_row({&b_, both_masks(b_, inputs[1 + old_.carried], rows)}).id;
      b_.set_inputs(inputs.data(), inputs.size(), now_.condition);
      b_.set_outputs(&result, 1, now_.condition);
    }
    b_.region = outside;
    return b_.failed().why == nullptr;
  }
  constexpr void finish(batch_sweep& body, array<symbol> const& outputs) {
    array<symbol> results;
    for (int k = 0; k < now_.carried; ++k) results.push(b_.symbol_like(outputs[k]));
    for (int k = now_.carried; k < now_.output_count(); ++k) results.push(b_.symbol_like(outputs[k], 1));
    results.push(b_.symbol_like(result(old_.trips())));
    std::int64_t attributes[loop_layout::attribute_count];
    now_.write(attributes);
    std::int32_t const made = b_.assign(info_of<op::loop>(), operands_.data(), operands_.size(), results.data(),
                                        results.size(), attributes, loop_layout::attribute_count, n_.where);
    for (std::int32_t const r : {now_.condition, now_.body})
      if (r != none) b_.edit().regions[r].owner = made;
    auto const stands = [&](int k, symbol y, bool rows) { outer_.set(result(k), rows ? none : y, rows ? y : none); };
    for (int k = 0; k < old_.carried; ++k) stands(k, results[k], carried_rows_[k]);
    for (int k = old_.carried; k < old_.output_count(); ++k)
      stands(k, results[k + now_.carried - old_.carried], body.varies(output(k)));
    stands(old_.trips(), by_row_ ? results[old_.carried + 1] : results.back(), by_row_);
    if (by_row_) outer_.set_bound(result(old_.trips()), results.back());
  }
};

class case_batch {
  batch_scope const& s_;
  batch_sweep& outer_;
  builder& b_;
  node const n_;
  array<std::int64_t> bypass_;
  array<std::int32_t> branches_;
  int values_, results_;

public:
  constexpr case_batch(batch_scope const& s, batch_sweep& outer, std::int32_t at)
      : s_(s), outer_(outer), b_(s.b), n_(b_.get().nodes[at]) {
    case_layout const old = case_layout::of(b_, n_);
    values_ = old.values;
    results_ = old.results;
    for (int k = 0; k < old.results; ++k) bypass_.push(old.bypass(k));
    for (int j = 0; j < old.branches; ++j) branches_.push(old.branch(j));
  }
  constexpr void run() {
    if (outer_.rows(operand(0)) != none) every_branch();
    else one_branch();
  }

private:
  constexpr symbol operand(int k) const { return b_.get().ids[n_.first + k]; }
  constexpr symbol result(int k) const { return b_.get().ids[n_.first + n_.operand_count + k]; }

  /// A branch with the values computed where nodes go now.
  constexpr void compute(batch_sweep& branch, std::int32_t r, symbol const* plain, symbol const* rows) {
    for (int k = 0; k < values_; ++k) {
      symbol const x = region_input(b_, r, k);
      branch.varying()[x] = rows[k] != none;
      branch.set(x, rows[k] != none ? none : plain[k], rows[k] != none ? branch.guarded(rows[k]) : none);
    }
    for (int k = 0; k < results_; ++k) // (a sequence that must have rows)
      if (symbol const y = region_output(b_, r, k); y != none && outer_.varies(result(k)) && b_.tensor(y).depth > 0)
        branch.varying()[y] = true;
    branch.find_varying(0);
    branch.run();
  }
  /// All rows select the same branch.
  constexpr void one_branch() {
    array<symbol> operands, results;
    operands.push(outer_.plain(operand(0)));
    for (int k = 1; k <= values_; ++k)
      operands.push(outer_.rows(operand(k)) != none ? outer_.rows(operand(k)) : outer_.plain(operand(k)));
    for (int k = 0; k < results_; ++k) {
      if (bypass_[k] >= 0 && outer_.varies(result(k)) && outer_.rows(operand(1 + static_cast<int>(bypass_[k]))) == none) {
        operands.push(outer_.every(operand(1 + static_cast<int>(bypass_[k])))); // all rows pass the same
        bypass_[k] = operands.size() - 2;
      }
      tensor_symbol const t = b_.tensor(result(k));
      results.push(b_.symbol_of(t.type, outer_.varies(result(k)) ? outer_.with_rows(t.shape) : t.shape, t.depth));
    }
    if (outer_.active != none) operands.push(outer_.active);
    std::int32_t const outside = b_.region;
    array<std::int64_t> attributes;
    for (int count : {results_, operands.size() - 1, branches_.size()}) attributes.push(count);
    for (std::int64_t k : bypass_) attributes.push(k);
    for (std::int32_t const r : branches_) {
      attributes.push(b_.open_region());
      array<symbol> inputs, plain, rows, outputs;
      for (int k = 1; k < operands.size(); ++k) inputs.push(b_.symbol_like(operands[k]));
      for (int k = 0; k < values_; ++k) {
        bool const by_row = outer_.rows(operand(1 + k)) != none;
        plain.push(by_row ? none : inputs[k]);
        rows.push(by_row ? inputs[k] : none);
      }
      batch_sweep branch(s_, r, true);
      if (outer_.active != none) branch.active = inputs.back(), branch.may_be_idle = outer_.may_be_idle;
      compute(branch, r, plain.data(), rows.data());
      for (int k = 0; k < results_ && b_.failed().why == nullptr; ++k) {
        symbol const y = region_output(b_, r, k);
        outputs.push(y == none ? none : outer_.varies(result(k)) ? branch.every(y) : branch.plain(y));
      }
      b_.region = outside;
      if (b_.failed().why != nullptr) return;
      b_.set_inputs(inputs.data(), inputs.size(), static_cast<std::int32_t>(attributes.back()));
      b_.set_outputs(outputs.data(), outputs.size(), static_cast<std::int32_t>(attributes.back()));
    }
    std::int32_t const made = b_.assign(info_of<op::case_of>(), operands.data(), operands.size(), results.data(), results_,
                                        attributes.data(), attributes.size(), n_.where);
    for (int k = case_layout::first_region(results_); k < attributes.size(); ++k)
      b_.edit().regions[static_cast<std::int32_t>(attributes[k])].owner = made;
    for (int k = 0; k < results_; ++k) {
      bool const rows = outer_.varies(result(k));
      outer_.set(result(k), rows ? none : results[k], rows ? results[k] : none);
    }
  }
  /// Rows select different branches.
  constexpr void every_branch() {
    array<symbol> plain, rows, made(results_, none);
    for (int k = 0; k < values_; ++k) {
      rows.push(outer_.rows(operand(1 + k)));
      plain.push(rows.back() == none ? outer_.plain(operand(1 + k)) : none);
    }
    term const index{&b_, outer_.rows(operand(0))};
    bool const all = selects_one(operand(0));
    for (int k = 0; k < results_; ++k)
      if (b_.tensor(result(k)).depth > 0) continue;
      else if (bypass_[k] >= 0) made[k] = outer_.every(operand(1 + static_cast<int>(bypass_[k])));
      else if (tensor_symbol const t = b_.tensor(result(k)); !all && !is_partial(k))
        made[k] = extend::constant(b_, t.type, outer_.with_rows(t.shape), 0).id;
    for (int j = 0; j < branches_.size() && b_.failed().why == nullptr; ++j) {
      symbol const here = (index == j).id;
      batch_sweep branch(s_, branches_[j], true);
      branch.active = both_masks(b_, here, outer_.active);
      branch.may_be_idle = true;
      compute(branch, branches_[j], plain.data(), rows.data());
      for (int k = 0; k < results_ && b_.failed().why == nullptr; ++k) {
        symbol const of = region_output(b_, branches_[j], k), y = of == none ? none : branch.every(of);
        if (y == none) continue;
        if (made[k] != none && b_.tensor(y).depth > 0) { // the records of a loop, which the other branches do not have
          if (is_made_by(b_.get(), y, info_of<op::sequence_zero>())) continue;
          if (!is_made_by(b_.get(), std::exchange(made[k], none), info_of<op::sequence_zero>())) outer_.refuse(none, n_.where);
        }
        made[k] = made[k] == none ? y : select_rows(b_, here, y, made[k]);
      }
    }
    for (int k = 0; k < results_ && b_.failed().why == nullptr; ++k)
      outer_.set(result(k), none, made[k] != none ? made[k] : outer_.every(zero_like(b_, result(k))));
  }
  /// True if result k is read after some branches only. Rows that take another one keep what the branch computes from their values:
  /// zeros could be reported, for example as a singular matrix.
  constexpr bool is_partial(int k) const {
    for (std::int32_t const r : branches_)
      if (region_output(b_, r, k) == none) return true;
    return false;
  }
  /// True if the index is surely that of a branch: of ct::cond.
  constexpr bool selects_one(symbol index) const {
    if (!is_made_by(b_.get(), index, info_of<op::select>()) || branches_.size() != 2) return false;
    for (int k = 1; k < 3; ++k) {
      node const* const c = b_.producer(b_.get().ids[b_.producer(index)->first + k]);
      if (c == nullptr || c->op != info_of<op::constant>() || (b_.get().numbers[c->attribute] & ~std::int64_t{1}) != 0) return false;
    }
    return true;
  }
};

constexpr void control_batch(batch_scope const& s, batch_sweep& values, std::int32_t at) {
  builder& b = s.b;
  node const n = b.get().nodes[at];
  if (n.op == info_of<op::loop>()) return loop_batch(s, values, at).run();
  if (n.op == info_of<op::case_of>()) return case_batch(s, values, at).run();
  symbol const y = b.get().ids[n.first + n.operand_count];
  auto const x = [&](int k) { return b.get().ids[n.first + k]; };
  if (n.op == info_of<op::sequence_add>()) {
    symbol const left = values.every(x(0)), right = b.failed().why == nullptr ? values.every(x(1)) : none;
    if (right != none && b.failed().why == nullptr) values.set(y, none, extend::sequence_add({&b, left}, {&b, right}).id);
  } else if (n.op == info_of<op::sequence_zero>()) values.set(y, none, values.every(y));
  else if (n.op == info_of<op::rows_to_sequence>())
    values.set(y, none, extend::rows_to_sequence(extend::move_axis({&b, values.every(x(0))}, 0, 1)).id);
  else if (n.op == info_of<op::sequence_to_rows>()) {
    dimensions const d = b.dims(y);
    if (d.rank == max_rank) return b.refuse<refusals::batch_rank>(d.rank, max_rank - 1, b.place);
    dimensions const each = with_first(without_first(d), s.rows);
    term const rows = extend::sequence_to_rows({&b, values.rows(x(0))}, b.shape(with_first(each, d.size[0])));
    values.set(y, none, extend::move_axis(rows, 1, 0).id);
  } else values.refuse(at, n.where);
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
