// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_BATCH_BATCH_HPP
#define COTANGENT_TRANSFORM_BATCH_BATCH_HPP

#include <cotangent/graph/order.hpp>
#include <cotangent/transform/batch/batch_control.hpp>
#include <cotangent/transform/batch/batch_sweep.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

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

/// How many rows of a function are computed at once, whose nodes in region `here` begin at `first`, and whose results are `out`: 0:
/// all of them; 1: one after the other, where an operation has no batching rule or uses views. In between, a function with loops or
/// branches: blocks of rows, a cache line of each number, or two vectors if that is more and values have few elements; unless one
/// has many.
constexpr std::int64_t rows_at_once(graph const& g, int first, std::int32_t here, array<symbol> const& out, int vector_bytes) {
  for (symbol const t : out)
    if (g.tensors[t].base != none) return 1;
  for (region const& r : g.regions)
    for (int k = 0; r.owner >= first && k < r.output_count; ++k)
      if (symbol const t = g.ids[r.first_output + k]; t != none && g.tensors[t].base != none) return 1; // no node need read it
  bool control = false, by_row = false;
  std::int64_t width = 0, most = 0; // bytes of an element; elements of a value in loops and branches
  for (int i = first; i < g.nodes.size(); ++i) {
    node const& n = g.nodes[i];
    bool const is_each = n.op->kind == operation_kind::elementwise || n.op->kind == operation_kind::identity;
    bool const is_control = n.op->kind == operation_kind::control;
    if (n.op->batch == nullptr && !is_each && !is_control && n.operand_count != 0) return 1;
    if (n.op == info_of<op::loop>() && loop_layout::of(g, n).has_start()) return 1; // of a gradient: rows may differ in their ends
    control = control || is_control;
    by_row = by_row || runs_in_order(*n.op); // once for each row
    for (int k = 0; k < n.operand_count + n.result_count; ++k) {
      symbol const t = g.ids[n.first + k];
      if (t == none) continue;
      tensor_symbol const& x = g.tensors[t];
      if (x.base != none) return 1;
      by_row = by_row || g.shapes[x.shape].rank == max_rank; // (no room for an axis of rows)
      if (k < n.operand_count || (n.region == here && !is_control)) continue;
      if (x.depth > 0) {
        bool const handed_on = n.op == info_of<op::case_of>() || (n.op == info_of<op::loop>() && k - n.operand_count < loop_layout::of(g, n).carried);
        if (handed_on) return 1; // the records of a gradient
        continue;
      }
      std::int64_t count = 1, bytes = static_cast<std::int64_t>(size_of(x.type));
      for (int j = 0; j < g.shapes[x.shape].rank; ++j)
        if (dimension const d = g.shapes[x.shape].size[j]; d < 0) return 1;
        else count = capped_product(count, d);
      if (count > most) most = count;
      if (is_floating(x.type) && bytes > width) width = bytes;
    }
  }
  constexpr std::int64_t line = 64, few = 4, enough = 9; // (measured: with 3 x 3 matrices faster, with 4 x 4 slower)
  std::int64_t const block = most <= few && 2 * vector_bytes > line ? 2 * vector_bytes : line;
  return !control ? 0 : by_row || most > enough || width == 0 ? 1 : block / width;
}

/// Appends to `b` the outputs for every row: one symbol each in `result`, with an axis of rows in front; `none` if all rows
/// are equal. Values that do not depend on a `from` are shared by all rows. Failures are recorded in the builder.
///
/// A loop runs as long as the condition of any row holds; rows that have ended keep their values. Where rows select different
/// branches, all are computed. Precondition: nodes are in a valid order, or the graph is built at run time.
///
/// Refuses: an operation without a batching rule on the way from a `from` to an output.
/// Cost: linear in the nodes after the first `from`; each becomes one node, and a few more for indices and products.
/// Checked: tests/static/jacobians.cpp, tests/static/batched_loops.cpp, tests/runtime/batched_nests.cpp.
constexpr void batch(builder& b, batch_request const& r, symbol* result) {
  for (int k = 0; k < r.output_count; ++k) result[k] = none;
  bool const stands = b.owner == nullptr || in_order(b.get()); // (traced functions are in order)
  ordering const order = stands ? ordering{} : order_of(b.get());
  if (!order)
    return b.fail({why<refusals::order_cycle>(), {}, {}, order.cycle, b.get().nodes[order.cycle].where});
  detail::region_index const index(b.get(), stands ? nullptr : order.nodes.data());
  detail::region_copier copier(b);
  detail::batch_scope const scope{b, index, copier, r.size, detail::control_batch};
  detail::batch_sweep sweep(scope, b.region, false);
  std::int32_t begin =
      stands ? b.get().nodes.size() : 0; // a loop may read a `from` that was appended after it
  for (int k = 0; k < r.count; ++k) {
    symbol const x = r.from[k];
    sweep.set(x, x, r.rows[k]);
    sweep.varying()[x] = true;
    if (b.tensor(x).producer < begin) begin = b.tensor(x).producer + 1;
  }
  sweep.find_varying(begin);
  detail::region_marks needed(index, b.region);
  for (int k = 0; k < r.output_count; ++k)
    if (r.outputs[k] != none) needed[r.outputs[k]] = true;
  sweep.find_needed(begin, needed);
  sweep.run(begin, &needed);
  for (int k = 0; k < r.output_count; ++k) result[k] = sweep.result_rows(r.outputs[k]);
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
