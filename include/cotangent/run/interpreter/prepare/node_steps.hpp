// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_NODE_STEPS_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_NODE_STEPS_HPP

#include <cotangent/run/interpreter/execute/regions.hpp>
#include <cotangent/run/interpreter/prepare/arrange.hpp>
#include <cotangent/run/interpreter/prepare/short_writer.hpp>

#include <cstdint>

// The steps that are one kernel call each: reductions, matrix products, copies, rows, functions of whole tensors.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {
namespace interpret {
inline namespace COTANGENT_ABI {

/// A value in memory.
struct placed {
  strided v;
  address at;
};

/// Emits such steps. `Graph` has the graph `g`, its `kernels`, and `size` and `attribute` with numbers for extents.
template <class Graph> class node_steps {
  Graph const& b_;
  step_table const& steps_;

public:
  program_data& program;
  std::int64_t scratch = 0; // the bytes that the last step needs

  node_steps(Graph const& graph, step_table const& t, program_data& to) : b_(graph), steps_(t), program(to) {}

  void push(step_table::runs run, std::int32_t which) { program.steps.push({run, which}); }

  void clear(address to, std::int64_t bytes) { push(&run_clear, program.copies.push({{}, to, bytes})); }

  void copy(placed const& x, address to, std::int64_t const* to_stride, bool adds = false) {
    if (!adds) {
      kernels::copy_axes const axes = kernels::order_axes(x.v.rank, x.v.size, x.v.stride, to_stride);
      if (copies_few(axes, x, to)) return;
      return push(steps_.copy[static_cast<int>(x.v.type)], program.moves.push({x.at, to, axes}));
    }
    accumulate_step s;
    s.from = x.at;
    s.to = to;
    s.rank = x.v.rank;
    for (int k = 0; k < x.v.rank; ++k) {
      s.size[k] = x.v.size[k];
      s.from_stride[k] = x.v.stride[k];
      s.to_stride[k] = to_stride[k];
    }
    push(steps_.accumulate[static_cast<int>(x.v.type)], program.additions.push(s));
  }
  /// Copies to contiguous memory.
  void move(placed const& x, address to) {
    strided whole = x.v;
    whole.make_contiguous();
    copy(x, to, whole.stride);
  }

  /// A node whose kernel reads its operands where they are: see `is_ready`.
  void node_step(node const& n, placed const* x, int count, address to, bool changes_last = false) {
    scratch = 0;
    switch (n.op->kind) {
    case operation_kind::reduction: return reduction(n, x[0], to);
    case operation_kind::matmul: return product(n, x, to);
    case operation_kind::pad: return pad(n, x[0], to);
    case operation_kind::concatenate: return concatenate(n, x, count, to);
    case operation_kind::whole: return whole(n, x, to);
    default: return rows(n, x, count, to, changes_last);
    }
  }
  /// The layout of a node's result.
  strided layout_of(symbol y) const {
    strided v;
    dimensions const& d = b_.g.shape(y);
    v.rank = d.rank;
    v.type = b_.g.tensors[y].type;
    for (int k = 0; k < d.rank; ++k) v.size[k] = b_.size(d.size[k]);
    v.make_contiguous();
    return v;
  }

private:
  /// A copy of a few pieces of memory becomes threaded code, which costs less than a call.
  bool copies_few(kernels::copy_axes const& axes, placed const& x, address const& to) {
    auto const size = static_cast<std::int64_t>(size_of(x.v.type));
    kernels::copy_axis const line = axes.count == 0 ? kernels::copy_axis{1, 1, 1} : axes.axis[0];
    constexpr std::int64_t few = 4;
    if (axes.empty || axes.count > 1 || line.extent > few * kernels::short_bytes) return false;
    bool const whole = line.from == 1 && line.to == 1;
    std::int64_t const bytes = line.extent * size, from_step = whole ? 1 : line.from * size, to_step = whole ? 1 : line.to * size;
    auto const piece_at = [&](std::int64_t k) { return whole ? short_moves::piece_of(bytes - k) : size; };
    std::int64_t const end = whole ? bytes : line.extent;
    std::int64_t pieces = 0;
    for (std::int64_t k = 0; k < end; k += whole ? piece_at(k) : 1) ++pieces;
    if (pieces > few) return false;
    array<kernels::short_step>& code = program.shorts;
    if (!program.steps.empty() && program.steps.back().run == &run_short &&
        code.size() - program.steps.back().which + 2 * few < kernels::most_short_steps)
      code.pop(); // the end: the code goes on
    else push(&run_short, code.size());
    for (std::int64_t k = 0; k < end; k += whole ? piece_at(k) : 1) {
      code.push(kernels::short_step::move(short_moves::loads_only().of(piece_at(k)), 0, x.at.base, x.at.offset + k * from_step));
      code.push(kernels::short_step::move(short_moves::saves_last().of(piece_at(k)), 0, to.base, to.offset + k * to_step));
    }
    code.push({&kernels::short_end});
    return true;
  }

  void reduction(node const& n, placed const& x, address to) {
    reduction_step r;
    (void)kernels::arrange(x.v.rank, x.v.size, x.v.stride, static_cast<std::uint32_t>(b_.attribute(n, 0)), r.axes);
    r.bytes = static_cast<std::int64_t>(size_of(x.v.type));
    bool const rows = r.axes.rows;
    if (kernel_set const* const k = b_.kernels.find(n.op); k != nullptr)
      r.kernel = (rows ? k->rows : k->columns)[static_cast<int>(x.v.type)];
    if (r.kernel == nullptr) {
      r.kernel = rows ? &reduce_each_row : &reduce_each_column;
      r.signature = program.signatures.push({n.op, {x.v.type}, b_.g.tensors[b_.g.result(n)].type, 1});
    }
    r.from = x.at;
    r.to = to;
    push(&run_reduction, program.reductions.push(r));
  }

  void product(node const& n, placed const* x, address to) {
    strided const &a = x[0].v, &b = x[1].v;
    bool const ta = b_.attribute(n, 0) != 0, tb = b_.attribute(n, 1) != 0;
    int const at = a.rank - 2; // the axis of rows
    matmul_step s;
    s.left = x[0].at;
    s.right = x[1].at;
    s.to = to;
    if (at > 0) s.matrices = a.size[0], s.left_matrix = a.stride[0], s.right_matrix = b.stride[0];
    std::int64_t const rows = a.size[ta ? at + 1 : at], terms = a.size[ta ? at : at + 1], columns = b.size[tb ? at : at + 1];
    std::int64_t left_row = 0, right_row = 0;
    bool left_turned = false, right_turned = false;
    (void)arrange_matrix(a, ta, left_row, left_turned);
    (void)arrange_matrix(b, tb, right_row, right_turned);
    s.shape = {rows, columns, terms, left_turned ? 1 : left_row, left_turned ? left_row : 1,
               right_turned ? 1 : right_row, right_turned ? right_row : 1, columns};
    s.is_short = kernels::detail::is_short(rows, columns, terms);
    if (s.is_short && s.shape.is_turned()) {
      matmul_step const given = s;
      s.shape = given.shape.turned();
      s.left = given.right, s.left_matrix = given.right_matrix;
      s.right = given.left, s.right_matrix = given.left_matrix;
    }
    bool const wide = a.type == element::float64;
    if (s.is_short && s.matrices == 1 && s.shape.m <= 4 && s.shape.n <= 4) {
      s.block = (wide ? &kernels::detail::block_for<double> : &kernels::detail::block_for<float>)(s.shape.m, s.shape.n, s.shape.b_column != 1);
      return push(&run_block_product, program.products.push(s));
    }
    scratch = wide ? kernels::matmul_scratch_bytes<double>(rows, columns, terms) : kernels::matmul_scratch_bytes<float>(rows, columns, terms);
    s.scratch = scratch > 0;
    push(steps_.product[wide ? 1 : 0], program.products.push(s));
  }

  void pad(node const& n, placed const& x, address to) {
    strided const y = layout_of(b_.g.result(n));
    auto const bytes = static_cast<std::int64_t>(size_of(y.type));
    std::int64_t to_stride[max_rank]{}, start = 0;
    for (int k = 0; k < y.rank; ++k) {
      start += b_.size(b_.attribute(n, 2 * k)) * y.stride[k];
      to_stride[k] = b_.attribute(n, 2 * k + 1) * y.stride[k];
    }
    clear(to, y.count() * bytes);
    to.offset += start * bytes;
    copy(x, to, to_stride);
  }

  void concatenate(node const& n, placed const* x, int count, address to) {
    strided const y = layout_of(b_.g.result(n));
    std::int64_t const axis = b_.attribute(n, 0);
    for (int k = 0; k < count; ++k) {
      copy(x[k], to, y.stride);
      to.offset += x[k].v.size[axis] * y.stride[axis] * static_cast<std::int64_t>(size_of(y.type));
    }
  }

  void whole(node const& n, placed const* x, address to) {
    whole_step s;
    s.operands = n.operand_count;
    for (int k = 0; k < n.operand_count; ++k) {
      s.call.operand[k] = whole_of(x[k].v);
      s.operand[k] = x[k].at;
    }
    s.call.result = whole_of(layout_of(b_.g.result(n)));
    s.to = to;
    s.first_attribute = program.attributes.size();
    for (int k = 0; k < n.attribute_count; ++k) program.attributes.push(b_.attribute(n, k));
    s.call.attribute = program.attributes.data() + s.first_attribute;
    kernel_set const* const k = b_.kernels.find(n.op);
    s.run = k != nullptr && k->whole != nullptr ? k->whole : n.op->whole;
    if (k != nullptr && k->whole != nullptr) scratch = k->whole_scratch(s.call);
    push(&run_whole, program.wholes.push(s));
  }

  /// gather, scatter_add, arg_max; `changes_last`: rows of the last operand, a copy of which the result may be.
  void rows(node const& n, placed const* x, int count, address to, bool changes_last) {
    strided const& first = x[0].v;
    row_step s;
    s.from = x[0].at;
    s.to = to;
    s.count = s.row = 1;
    if (n.op->kind == operation_kind::arg_reduction) {
      std::int64_t const axis = b_.attribute(n, 0);
      s.axis = first.size[axis];
      for (int k = 0; k < first.rank; ++k)
        if (k != axis) (k < axis ? s.count : s.row) *= first.size[k];
      return push(steps_.arg_max[static_cast<int>(first.type)], program.rows.push(s));
    }
    bool const gathers = n.op->kind == operation_kind::gather;
    strided const whole = gathers ? first : layout_of(b_.g.result(n));
    s.axis = whole.size[0];
    for (int k = 1; k < whole.rank; ++k) s.row *= whole.size[k];
    s.changes = changes_last;
    std::uint64_t const sets = rows_set(b_.g, n);
    for (int k = 0; k + 1 < count; k += 2) {
      strided const& index = x[k + 1].v;
      s.from = x[k].at;
      s.index = x[k + 1].at, s.count = index.count();
      if (s.changes) s.sum = k == 0 ? x[count - 1].at : s.to;
      push((gathers ? steps_.gather : (sets >> (k / 2) & 1u) != 0 ? steps_.set_rows : steps_.scatter_add)[index.type == element::int64][static_cast<int>(first.type)], program.rows.push(s));
    }
  }
};

} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
