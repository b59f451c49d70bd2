// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_BATCH_BATCH_SWEEP_HPP
#define COTANGENT_TRANSFORM_BATCH_BATCH_SWEEP_HPP

#include <cotangent/graph/builder_scope.hpp>
#include <cotangent/ops/movement.hpp>
#include <cotangent/ops/reduction.hpp>
#include <cotangent/transform/differentiate/activity.hpp>
#include <cotangent/transform/differentiate/region_copy.hpp>
#include <cotangent/transform/refusals.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// A symbol of this shape that `batch` replaces: nothing reads it afterwards.
constexpr symbol row_like(builder& b, element type, std::int32_t shape) {
  symbol const zero = extend::constant(b, type, shape, 0).id;
  std::int64_t const unique = b.get().nodes.size(); // never merges with another one
  return b.push(info_of<op::identity>(), &zero, 1, &unique, 1, b.place);
}

/// A bool for each row, as a tensor of this shape with rows in front.
constexpr term rows_like(term mask, std::int32_t shape) {
  return op::sum::repeat(mask, shape, (1u << mask.b->get().shapes[shape].rank) - 2);
}

/// True if it is for any row.
constexpr term any_row(term mask) { return extend::max(extend::convert(mask, element::int32), 1u) > 0; }

class batch_sweep;

struct batch_scope {
  builder& b;
  region_index const& index; // of the nodes before the sweep
  region_copier& copier;
  dimension rows; // the extent of the axis
  /// Batches the loop, branches or operation on sequences `at`.
  void (*control)(batch_scope const& s, batch_sweep& values, std::int32_t at);
};

/// A sweep over the nodes of one region that emits each of them with an axis of rows in front, if it varies by row. Either the
/// nodes are in the region that it emits into, or all of them are copied there.
class batch_sweep {
  batch_scope const& s_;
  builder& b_;
  std::int32_t region_;
  bool copies_;
  symbol low_;
  region_marks varies_;                // depends on a symbol with rows
  array<symbol> plain_, rows_, bound_; // by symbol - low_

public:
  /// Where rows differ in branch or number of iterations: true for those that matter here, a bool for each row; none if all do.
  symbol active = none;
  bool may_be_idle = false; // computed also where no row is active

  constexpr batch_sweep(batch_scope const& s, std::int32_t region, bool copies)
      : s_(s), b_(s.b), region_(region), copies_(copies), low_(s.index.low(region)), varies_(s.index, region),
        plain_(s.index.high(region) - low_, none), rows_(plain_.size(), none), bound_(plain_.size(), none) {}

  /// True if `t` varies by row; also as a list of marks of the region, to be completed.
  constexpr bool varies(symbol t) {
    if (t == none || varies_[t]) return t != none;
    symbol const root = b_.tensor(t).base;
    return root != none && varies_[root];
  }
  constexpr region_marks& varying() noexcept { return varies_; }
  constexpr builder& graph() const noexcept { return b_; }

  /// From now on `rows` stands for `t`, and `plain` for the same value of all rows. (`none`: there is none.)
  constexpr void set(symbol t, symbol plain, symbol rows) {
    plain_[t - low_] = plain;
    rows_[t - low_] = rows;
  }
  /// An int64 that is at least `t` of each row.
  constexpr void set_bound(symbol t, symbol most) { bound_[t - low_] = most; }
  constexpr symbol bound(symbol t) const { return bound_[t - low_]; }
  /// With rows in front; none if all rows are equal.
  constexpr symbol rows(symbol t) const { return t == none ? none : rows_[t - low_]; }
  /// The same of a result of the function or of a region, which no node needs to read.
  constexpr symbol result_rows(symbol t) {
    if (t != none && rows(t) == none && is_in_memory_of_rows(t)) refuse<refusals::batched_views>(none, b_.place);
    return rows(t);
  }
  /// The value of all rows. Of one that varies, a placeholder for its shape.
  constexpr symbol plain(symbol t) {
    if (!copies_ || t == none) return t;
    symbol& y = plain_[t - low_];
    tensor_symbol const x = b_.tensor(t);
    if (y == none && x.base != none) y = s_.copier.view_again(t, plain(x.base));
    if (y == none) y = x.depth > 0 ? extend::sequence_zero(b_, x.type, x.shape, x.depth).id : row_like(b_, x.type, x.shape);
    return y;
  }
  /// With rows in front, also if all are equal.
  constexpr symbol every(symbol t) {
    if (result_rows(t) != none) return rows(t);
    tensor_symbol const x = b_.tensor(t);
    if (x.depth == 0) return guarded(extend::broadcast_to({&b_, plain(t)}, with_rows(x.shape)).id);
    node const* const p = b_.producer(t);
    if (p == nullptr || p->op != info_of<op::sequence_zero>()) {
      refuse(none, b_.place);
      return plain(t);
    }
    return extend::sequence_zero(b_, x.type, with_rows(x.shape), x.depth).id;
  }
  /// The same value, whose cotangents do not depend on rows that are not active: these may hold infinities and NaN.
  constexpr symbol guarded(symbol y) const {
    if (active == none || !is_floating(b_.tensor(y).type) || b_.tensor(y).depth != 0) return y;
    term const x{&b_, y};
    return extend::select(rows_like({&b_, active}, x.shape_id()), x, extend::stop_gradient(x)).id;
  }
  /// An operand of an operation that is not elementwise, where a mask of its cotangents ends (see transform/masked.hpp): 0 in rows
  /// that are not active, whose cotangents are 0.
  constexpr symbol without_others(symbol y) const {
    if (active == none || y == none || !is_floating(b_.tensor(y).type) || b_.tensor(y).depth != 0) return y;
    node const* const p = b_.producer(y);
    if (p == nullptr || p->op->kind != operation_kind::elementwise) return y;
    symbol const condition = p->op == info_of<op::select>() ? id(p->first) : none; // (read before nodes are appended)
    term const x{&b_, y}, some = rows_like({&b_, active}, x.shape_id());
    return condition == some.id ? y : extend::select(some, x, extend::constant_like(x, 0)).id;
  }
  /// The same integers, indices or counts, and 0 for rows that are not active: those report no index out of range, and iterate no loop.
  constexpr symbol if_active(symbol integers) const {
    if (active == none || integers == none) return integers;
    term const x{&b_, integers};
    return extend::select(rows_like({&b_, active}, x.shape_id()), x, extend::constant_like(x, 0)).id;
  }
  /// The same integers of all rows, and 0 if no row is active.
  constexpr symbol if_any_active(symbol integers) const {
    if (active == none || !may_be_idle || integers == none || is_number_or_size(integers)) return integers;
    term const x{&b_, integers};
    return extend::select(any_active(x), x, extend::constant_like(x, 0)).id;
  }
  constexpr bool is_number_or_size(symbol t) const {
    for (node const* p = b_.producer(t); p != nullptr; p = b_.producer(id(p->first)))
      if (p->op->kind == operation_kind::constant || p->op->kind == operation_kind::size) return true;
      else if (p->op != info_of<op::convert>()) return false;
    return false;
  }
  /// True in each element if a row is active; shaped like `x`.
  constexpr term any_active(term x) const { return op::sum::repeat(any_row({&b_, active}), x.shape_id(), (1u << x.rank()) - 1); }
  /// Operand 0 of an operation, with rows in front or the same of all, in place of which rows that are not active give a value for
  /// which nothing is reported.
  constexpr symbol regular(operation const& op, symbol x, bool rows) const {
    if (active == none || x == none || op.regular == nullptr) return x;
    term const own{&b_, x};
    term const some = rows ? rows_like({&b_, active}, own.shape_id()) : any_active(own);
    return extend::select(some, own, op.regular(own)).id;
  }
  constexpr std::int32_t with_rows(std::int32_t shape) const { return batch_rule{{b_, {}}, s_.rows, nullptr}.with_rows(shape); }
  template <class Refusal = refusals::not_batched> constexpr void refuse(std::int32_t at, std::source_location where) {
    b_.fail({why<Refusal>(), {}, {}, at, where});
  }

  /// Emits the nodes from `begin` on. `needed`: by symbol of the region, what to emit; null: everything.
  constexpr void run(std::int32_t begin = 0, region_marks* needed = nullptr) {
    builder_scope const outer(b_);
    for (int p = 0; p < s_.index.count(region_) && b_.failed().why == nullptr; ++p)
      if (std::int32_t const i = node_at(p); i >= begin) visit(i, needed);
  }
  /// Marks what depends on symbols with rows, by the nodes from `begin` on.
  constexpr void find_varying(std::int32_t begin) {
    activity const follow(b_.get(), s_.index, true);
    for (int p = 0; p < s_.index.count(region_); ++p) {
      node const& n = b_.get().nodes[node_at(p)];
      bool any = false;
      for (int k = 0; k < n.operand_count && !any; ++k) any = varies(id(n.first + k));
      if (!any || node_at(p) < begin) continue;
      array<bool> from, to(n.result_count, true);
      if (n.op->kind == operation_kind::control) {
        for (int k = 0; k < n.operand_count; ++k) from.push(varies(id(n.first + k)));
        follow.forward(n, from.data(), to.data());
      }
      for (int k = 0; k < n.result_count; ++k)
        if (to[k]) follow.mark(varies_, id(n.first + n.operand_count + k));
    }
  }
  /// Marks in `needed` values with rows that lead to marked ones.
  constexpr void find_needed(std::int32_t begin, region_marks& needed) {
    for (int p = s_.index.count(region_); p-- > 0;) {
      std::int32_t const i = node_at(p);
      if (i < begin || !asked(b_.get().nodes[i], &needed)) continue;
      node const& n = b_.get().nodes[i];
      for (int k = 0; k < n.operand_count; ++k)
        if (id(n.first + k) != none) needed[id(n.first + k)] = true;
    }
  }

private:
  constexpr symbol id(int k) const { return b_.get().ids[k]; }
  constexpr std::int32_t node_at(int p) const {
    std::int32_t const* const nodes = s_.index.nodes(region_);
    return nodes == nullptr ? p : nodes[p];
  }
  /// True if a result varies and is needed.
  constexpr bool asked(node const& n, region_marks* needed) {
    for (int k = 0; k < n.result_count; ++k)
      if (symbol const y = id(n.first + n.operand_count + k); varies(y) && (needed == nullptr || (*needed)[y])) return true;
    return false;
  }

  constexpr void visit(std::int32_t i, region_marks* needed) {
    node n = b_.get().nodes[i]; // a copy: rules append nodes
    bool const by_row = asked(n, needed), control = n.op->kind == operation_kind::control;
    if (!by_row && !copies_) return;
    if (n.result_count == 1 && rows_[id(n.first + n.operand_count) - low_] != none) return; // (given)
    b_.place = n.where;
    b_.flags = n.flags;
    if (has_views(n, by_row)) return refuse<refusals::batched_views>(i, n.where);
    if (by_row && control) return s_.control(s_, *this, i);
    array<symbol> batched(n.operand_count, none);
    bool any = false;
    for (int k = 0; k < n.operand_count; ++k) {
      batched[k] = rows(id(n.first + k));
      any = any || batched[k] != none;
    }
    symbol const old = n.result_count == 0 ? none : id(n.first + n.operand_count);
    if (has_indices(n))
      for (int k = 1; k < n.operand_count; k += 2) batched[k] = if_active(batched[k]);
    bool const masks_end = n.op->kind != operation_kind::elementwise && n.op->kind != operation_kind::identity &&
                           n.op->kind != operation_kind::broadcast && n.op != info_of<op::sum>();
    for (int k = 0; k < n.operand_count && masks_end; ++k) // (of a system: the right side)
      if (n.op->regular == nullptr || (k > 0 && k + 1 == n.operand_count)) batched[k] = without_others(batched[k]);
    if (n.operand_count != 0) batched[0] = regular(*n.op, batched[0], true);
    if (copies_) n = copied(n);
    if (!by_row || !any) return; // (`every` repeats what must have rows without need)
    if (n.result_count != 1) return refuse(i, n.where);
    batch_rule rule{{b_, n}, s_.rows, batched.data()};
    if (n.op->batch != nullptr) n.op->batch(rule);
    else if (n.op->kind == operation_kind::elementwise || n.op->kind == operation_kind::identity) on_elements(rule);
    if (b_.failed().why != nullptr) return;
    if (rule.given == none) return refuse(i, n.where);
    rows_[old - low_] = rule.given;
  }
  /// True if the node writes a view, or, by row, reads one of values that vary, or memory that others write by views.
  constexpr bool has_views(node const& n, bool by_row) {
    for (int k = 0; k < n.operand_count + n.result_count; ++k)
      if (symbol const t = id(n.first + k); t == none) continue;
      else if (k >= n.operand_count ? b_.tensor(t).base != none : by_row && is_in_memory_of_rows(t)) return true;
    return false;
  }
  /// True for a view of values that vary by row, and for memory that others write by views.
  constexpr bool is_in_memory_of_rows(symbol t) { return (b_.tensor(t).base != none && varies(t)) || is_in_pieces(t); }
  /// True if `t` varies by row, and neither a node nor `set` gives it: views of it do.
  constexpr bool is_in_pieces(symbol t) {
    return b_.tensor(t).producer == none && varies(t) && rows(t) == none && plain_[t - low_] == none;
  }
  /// True if operands 1, 3, ... are indices, which a run reports if they are out of range.
  static constexpr bool has_indices(node const& n) {
    return n.op->kind == operation_kind::gather || n.op->kind == operation_kind::scatter_add;
  }
  /// The copy of a node.
  constexpr node copied(node const& n) {
    array<symbol> x;
    for (int k = 0; k < n.operand_count; ++k) x.push(plain(id(n.first + k)));
    if (x.size() != 0) x[0] = regular(*n.op, x[0], false);
    for (int k = 1; k < x.size() && has_indices(n); k += 2) x[k] = if_any_active(x[k]);
    array<symbol> const y = s_.copier.again(n, x);
    for (int k = 0; k < n.result_count; ++k)
      if (symbol const old = id(n.first + n.operand_count + k); old != none) plain_[old - low_] = y[k];
    return b_.get().nodes.back();
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

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
