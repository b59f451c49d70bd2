// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_INDEXING_HPP
#define COTANGENT_OPS_INDEXING_HPP

#include <cotangent/ops/matmul.hpp>

#include <cstdint>

// Indexing by integers: gather and its adjoint scatter_add; one_hot; cross_entropy.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL_TYPES(index_not_integer, is, element_of_indices, integer, "cotangent: indices must be int32 or int64")
COTANGENT_REFUSAL(labels_shape, equal, extent_of_logits, extent_of_labels, "cotangent: cross_entropy: labels must have the shape of the logits without their last axis")
COTANGENT_REFUSAL(gather_rank, at_least, rank_gathered, one, "cotangent: gather: the operand must have an axis to choose along")
COTANGENT_REFUSAL(one_hot_axes, at_most, axes_of_result, axes_of_a_tensor, "cotangent: one_hot: the labels must have at most 7 axes")
COTANGENT_REFUSAL(gather_axes, at_most, axes_of_result, axes_of_a_tensor, "cotangent: gather: the result must have at most 8 axes")
// clang-format on
} // namespace refusals

namespace detail {
constexpr bool is_index(element e) { return e == element::int32 || e == element::int64; }
} // namespace detail

namespace op {

/// Integer labels of as many classes as attribute 0 says (a dimension), unchanged: a run reports labels of an
/// argument that are out of range.
struct label : extend::primitive<operation_kind::identity, 1> {
  static constexpr char const *name = "label", *looks_up = "a label";
  static constexpr derivative_kind derivative = derivative_kind::zero;
  static constexpr void infer(inference& r) { r.like(0); }
};

} // namespace op

namespace detail {
constexpr term into_tables(term indices, dimension count);
} // namespace detail

namespace op {

/// Row i of the result is row `indices[i]` of operand 0, along axis 0. Indices out of range are clamped, and
/// the run reports them. Adjoint: scatter_add.
struct gather : extend::primitive<operation_kind::gather, 2> {
  static constexpr char const *name = "gather", *looks_up = "a position";
  static constexpr float cost = 2;
  static constexpr void infer(inference& r) {
    extend::dimensions const from = r.dims(0);
    extend::dimensions d = r.dims(1);
    r.like(0);
    if (!detail::is_index(r.tensor(1).type)) return r.refuse<refusals::index_not_integer>();
    if (from.rank < 1) return r.refuse<refusals::gather_rank>(0, 1);
    if (d.rank + from.rank - 1 > max_rank)
      return r.refuse<refusals::gather_axes>(d.rank + from.rank - 1, max_rank);
    for (int k = 1; k < from.rank; ++k) d.size[d.rank++] = from.size[k];
    r.result(r.type, d);
  }
  static constexpr void adjoint(adjoint_rule& r);
  static constexpr void tangent(tangent_rule& r) {
    r.give(detail::push(info_of<gather>(), {r.dx(0), r.x(1)}));
  }
  static constexpr void batch(batch_rule& r) {
    if (!r.has(0)) return r.give(detail::push(info_of<gather>(), {r.x(0), r.each(1)}));
    if (!r.has(1)) {
      term const y = detail::push(info_of<gather>(), {extend::move_axis(r.each(0), 0, 1), r.x(1)});
      return r.give(extend::move_axis(y, r.x(1).rank(), 0));
    }
    term const at = detail::into_tables(r.each(1), r.x(0).dims().size[0]);
    r.give(detail::push(info_of<gather>(), {extend::merge_axes(r.each(0)), at}));
  }
};

/// Adds row i of operand 0 to row `indices[i]` of zeros. Adjoint: gather.
struct scatter_add : extend::primitive<operation_kind::scatter_add, 2> {
  static constexpr char const *name = "scatter_add", *looks_up = "a position";
  static constexpr float cost = 2;
  static constexpr void adjoint(adjoint_rule& r) {
    r.give(0, detail::push(info_of<gather>(), {r.dy(), r.x(1)}));
  }
  static constexpr void tangent(tangent_rule& r) { r.give(of(r.dx(0), r.x(1), r.y().shape_id())); }
  static constexpr void batch(batch_rule& r) {
    extend::dimensions const d = r.y().dims();
    std::int32_t const shape = r.with_rows(r.y().shape_id());
    if (!r.has(1)) {
      extend::dimensions to{d.rank + 1, {d.size[0], r.rows}};
      for (int k = 1; k < d.rank; ++k) to.size[k + 1] = d.size[k];
      return r.give(extend::move_axis(of(extend::move_axis(r.each(0), 0, r.x(1).rank()), r.x(1), r.b.shape(to)), 1, 0));
    }
    extend::dimensions to = d;
    to.size[0] = r.b.product(r.rows, d.size[0]);
    r.give(reshape::of(of(r.every(0), detail::into_tables(r.each(1), d.size[0]), r.b.shape(to)), shape));
  }
  static constexpr term of(term rows, term indices, std::int32_t shape) {
    return detail::push_as(info_of<scatter_add>(), *rows.b, {rows, indices}, nullptr, 0, rows.type(), shape);
  }
};
/// The last operand with other rows: for each pair of rows and indices before it, one after the other, row i is added to row
/// `indices[i]`; or put in its place, if bit k of attribute 0 is set for pair k. Of several rows in one place, the last one stays. It may
/// write where the last operand is: then a loop takes only as long as it takes to change the rows. Simplify makes it of sums with
/// scatter_adds, and of several that follow each other.
struct update_rows : extend::primitive<operation_kind::scatter_add, -1> {
  static constexpr char const *name = "update_rows", *looks_up = "a position";
  static constexpr float cost = 2;
  static constexpr int most_pairs = 62;
  /// The pairs that are set, by bits.
  static constexpr std::uint64_t sets_of(extend::node const& n, std::int64_t const* numbers) {
    return n.attribute_count > 0 ? static_cast<std::uint64_t>(numbers[n.attribute]) : 0;
  }
  static constexpr void adjoint(adjoint_rule& r) {
    int const last = r.operand_count() - 1;
    std::uint64_t const sets = sets_of(r);
    term dy = r.dy();
    for (int k = last - 2; k >= 0; k -= 2) {
      bool const is_set = (sets >> (k / 2) & 1u) != 0;
      if (r.wanted(k)) r.give(k, is_set ? of_rows_left(dy, r.x(k + 1)) : detail::push(info_of<gather>(), {dy, r.x(k + 1)}));
      if (is_set) dy = set(extend::constant_like(r.x(k), 0), r.x(k + 1), dy); // (after its rows were read)
    }
    if (r.wanted(last)) r.give(last, dy);
  }
  static constexpr void tangent(tangent_rule& r) {
    int const last = r.operand_count() - 1;
    std::uint64_t const sets = sets_of(r);
    term dy = r.has(last) ? r.dx(last) : term{};
    for (int k = 0; k < last; k += 2) {
      bool const is_set = (sets >> (k / 2) & 1u) != 0;
      if (!r.has(k) && (!is_set || !dy.present())) continue;
      if (is_set) dy = set(r.has(k) ? r.dx(k) : extend::constant_like(r.x(k), 0), r.x(k + 1), dy.present() ? dy : extend::constant_like(r.y(), 0));
      else {
        term const rows = scatter_add::of(r.dx(k), r.x(k + 1), r.y().shape_id());
        dy = dy.present() ? dy + rows : rows;
      }
    }
    r.give(dy);
  }
  static constexpr void batch(batch_rule& r) {
    std::uint64_t const sets = sets_of(r);
    int const last = r.operand_count() - 1;
    extend::dimension const n = r.y().dims().size[0];
    term const all = r.every(last);
    term y = extend::merge_axes(all);
    for (int k = 0; k < last; k += 2) {
      term const at = detail::into_tables(r.every(k + 1), n), rows = r.every(k);
      y = (sets >> (k / 2) & 1u) != 0 ? set(rows, at, y) : y + scatter_add::of(rows, at, y.shape_id());
    }
    r.give(reshape::of(y, all.shape_id()));
  }
  /// x, with `rows` in place of those at the indices; or added to them.
  static constexpr term set(term rows, term indices, term x) { return of(rows, indices, x, 1); }
  static constexpr term add(term rows, term indices, term x) { return of(rows, indices, x, 0); }

private:
  static constexpr term of(term rows, term indices, term x, std::int64_t sets) {
    return detail::push_as(info_of<update_rows>(), *x.b, {rows, indices, x}, &sets, 1, x.type(), x.shape_id());
  }
  static constexpr std::uint64_t sets_of(rule const& r) { return sets_of(r.at, r.b.get().numbers.data()); }
  /// The cotangents of rows that were set: 0 for a row that a later one replaced.
  static constexpr term of_rows_left(term dy, term at) {
    extend::builder& b = *dy.b;
    term const taken = detail::push(info_of<gather>(), {dy, at});
    extend::dimensions const list = at.dims();
    extend::dimensions wide = taken.dims();
    extend::dimension count = 1;
    for (int k = 0; k < list.rank; ++k) count = b.product(count, list.size[k]);
    if (count == 1) return taken;
    for (int k = list.rank; k < wide.rank; ++k) wide.size[k] = 1;
    term const number = reshape::of(extend::iota(b, element::int64, count), at.shape_id());
    term const none = extend::constant(b, element::int64, b.shape(extend::dimensions{1, {dy.dims().size[0]}}), 0);
    term const last = detail::push(info_of<gather>(), {set(number, at, none), at});
    return extend::select(reshape::of(extend::apply<equal>(last, number), b.shape(wide)), taken, extend::constant_like(taken, 0));
  }
};
constexpr void gather::adjoint(adjoint_rule& r) {
  if (r.wanted(0)) r.give(0, scatter_add::of(r.dy(), r.x(1), r.x(0).shape_id()));
}

} // namespace op

namespace detail {
/// Indices [rows, ...] into tables of `count` entries that lie one behind the other. As in a gather of one table, indices out of
/// range are clamped, and the run reports them: a gather of a table of one entry takes entry 1 for them.
constexpr term into_tables(term indices, dimension count) {
  builder& b = *indices.b;
  term const known = extend::convert(indices, element::int64);
  std::int32_t const shape = known.shape_id();
  term const size = extend::count_of(extend::iota(b, element::int64, count), 1u, shape), last = size - 1;
  term const inside = extend::select(known < 0, known * 0, extend::select(known > last, last, known));
  term const one = extend::iota(b, element::int64, 1);
  term const report = detail::push(info_of<op::gather>(), {one, extend::convert(extend::apply<op::not_equal>(inside, known), element::int64)}); // 0
  term const table = extend::iota(b, element::int64, known.dims().size[0]);
  return inside + report + op::sum::repeat(table, shape, (1u << known.rank()) - 2) * size;
}
using indexing_operations = operations<op::gather, op::scatter_add, op::update_rows, op::label>;
/// The pairs of update_rows that are set, by bits.
constexpr std::uint64_t rows_set(graph_view const& g, node const& n) {
  return n.op == info_of<op::update_rows>() ? op::update_rows::sets_of(n, g.numbers) : 0;
}
} // namespace detail

namespace extend {

constexpr term gather(term x, term indices) { return detail::push(info_of<op::gather>(), {x, indices}); }

/// The position of each element in row-major order, as int64.
constexpr term positions(builder& b, std::int32_t shape) {
  dimensions const d = b.get().shapes[shape];
  std::uint32_t const whole = (1u << d.rank) - 1;
  term sum = constant(b, element::int64, shape, 0);
  for (int k = 0; k < d.rank; ++k) {
    term const at = op::sum::repeat(iota(b, element::int64, d.size[k]), shape, whole & ~(1u << k));
    std::uint32_t const behind = whole & ~((2u << k) - 1);
    term const place = behind == 0 ? at : apply<op::multiply>(at, count_of(at, behind, shape));
    sum = k == 0 ? place : apply<op::add>(sum, place);
  }
  return sum;
}

/// In the opposite order along an axis.
constexpr term reversed(auto x, int axis) {
  dimension const n = x.dims().size[axis];
  if (n == 0 || n == 1) return x;
  // rows of the axis, gathered by falling numbers
  auto const numbers = iota(*x.b, element::int64, n);
  auto const last = n > 0 ? constant_like(numbers, static_cast<double>(n - 1))
                          : count_of(numbers, 1, numbers.shape_id()) - constant_like(numbers, 1);
  return move_axis(gather(move_axis(x, axis, 0), last - numbers), 0, axis);
}

/// True where the index along a new last axis of size `classes` equals the label.
constexpr term hits(term labels, dimension classes) {
  builder& b = *labels.b;
  dimensions d = labels.dims();
  std::uint32_t const mask = 1u << d.rank;
  d.size[d.rank++] = classes;
  std::int32_t const shape = b.shape(d);
  return op::sum::repeat(iota(b, labels.type(), classes), shape, mask - 1) == op::sum::repeat(labels, shape, mask);
}
/// 1 where the index along a new last axis equals the label, else 0.
constexpr term one_hot(term labels, dimension classes, element type) {
  builder& b = *labels.b;
  if (!detail::is_index(labels.type())) return b.refuse<refusals::index_not_integer>(0, 0, b.place), labels;
  if (labels.rank() == max_rank) return b.refuse<refusals::one_hot_axes>(max_rank + 1, max_rank, b.place), labels;
  return convert(hits(labels, classes), type);
}

/// The loss of each row of logits against its label: logsumexp(z) - z[label], over the last axis. A label out
/// of range selects nothing; the run reports it if it comes from an argument.
constexpr term cross_entropy(auto logits, auto labels) {
  dimensions const z = logits.dims(), l = labels.dims();
  builder& b = *logits.b;
  if (!detail::is_index(labels.type())) return b.refuse<refusals::index_not_integer>(0, 0, b.place), logits;
  // (-1 would refer to a named extent)
  if (z.rank == 0) return b.refuse<refusals::labels_shape>(0, l.rank + 1, b.place), logits;
  if (l.rank + 1 != z.rank) return b.refuse<refusals::labels_shape>(z.rank - 1, l.rank, b.place), logits;
  for (int k = 0; k < l.rank; ++k)
    if (z.size[k] != l.size[k]) return b.refuse<refusals::labels_shape>(z.size[k], l.size[k], b.place), logits;
  std::uint32_t const mask = 1u << l.rank;
  term const known = detail::push(info_of<op::label>(), {labels}, {z.size[l.rank]});
  // Compares integers as wide as the logits, so that both fill the same lanes.
  term const narrow = convert(known, logits.type() == element::float32 ? element::int32 : element::int64);
  term const chosen = select(hits(narrow, z.size[l.rank]), logits, constant_like(logits, 0));
  return logsumexp(logits, mask) - sum(chosen, mask);
}

} // namespace extend
} // namespace cotangent

#endif
