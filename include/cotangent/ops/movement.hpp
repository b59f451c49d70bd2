// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_MOVEMENT_HPP
#define COTANGENT_OPS_MOVEMENT_HPP

#include <cotangent/ops/reduction.hpp>

#include <cstdint>

// Operations that only move elements: permute; slice, and its adjoint pad; concatenate.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(slice_out_of_range, at_most, end_of_range, extent_of_axis, "cotangent: a range must lie within its axis")
COTANGENT_REFUSAL(index_out_of_range, less_than, index, extent_of_the_axis, "cotangent: an index must be less than the extent of its axis")
COTANGENT_REFUSAL(concatenate_extents, equal, extent_of_first, extent_of_next, "cotangent: concatenate: all axes except the concatenated one must be equal")
COTANGENT_REFUSAL(rank_too_large, at_most, rank_of_result, largest_rank, "cotangent: the rank of a result must be at most 8")
COTANGENT_REFUSAL(concatenate_rank, equal, rank_of_first, rank_of_next, "cotangent: concatenate: all operands must have one rank")
COTANGENT_REFUSAL(permute_rank, equal, axes_named, rank_permuted, "cotangent: permute: every axis of the operand must be named once")
// clang-format on
} // namespace refusals

namespace op {

/// Result axis k is operand axis `attribute k`.
struct permute : extend::primitive<operation_kind::permute, 1> {
  static constexpr char const* name = "permute";
  static constexpr void infer(inference& r) {
    extend::dimensions const from = r.dims(0);
    extend::dimensions d;
    std::uint32_t seen = 0;
    for (int k = 0; k < r.attribute_count && k < max_rank; ++k) {
      std::int64_t const axis = r.attribute[k];
      if (axis < 0 || axis >= from.rank) continue;
      seen |= 1u << axis;
      d.size[d.rank++] = from.size[axis];
    }
    r.result(r.tensor(0).type, d);
    if (r.attribute_count != from.rank || seen != (1u << from.rank) - 1)
      r.refuse<refusals::permute_rank>(r.attribute_count, from.rank);
  }
  static constexpr void adjoint(adjoint_rule& r) {
    std::int64_t back[max_rank]{};
    for (int k = 0; k < r.at.attribute_count; ++k) back[r.attribute(k)] = k;
    r.give(0, of(r.dy(), back));
  }
  static constexpr void tangent(tangent_rule& r) {
    std::int64_t axes[max_rank]{};
    for (int k = 0; k < r.at.attribute_count; ++k) axes[k] = r.attribute(k);
    r.give(of(r.dx(), axes));
  }
  static constexpr void batch(batch_rule& r) {
    std::int64_t axes[max_rank]{};
    for (int k = 0; k + 1 < max_rank && k < r.at.attribute_count; ++k) axes[k + 1] = r.attribute(k) + 1;
    r.give(of(r.each(), axes));
  }
  static constexpr term of(term x, std::int64_t const* axes) {
    return {x.b, x.b->push(info_of<permute>(), &x.id, 1, axes, x.rank(), x.b->place)};
  }
};

} // namespace op

namespace detail {
/// A slice or a pad of each row.
template <class Op> constexpr void batch_window(batch_rule& r) {
  std::int64_t window[2 * max_rank]{0, 1};
  for (int k = 0; k + 2 < 2 * max_rank && k < r.at.attribute_count; ++k) window[k + 2] = r.attribute(k);
  r.give(Op::of(r.each(), window, r.with_rows(r.y().shape_id())));
}
} // namespace detail

namespace op {

/// Position i of the result along axis k is position `start + i step` of the operand, with attributes start,
/// step for each axis.
struct slice : extend::primitive<operation_kind::slice, 1> {
  static constexpr char const* name = "slice";
  static constexpr void adjoint(adjoint_rule& r);
  static constexpr void tangent(tangent_rule& r) {
    std::int64_t window[2 * max_rank]{};
    for (int k = 0; k < r.at.attribute_count; ++k) window[k] = r.attribute(k);
    r.give(of(r.dx(), window, r.y().shape_id()));
  }
  static constexpr void batch(batch_rule& r) { detail::batch_window<slice>(r); }
  static constexpr term of(term x, std::int64_t const* window, std::int32_t shape) {
    return detail::push_as(info_of<slice>(), *x.b, {x}, window, 2 * x.rank(), x.type(), shape);
  }
};

/// Zeros, with position i of the operand along axis k at position `start + i step`.
struct pad : extend::primitive<operation_kind::pad, 1> {
  static constexpr char const* name = "pad";
  static constexpr float cost = 0.5f;
  static constexpr void adjoint(adjoint_rule& r) {
    std::int64_t window[2 * max_rank]{};
    for (int k = 0; k < r.at.attribute_count; ++k) window[k] = r.attribute(k);
    r.give(0, slice::of(r.dy(), window, r.x().shape_id()));
  }
  static constexpr void tangent(tangent_rule& r) {
    std::int64_t window[2 * max_rank]{};
    for (int k = 0; k < r.at.attribute_count; ++k) window[k] = r.attribute(k);
    r.give(of(r.dx(), window, r.y().shape_id()));
  }
  static constexpr void batch(batch_rule& r) { detail::batch_window<pad>(r); }
  static constexpr term of(term x, std::int64_t const* window, std::int32_t shape) {
    return detail::push_as(info_of<pad>(), *x.b, {x}, window, 2 * x.rank(), x.type(), shape);
  }
};
constexpr void slice::adjoint(adjoint_rule& r) {
  std::int64_t window[2 * max_rank]{};
  for (int k = 0; k < r.at.attribute_count; ++k) window[k] = r.attribute(k);
  r.give(0, pad::of(r.dy(), window, r.x().shape_id()));
}

/// The operands concatenated along axis `attribute 0`.
struct concatenate : extend::primitive<operation_kind::concatenate, -1> {
  static constexpr char const* name = "concatenate";
  static constexpr float cost = 0.5f;
  static constexpr void infer(inference& r) {
    extend::dimensions d = r.dims(0);
    std::int64_t const axis = r.attribute[0];
    r.like(0);
    if (axis < 0 || axis >= d.rank) return r.refuse<refusals::axis_out_of_range>(axis < 0 ? d.rank : axis, d.rank);
    for (int k = 1; k < r.operand_count; ++k) {
      extend::dimensions const next = r.dims(k);
      if (r.tensor(k).type != r.type) return r.refuse<refusals::elements_differ>();
      if (next.rank != d.rank) return r.refuse<refusals::concatenate_rank>(d.rank, next.rank);
      for (int a = 0; a < d.rank; ++a)
        if (a != axis && next.size[a] != d.size[a])
          return r.refuse<refusals::concatenate_extents>(d.size[a], next.size[a]);
      d.size[axis] = r.b.sum(d.size[axis], next.size[axis]);
    }
    r.result(r.type, d);
  }
  static constexpr void adjoint(adjoint_rule& r) {
    std::int64_t const axis = r.attribute();
    std::int64_t window[2 * max_rank]{};
    for (int k = 0; k < max_rank; ++k) window[2 * k + 1] = 1;
    for (int k = 0; k < r.operand_count(); ++k) {
      if (r.wanted(k)) r.give(k, slice::of(r.dy(), window, r.x(k).shape_id()));
      window[2 * axis] = r.b.sum(window[2 * axis], r.x(k).dims().size[axis]);
    }
  }
  static constexpr void tangent(tangent_rule& r) {
    detail::array<extend::symbol> all;
    for (int k = 0; k < r.operand_count(); ++k)
      all.push(r.has(k) ? r.tangent[k] : extend::constant_like(r.x(k), 0).id);
    std::int64_t const axis = r.attribute();
    r.give({&r.b, r.b.push(info_of<concatenate>(), all.data(), all.size(), &axis, 1, r.b.place)});
  }
  static constexpr void batch(batch_rule& r) {
    detail::array<extend::symbol> all;
    for (int k = 0; k < r.operand_count(); ++k) all.push(r.every(k).id);
    std::int64_t const axis = r.attribute() + 1;
    r.give({&r.b, r.b.push(info_of<concatenate>(), all.data(), all.size(), &axis, 1, r.b.place)});
  }
};

} // namespace op

namespace detail {
using movement_operations = operations<op::permute, op::slice, op::pad, op::concatenate>;
} // namespace detail

namespace extend {

/// Axis `from` moved to position `to`; the others keep their order.
constexpr term move_axis(term x, int from, int to) {
  std::int64_t axes[max_rank]{};
  int const rank = x.rank();
  for (int k = 0, next = 0; k < rank; ++k) {
    if (next == from) ++next;
    axes[k] = k == to ? from : next++;
  }
  return from == to ? x : op::permute::of(x, axes);
}
/// Axes k and k + 1 as one.
constexpr term merge_axes(term x, int k = 0) {
  dimensions const from = x.dims();
  dimensions d;
  for (int a = 0; a + 1 < from.rank; ++a)
    d.size[d.rank++] = a == k ? x.b->product(from.size[a], from.size[a + 1]) : from.size[a < k ? a : a + 1];
  return op::reshape::of(x, x.b->shape(d));
}
constexpr term transpose(term x) {
  std::int64_t axes[max_rank]{};
  int const rank = x.rank();
  for (int k = 0; k < rank; ++k) axes[k] = rank - 1 - k;
  return rank < 2 ? x : op::permute::of(x, axes);
}

/// `count` positions start, start + step, ... along one axis.
constexpr term slice(term x, int axis, dimension start, dimension count, std::int64_t step = 1) {
  std::int64_t window[2 * max_rank]{};
  dimensions d = x.dims();
  for (int k = 0; k < d.rank; ++k) window[2 * k + 1] = 1;
  window[2 * axis] = start;
  window[2 * axis + 1] = step;
  std::int64_t const end = start + (count - 1) * step + 1;
  if (d.size[axis] >= 0 && count > 0 && end > d.size[axis]) {
    x.b->refuse<refusals::slice_out_of_range>(end, d.size[axis], x.b->place);
    return x;
  }
  d.size[axis] = count;
  return op::slice::of(x, window, x.b->shape(d));
}
/// x with zeros around it: two numbers for each axis. Absent if a size is not known.
constexpr term between_zeros(term x, std::int64_t const* sides) {
  dimensions d = x.dims();
  std::int64_t window[2 * max_rank]{};
  for (int k = 0; k < d.rank; ++k) {
    if (d.size[k] < 0) return {};
    window[2 * k] = sides[2 * k], window[2 * k + 1] = 1;
    d.size[k] = detail::capped_sum(detail::capped_sum(d.size[k], sides[2 * k]), sides[2 * k + 1]);
  }
  return op::pad::of(x, window, x.b->shape(d));
}
/// Position `index` along one axis; the result lacks that axis.
constexpr term at(term x, int axis, dimension index) {
  dimensions d = x.dims();
  if (d.size[axis] >= 0 && index >= d.size[axis]) {
    x.b->refuse<refusals::index_out_of_range>(index, d.size[axis], x.b->place);
    return x;
  }
  for (int k = axis; k + 1 < d.rank; ++k) d.size[k] = d.size[k + 1];
  --d.rank;
  term const y = slice(x, axis, index, 1);
  return op::reshape::of(y, x.b->shape(d));
}

} // namespace extend

namespace detail {

/// Operands of one shape beside the axis, one after the other along it.
constexpr term joined_along(std::int64_t axis, auto first, auto... rest) {
  symbol const ids[]{first.id, rest.id...};
  return {first.b, first.b->push(info_of<op::concatenate>(), ids, 1 + static_cast<int>(sizeof...(rest)), &axis, 1, first.b->place)};
}

} // namespace detail
} // namespace cotangent

#endif
