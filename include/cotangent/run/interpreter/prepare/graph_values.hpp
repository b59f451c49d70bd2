// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_GRAPH_VALUES_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_GRAPH_VALUES_HPP

#include <cotangent/graph/window.hpp>
#include <cotangent/run/interpreter/execute/layout.hpp>
#include <cotangent/run/interpreter/execute/pieces.hpp>
#include <cotangent/transform/differentiate/views/coverage.hpp>

#include <cstdint>

// Values of symbols during the preparation, and which of them are needed.

COTANGENT_COLD_BEGIN
namespace cotangent::detail::interpret {
inline namespace COTANGENT_ABI {

/// Data shared by the preparation of all regions: arrays by symbol, since a symbol belongs to one region, and
/// the nodes of each region.
struct graph_values {
  array<strided> values; // without a root: not known yet
  array<bool> direct;    // the result of an elementwise unit itself, not a view of it
  array<bool> needed;
  static constexpr signed char never = -1;
  // above 0: deferred to its first reader, in a chain of that length; never: must not be deferred
  array<signed char> late;
  array<symbol> late_of;   // the one tensor that it is computed from, or none
  array<std::int32_t> first, nodes; // by region
  pieces written;
  array<bool> zeroed; // by symbol: unwritten elements of it are read; empty if no tensor is written in pieces

  explicit graph_values(graph_view const& g) : written(g) {
    if (written.any()) zeroed = zero_filled(g);
    values.resize(g.tensor_count);
    direct.assign(g.tensor_count, false);
    needed.assign(g.tensor_count, false);
    late.assign(g.tensor_count, 0);
    late_of.assign(g.tensor_count, none);
    first.assign(g.region_count + 1, 0);
    nodes.resize(g.node_count);
    for (std::int32_t i = 0; i < g.node_count; ++i) ++first[g.nodes[i].region + 1];
    for (std::int32_t r = 0; r < g.region_count; ++r) first[r + 1] += first[r];
    array<std::int32_t> at = first;
    for (std::int32_t i = 0; i < g.node_count; ++i) nodes[at[g.nodes[i].region]++] = i;
  }

  bool is_needed(graph_view const& g, node const& n) const {
    for (int k = 0; k < n.result_count; ++k)
      if (needed[g.result(n, k)]) return true;
    return false;
  }
  /// Marks needed symbols of a region backward from its outputs; of tensors written in pieces, the pieces that
  /// are read.
  void mark_needed(graph_view const& g, std::int32_t region) {
    auto const need = [&](symbol t) {
      if (t == none) return;
      needed[t] = true;
      if (symbol const base = g.tensors[t].base; base != none) needed[base] = true;
      if (std::int32_t const r = written.of(g, t); r != none)
        written.each_view(r, window_of(g, t), [&](symbol view, std::int32_t) { needed[view] = true; });
    };
    for (int k = 0; k < g.output_count(region); ++k) {
      need(g.output(k, region));
      stays(g, g.output(k, region));
    }
    for (std::int32_t j = first[region + 1]; j-- > first[region];) {
      node const& n = g.nodes[nodes[j]];
      if (!is_needed(g, n)) continue;
      for (int k = 0; k < n.operand_count; ++k) {
        symbol const t = g.operand(n, k);
        need(t);
        if (n.op->kind != operation_kind::elementwise || g.tensors[t].shape != g.tensors[g.result(n)].shape ||
            g.tensors[t].base != none)
          stays(g, t);
      }
    }
  }

private:
  /// Stores t: it has a reader that is not an elementwise node of the same shape.
  void stays(graph_view const& g, symbol t) {
    if (t == none) return;
    late[t] = never;
    if (symbol const base = g.tensors[t].base; base != none) late[base] = never;
  }
};

} // namespace COTANGENT_ABI
} // namespace cotangent::detail::interpret
COTANGENT_COLD_END

#endif
