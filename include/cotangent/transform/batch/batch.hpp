// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_BATCH_BATCH_HPP
#define COTANGENT_TRANSFORM_BATCH_BATCH_HPP

#include <cotangent/graph/builder_scope.hpp>
#include <cotangent/ops/movement.hpp>
#include <cotangent/transform/refusals.hpp>

#include <cstdint>

namespace cotangent {

/// The requested values: the outputs for every row. `from[k]` stands for a row of `rows[k]`, which has one more axis in
/// front, of the extent `size`.
struct batch_request {
  symbol const* from = nullptr;
  symbol const* rows = nullptr;
  int count = 0;
  dimension size = 0;
  symbol const* outputs = nullptr;
  int output_count = 0;
};

namespace detail {

/// A sweep over the nodes between `from` and the outputs. It emits each of them once, with an axis in front.
class batch_sweep {
  builder& b_;
  batch_request const& r_;
  array<symbol> rows_;          // by symbol; none if all rows are equal
  array<bool> varies_, needed_; // by symbol: depends on a `from`; leads to an output
  std::int32_t begin_, end_;

public:
  constexpr batch_sweep(builder& b, batch_request const& r)
      : b_(b), r_(r), rows_(b.get().tensors.size(), none), varies_(rows_.size()), needed_(rows_.size()),
        begin_(b.get().nodes.size()), end_(begin_) {}

  constexpr void run(symbol* result) {
    for (int k = 0; k < r_.count; ++k) {
      symbol const x = r_.from[k];
      rows_[x] = r_.rows[k];
      varies_[x] = true;
      if (b_.tensor(x).producer < begin_) begin_ = b_.tensor(x).producer + 1;
    }
    for (std::int32_t i = begin_; i < end_; ++i) find_varying(b_.get().nodes[i]);
    for (int k = 0; k < r_.output_count; ++k)
      if (r_.outputs[k] != none) needed_[r_.outputs[k]] = true;
    for (std::int32_t i = end_; i-- > begin_;) find_needed(b_.get().nodes[i]);
    builder_scope const outer(b_);
    for (std::int32_t i = begin_; i < end_ && b_.failed().why == nullptr; ++i) visit(i);
    for (int k = 0; k < r_.output_count; ++k) result[k] = r_.outputs[k] == none ? none : rows_[r_.outputs[k]];
  }

private:
  constexpr symbol id(int k) const { return b_.get().ids[k]; }
  constexpr bool varies(node const& n) const {
    for (int k = 0; k < n.result_count; ++k)
      if (varies_[id(n.first + n.operand_count + k)]) return true;
    return false;
  }
  constexpr void find_varying(node const& n) {
    bool any = false;
    for (int k = 0; k < n.operand_count; ++k) any = any || (id(n.first + k) != none && varies_[id(n.first + k)]);
    for (int k = 0; any && k < n.result_count; ++k) varies_[id(n.first + n.operand_count + k)] = true;
  }
  constexpr void find_needed(node const& n) {
    bool any = false;
    for (int k = 0; k < n.result_count; ++k) any = any || needed_[id(n.first + n.operand_count + k)];
    if (!any || !varies(n)) return;
    for (int k = 0; k < n.operand_count; ++k)
      if (id(n.first + k) != none) needed_[id(n.first + k)] = true;
  }

  constexpr void visit(std::int32_t i) {
    node const n = b_.get().nodes[i]; // a copy: rules append nodes
    symbol const y = id(n.first + n.operand_count);
    if (!varies(n) || !needed_[y] || rows_[y] != none) return; // (a `from` has its rows)
    b_.place = n.where;
    b_.flags = n.flags;
    array<symbol> batched(n.operand_count, none);
    for (int k = 0; k < n.operand_count; ++k)
      if (id(n.first + k) != none) batched[k] = rows_[id(n.first + k)];
    batch_rule rule{{b_, n}, r_.size, batched.data()};
    if (n.op->batch != nullptr) n.op->batch(rule);
    else if (n.op->kind == operation_kind::elementwise || n.op->kind == operation_kind::identity) on_elements(rule);
    if (b_.failed().why != nullptr) return;
    if (rule.given == none) return b_.fail({why<refusals::not_batched>(), {}, {}, i, n.where});
    rows_[y] = rule.given;
  }
  /// The same operation, on more elements.
  constexpr void on_elements(batch_rule& r) {
    array<symbol> operands;
    array<std::int64_t> attributes;
    for (int k = 0; k < r.operand_count(); ++k)
      operands.push(k < read_count(r.at) ? r.every(k).id : r.has(k) ? r.each(k).id : r.x(k).id);
    for (int k = 0; k < r.at.attribute_count; ++k) attributes.push(r.attribute(k));
    r.give({&b_, b_.push(r.at.op, operands.data(), operands.size(), attributes.data(), attributes.size(), r.y().type(),
                         r.with_rows(r.y().shape_id()), b_.place)});
  }
};

/// A symbol of this shape that `batch` replaces: nothing reads it afterwards.
constexpr symbol row_like(builder& b, element type, std::int32_t shape) {
  symbol const zero = extend::constant(b, type, shape, 0).id;
  std::int64_t const unique = b.get().nodes.size(); // never merges with another one
  return b.push(info_of<op::identity>(), &zero, 1, &unique, 1, b.place);
}


/// True if every node from `first` on that has operands can be batched.
constexpr bool can_batch(graph const& g, int first) {
  for (int i = first; i < g.nodes.size(); ++i) {
    node const& n = g.nodes[i];
    bool const is_each = n.op->kind == operation_kind::elementwise || n.op->kind == operation_kind::identity;
    if (n.op->batch == nullptr && !is_each && n.operand_count != 0) return false;
  }
  return true;
}

} // namespace detail

/// Appends to `b` the outputs for every row: one symbol each in `result`, with an axis of rows in front; `none` if all rows
/// are equal. Values that do not depend on a `from` are shared by all rows. Failures are recorded in the builder.
///
/// Refuses: an operation without a batching rule on the way from a `from` to an output.
/// Cost: linear in the nodes after the first `from`; each becomes one node, and a few more for indices and products.
/// Checked: tests/static/jacobians.cpp, tests/runtime/jacobians.cpp.
constexpr void batch(builder& b, batch_request const& r, symbol* result) { detail::batch_sweep(b, r).run(result); }

} // namespace cotangent

#endif
