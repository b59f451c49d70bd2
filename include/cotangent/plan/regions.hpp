// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_REGIONS_HPP
#define COTANGENT_PLAN_REGIONS_HPP

#include <cotangent/graph/rewriter.hpp>
#include <cotangent/plan/sequence_sizes.hpp>
#include <cotangent/transform/refusals.hpp>

#include <cstdint>

// Loops and branches in static programs. The graph itself and each body become graphs of their own, which are planned and
// executed like any other. In them, a loop or a branch is one node that a kernel runs, and a sequence is a tensor with the
// entries along its first axis. A sequence of unknown length is the address of a `tape_stack::sequence`, in an int64.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The line of the first loop that records values, and has no bound.
constexpr failure unbounded_tape(graph_view const& g, sequence_sizes const& sizes) {
  symbol const t = sizes.unbounded();
  if (t == none) return {};
  failure f{why<refusals::unbounded_tape>()};
  if (node const* const n = g.producer(t)) f.where = n->where;
  return f;
}

/// The same for rows of a tensor whose sequence has no known length: no static program has them.
constexpr failure unbounded_rows(graph_view const& g, sequence_sizes const& sizes) {
  for (std::int32_t i = 0; i < g.node_count; ++i) {
    node const& n = g.nodes[i];
    symbol const t = n.op == info_of<op::rows_to_sequence>()   ? g.result(n)
                     : n.op == info_of<op::sequence_to_rows>() ? g.operand(n, 0)
                                                               : none;
    if (t == none || sizes.known_levels(t) > 0) continue;
    failure f{why<refusals::unbounded_tape>()};
    f.where = n.where;
    return f;
  }
  return {};
}

/// The shape of a sequence as a tensor: its entries along the first axis, up to the first level of unknown length.
constexpr dimensions stacked_shape(graph_view const& g, sequence_sizes const& sizes, symbol t) {
  dimensions to;
  int const levels = sizes.known_levels(t);
  if (levels == 0) return to;
  to.rank = 2;
  to.size[0] = sizes.entries(t);
  to.size[1] = 1;
  bool numbers = true;
  dimensions const d = levels < g.tensors[t].depth ? dimensions{} : g.shape(t);
  auto const size = [&](int k) { return k < levels ? sizes.entries(t, k) : d.size[k - levels]; };
  for (int k = 1; k < levels + d.rank; ++k) {
    numbers = numbers && size(k) >= 0;
    if (numbers) to.size[1] = capped_product(to.size[1], size(k));
  }
  if (numbers || levels + d.rank > max_rank) return to;
  to.rank = levels + d.rank;
  for (int k = 0; k < to.rank; ++k) to.size[k] = size(k);
  return to;
}

constexpr bool has_control(graph_view const& g) {
  bool found = g.region_count > 1;
  for (std::int32_t i = 0; i < g.node_count && !found; ++i) found = g.nodes[i].op->kind == operation_kind::control;
  return found;
}

/// Sub-graph `r` as a graph: its inputs, nodes and outputs. The attributes of its loops and branches are the index of their
/// node, the first operand that is carried (or none), and the number of carried values. There are neither absent operands nor absent outputs.
constexpr graph region_graph(graph_view const& g, std::int32_t r, sequence_sizes const& sizes) {
  graph to;
  rewriter copy(g, to);
  copy.regions.assign(g.region_count, 0);
  to.numbers.append(g.numbers, g.number_count);
  for (symbol t = 0; t < g.tensor_count; ++t)
    if (g.tensors[t].region == r && g.tensors[t].depth > 0) {
      symbol const y = copy(t);
      if (sizes.known_levels(t) < g.tensors[t].depth) to.tensors[y].type = element::int64;
      to.tensors[y].depth = 0;
      to.tensors[y].shape = to.shapes.push(stacked_shape(g, sizes, t));
    }
  array<symbol> inputs(g.input_count(r)), operands, outputs;
  for (int k = 0; k < inputs.size(); ++k) inputs[k] = copy(g.input(k, r));
  to.set_inputs(inputs.data(), inputs.size());
  for (std::int32_t i = 0; i < g.node_count; ++i) {
    node n = g.nodes[i];
    if (n.region != r || n.op == info_of<op::nothing>()) continue;
    n.region = 0;
    operands.clear();
    for (int k = 0; k < n.operand_count; ++k)
      if (symbol const x = g.operand(n, k); x != none) operands.push(copy(x));
    array<symbol> const results = copy.results(n);
    std::int64_t numbers[3]{i, none, 0};
    if (n.op == info_of<op::loop>()) {
      loop_layout const at = loop_layout::of(g, n);
      numbers[1] = g.operand(n, loop_layout::limit()) == none ? 0 : 1;
      for (int k = 0; k < at.carried && g.operand(n, at.init(k)) != none; ++k) ++numbers[2];
    }
    bool const moves_rows = n.op == info_of<op::rows_to_sequence>() || n.op == info_of<op::sequence_to_rows>();
    if (moves_rows) n.op = info_of<op::reshape>(); // a sequence has its entries where a tensor has its rows
    if (n.op->kind == operation_kind::control)
      to.add(n, operands.data(), operands.size(), results.data(), results.size(), numbers, 3);
    else to.add(n, operands.data(), operands.size(), results.data(), results.size());
  }
  for (int k = 0; k < g.output_count(r); ++k)
    if (symbol const y = g.output(k, r); y != none) outputs.push(copy(y));
  to.set_outputs(outputs.data(), outputs.size());
  return to;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
