// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_REMATERIALIZE_MEMORY_NODES_HPP
#define COTANGENT_TRANSFORM_REMATERIALIZE_MEMORY_NODES_HPP

#include <cotangent/graph/order.hpp>
#include <cotangent/ops/control.hpp>
#include <cotangent/transform/rematerialize/memory_problem.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Maps nodes of a graph to values of a memory problem.
class memory_nodes {
  graph_view g_;
  array<char> is_base_; // by symbol: views of it are written

public:
  array<std::int32_t> first, nodes; // by value: its nodes, in order

  constexpr explicit memory_nodes(graph_view const& g) : g_(g), is_base_(g.tensor_count) {
    for (std::int32_t t = 0; t < g.tensor_count; ++t)
      if (g.tensors[t].base != none) is_base_[g.tensors[t].base] = 1;
  }
  constexpr int size() const noexcept { return first.size() - 1; }

  /// Constants, and views of a value, which are free.
  constexpr bool is_free(std::int32_t i) const {
    node const& n = g_.nodes[i];
    if (n.result_count != 1 || is_written(g_.result(n))) return false;
    switch (n.op->kind) {
    case operation_kind::constant:
    case operation_kind::iota:
    case operation_kind::size:
    case operation_kind::broadcast:
    case operation_kind::reshape:
    case operation_kind::permute:
    case operation_kind::slice:
    case operation_kind::identity: return true;
    default: return false;
    }
  }
  /// True for a tensor that is written in pieces.
  constexpr bool is_base(symbol t) const { return is_base_[t] != 0; }
  /// True for a part of a tensor that is written in pieces, and for such a tensor.
  constexpr bool is_written(symbol t) const { return g_.tensors[t].base != none || is_base(t); }
  /// True if readers of this can be ordered after another value; not if it is computed from constants.
  constexpr bool is_ordered(symbol t) const {
    for (; t != none; t = g_.operand(g_.nodes[g_.tensors[t].producer], 0)) {
      std::int32_t const i = g_.tensors[t].producer;
      if (i == none || !is_free(i)) return true;
      if (g_.nodes[i].operand_count == 0) return false;
    }
    return false;
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
