// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_STRAIGHT_STRAIGHTEN_HPP
#define COTANGENT_PLAN_STRAIGHT_STRAIGHTEN_HPP

#include <cotangent/graph/builder.hpp>
#include <cotangent/ops/ops.hpp>
#include <cotangent/plan/straight/groups.hpp>

#include <cstdint>

// Translates a small graph to straight-line code: every element of every tensor is a lane of some value.
// Operations that only move elements cost nothing; a shuffle is emitted where elements of different lanes are
// combined.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

class straightener {
  graph_view g_;
  lane_rule rule_;
  lane_gatherer lanes_;
  element_lanes elements_;
  lane_grouper groups_;
  array<straight_step> stores_;
  array<straight_operand> stored_;

  constexpr int count(symbol t) const { return elements_of(g_, t); }
  constexpr int rank(symbol t) const { return g_.shape(t).rank; }
  constexpr int size(symbol t, int k) const { return static_cast<int>(g_.shape(t).size[k]); }
  constexpr void steps(symbol t, int* to) const {
    int n = 1;
    for (int k = rank(t); k-- > 0; n *= size(t, k)) to[k] = n;
  }

  /// Visits every position of `t` in order, with its offset by the strides of another tensor.
  template <class Visit> constexpr void walk(symbol t, int const* stride, int start, Visit visit) const {
    int index[max_rank]{}, at = start;
    int const n = count(t), inner = rank(t) - 1;
    for (int i = 0; i < n; ++i) {
      visit(i, at);
      for (int k = inner; k >= 0; --k) {
        at += stride[k];
        if (++index[k] < size(t, k)) break;
        at -= index[k] * stride[k];
        index[k] = 0;
      }
    }
  }

  constexpr void move(node const& n, symbol y) {
    symbol const x = g_.operand(n, 0);
    int along[max_rank]{}, stride[max_rank]{}, start = 0;
    auto const attribute = [&](int k) { return static_cast<int>(g_.attribute(n, k)); };
    int const to = elements_.begin(g_, y), from = elements_.first[x];
    steps(n.op->kind == operation_kind::pad ? y : x, along);
    switch (n.op->kind) {
    case operation_kind::broadcast:
      for (int k = 0; k < rank(x); ++k)
        if (size(x, k) != 1) stride[attribute(k)] = along[k];
      break;
    case operation_kind::permute:
      for (int k = 0; k < rank(y); ++k) stride[k] = along[attribute(k)];
      break;
    default: // slice, pad
      for (int k = 0; k < rank(y); ++k) {
        start += attribute(2 * k) * along[k];
        stride[k] = attribute(2 * k + 1) * along[k];
      }
    }
    if (n.op->kind == operation_kind::pad) {
      lane_ref const zero{lanes_.constant(g_.tensors[y].type, 0), 0};
      for (int i = 0; i < count(y); ++i) elements_.at[to + i] = zero;
      walk(x, stride, start, [&](int i, int at) { elements_.at[to + at] = elements_.at[from + i]; });
    } else walk(y, stride, start, [&](int i, int at) { elements_.at[to + i] = elements_.at[from + at]; });
  }

  constexpr void join(node const& n, symbol y) {
    int const axis = static_cast<int>(g_.attribute(n)), to = elements_.begin(g_, y);
    int along[max_rank]{}, start = 0;
    steps(y, along);
    for (int k = 0; k < n.operand_count; ++k) {
      symbol const x = g_.operand(n, k);
      walk(x, along, start, [&](int i, int at) { elements_.at[to + at] = elements_.of(x)[i]; });
      start += size(x, axis) * along[axis];
    }
  }

  constexpr void compute(node const& n, symbol y) {
    int const elements = count(y), to = elements_.begin(g_, y);
    straight_operand operands[8]{};
    for (int c = 0, w = 0; c < elements; c += w) {
      w = rule_.lanes(elements - c);
      int const filled = w < elements - c ? w : elements - c;
      for (int k = 0; k < n.operand_count; ++k) {
        symbol const x = g_.operand(n, k);
        operands[k] = lanes_.gather(elements_.of(x) + c, filled, w, g_.tensors[x].type);
      }
      straight_step s;
      s.op = n.op;
      s.what = straight_action::compute;
      s.type = g_.tensors[y].type;
      s.lanes = w;
      s.count = filled;
      std::int32_t const made = lanes_.push(s, operands, n.operand_count);
      for (int i = 0; i < filled; ++i) elements_.at[to + c + i] = {made, i};
    }
  }

  /// Combines two partial results of a reduction.
  constexpr straight_operand combined(operation const* op, element type, int w, straight_operand a,
                                      straight_operand b) {
    straight_step s;
    s.op = op;
    s.what = straight_action::combine;
    s.type = type;
    s.lanes = w;
    straight_operand const both[2]{a, b};
    return {lanes_.push(s, both, 2), w == 1 ? 0 : none};
  }
  /// Reduces all of `elements` to one number.
  constexpr lane_ref folded(operation const* op, element type, lane_ref const* elements, int n) {
    lane_ref const neutral{lanes_.constant(type, bits_of(op->neutral(type))), 0};
    if (n == 0) return neutral;
    if (n == 1) return elements[0];
    int const w = rule_.lanes(n), valid = n < w ? n : w;
    straight_operand sum;
    for (int c = 0; c < n; c += w) {
      int const filled = n - c < w ? n - c : w;
      // three are added as three; of more, lanes beyond the end are neutral
      bool const fills = filled < w && (n > 3 || c > 0 || w > 4);
      lane_ref lane[most_lanes];
      for (int i = 0; i < w; ++i) lane[i] = i < filled ? elements[c + i] : fills ? neutral : lane_ref{};
      straight_operand const next = lanes_.gather(lane, fills ? w : filled, w, type);
      sum = c == 0 ? next : combined(op, type, w, sum, next);
    }
    straight_step s;
    s.op = op;
    s.what = straight_action::fold;
    s.type = type;
    s.width = w;
    s.count = n > 3 || w > 4 ? w : valid;
    return {lanes_.push(s, &sum, 1), 0};
  }
  constexpr void reduce(node const& n, symbol y) {
    symbol const x = g_.operand(n, 0);
    element const type = g_.tensors[y].type;
    int const elements = count(x), to = elements_.begin(g_, y), kept = count(y), each = kept == 0 ? 0 : elements / kept;
    std::uint32_t const mask = static_cast<std::uint32_t>(g_.attribute(n));
    int in_result[max_rank]{}, along[max_rank]{};
    steps(y, along);
    for (int k = 0, j = 0; k < rank(x); ++k)
      if ((mask >> k & 1u) == 0) in_result[k] = along[j++];
    // the elements of each sum, one sum after the other
    array<lane_ref> of(elements);
    array<int> filled(kept);
    walk(x, in_result, 0, [&](int i, int j) { of[j * each + filled[j]++] = elements_.of(x)[i]; });
    if (kept <= 1 || each == 0 || kept * 2 < rule_.vectors(kept) * each) {
      for (int j = 0; j < kept; ++j) elements_.at[to + j] = folded(n.op, type, of.data() + j * each, each);
      return;
    }
    lane_ref lane[most_lanes];
    for (int c = 0, w = 0; c < kept; c += w) {
      w = rule_.lanes(kept - c);
      int const valid = w < kept - c ? w : kept - c;
      straight_operand sum;
      for (int k = 0; k < each; ++k) {
        for (int i = 0; i < valid; ++i) lane[i] = of[(c + i) * each + k];
        straight_operand const next = lanes_.gather(lane, valid, w, type);
        sum = k == 0 ? next : combined(n.op, type, w, sum, next);
      }
      for (int i = 0; i < valid; ++i)
        elements_.at[to + c + i] = sum.lane == none ? lane_ref{sum.step, i} : lane_ref{sum.step, sum.lane};
    }
  }

  /// In the order of kernels::matmul.
  constexpr void multiply(node const& n, symbol y) {
    symbol const a = g_.operand(n, 0), b = g_.operand(n, 1);
    bool const ta = g_.attribute(n, 0) != 0, tb = g_.attribute(n, 1) != 0;
    product_sizes const sizes = product_sizes_of(g_, n);
    int const elements = count(y), to = elements_.begin(g_, y), rows = elements == 0 ? 1 : static_cast<int>(sizes.m),
              columns = elements == 0 ? 1 : static_cast<int>(sizes.n), inner = static_cast<int>(sizes.k);
    int const a_row = ta ? 1 : inner, a_column = ta ? rows : 1, b_row = tb ? 1 : columns, b_column = tb ? inner : 1;
    element const type = g_.tensors[y].type;
    lane_ref const zero{lanes_.constant(type, 0), 0};
    lane_ref left[most_lanes], right[most_lanes];
    for (int c = 0, w = 0; c < elements; c += w) {
      w = rule_.lanes(elements - c);
      int const filled = w < elements - c ? w : elements - c;
      straight_operand sum{zero.step, 0};
      for (int k = 0; k < inner; ++k) {
        for (int i = 0; i < filled; ++i) {
          int const row = (c + i) / columns, column = (c + i) % columns, matrix = row / rows;
          left[i] = elements_.of(a)[matrix * rows * inner + row % rows * a_row + k * a_column];
          right[i] = elements_.of(b)[matrix * inner * columns + k * b_row + column * b_column];
        }
        straight_operand const l = lanes_.gather(left, filled, w, type), r = lanes_.gather(right, filled, w, type);
        straight_step s;
        s.op = info_of<op::multiply_add>();
        s.what = straight_action::compute;
        s.type = type;
        s.lanes = w;
        straight_operand const three[3]{l, r, sum};
        sum = {lanes_.push(s, three, 3), w == 1 ? 0 : none};
      }
      for (int i = 0; i < filled; ++i) elements_.at[to + c + i] = inner == 0 ? zero : lane_ref{sum.step, i};
    }
  }

  constexpr void make(std::int32_t index) {
    node const& n = g_.nodes[index];
    symbol const y = g_.result(n);
    switch (n.op->kind) {
    case operation_kind::identity:
    case operation_kind::reshape: elements_.first[y] = elements_.first[g_.operand(n, 0)]; return;
    case operation_kind::constant: {
      int const to = elements_.begin(g_, y);
      std::int32_t const made = count(y) > 0 ? lanes_.constant(g_.tensors[y].type, g_.attribute(n)) : none;
      for (int i = 0; i < count(y); ++i) elements_.at[to + i] = {made, 0};
      return;
    }
    case operation_kind::iota: {
      int const to = elements_.begin(g_, y);
      for (int i = 0; i < count(y); ++i)
        elements_.at[to + i] = {lanes_.constant(g_.tensors[y].type, bits_of(g_.tensors[y].type, i)), 0};
      return;
    }
    case operation_kind::elementwise:
      return count(y) == 1 && n.operand_count <= 4 ? groups_.compute_later(index) : compute(n, y);
    case operation_kind::reduction: return reduce(n, y);
    case operation_kind::matmul: return multiply(n, y);
    case operation_kind::concatenate: return join(n, y);
    default: return move(n, y);
    }
  }

  constexpr void keep(int result, int offset, int w, int filled, straight_operand what, element type) {
    straight_step s;
    s.what = straight_action::store;
    s.type = type;
    s.lanes = w;
    s.count = filled;
    s.index = result;
    s.offset = offset;
    stores_.push(s);
    stored_.push(what);
  }
  constexpr void keep_result(int k) {
    symbol const y = g_.output(k);
    element const type = g_.tensors[y].type;
    int const elements = count(y);
    lane_ref const* const from = elements_.of(y);
    for (int c = 0, w = 0; c < elements; c += w) {
      w = rule_.lanes(elements - c);
      int const filled = w < elements - c ? w : elements - c;
      if (lanes_.are_mostly_numbers(from + c, filled))
        for (int i = 0; i < filled; ++i) keep(k, c + i, 1, 1, lanes_.gather(from + c + i, 1, 1, type), type);
      else keep(k, c, w, filled, lanes_.gather(from + c, filled, w, type), type);
    }
  }

public:
  constexpr straightener(graph_view const& g, int vector_bytes)
      : g_(g), rule_(g, vector_bytes), lanes_(rule_), elements_{array<std::int32_t>(g.tensor_count, 0), {}},
        groups_(g_, rule_, lanes_, elements_) {
    for (int k = 0; k < g.input_count(); ++k) {
      symbol const x = g.input(k);
      int const at = elements_.begin(g_, x);
      lanes_.add_argument(count(x), g.tensors[x].type);
      for (int i = 0; i < count(x); ++i) elements_.at[at + i] = {-2 - k, i};
    }
    array<std::int32_t> order, level;
    sort_by_level(g, order, level);
    for (int k = 0; k < g.node_count; ++k) {
      make(order[k]);
      if (k + 1 == g.node_count || level[order[k + 1]] != level[order[k]]) groups_.compute_waiting();
    }
    for (int k = 0; k < g.output_count(); ++k) keep_result(k);
    for (int k = 0; k < stores_.size(); ++k) lanes_.push(stores_[k], &stored_[k], 1);
  }
  constexpr straight_program result() { return lanes_.compacted(); }
};

/// The straight-line code of a graph that `runs_straight`, for vectors of up to `vector_bytes`.
///
/// Value: the same bits as every other execution if no sum is reordered. Sums over all elements of a tensor
/// are lane by lane, then by halves; sums along some axes are in the order of the elements.
constexpr straight_program straighten(graph_view const& g, int vector_bytes) {
  auto const count = [](straight_program const& p, straight_action a) {
    int n = 0;
    for (straight_step const& s : p.steps) n += s.what == a;
    return n;
  };
  straight_program p = detail::straightener(g, vector_bytes).result();
  int shuffles = count(p, straight_action::shuffle);
  // Rows of small matrices fill short vectors, and have to be moved to fill long ones.
  for (int bytes = vector_bytes / 2; bytes >= 16 && 2 * shuffles > count(p, straight_action::compute); bytes /= 2) {
    straight_program shorter = detail::straightener(g, bytes).result();
    int const fewer = count(shorter, straight_action::shuffle);
    if (fewer >= shuffles) break;
    p = static_cast<straight_program&&>(shorter);
    shuffles = fewer;
  }
  return p;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
