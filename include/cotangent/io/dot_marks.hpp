// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_DOT_MARKS_HPP
#define COTANGENT_IO_DOT_MARKS_HPP

#include <cotangent/io/dot_text.hpp>

#include <cotangent/transform/differentiate/views/coverage.hpp>
#include <cotangent/transform/simplify/liveness.hpp>

#include <cstdint>

namespace cotangent {

/// Names and options of a drawing that the graph does not contain.
struct dot_options {
  char const* const* inputs = nullptr;  // a name for each input, or null
  char const* const* outputs = nullptr; // a name for each output, or null
  /// The number of outputs that are values; the others are gradients. Nodes that only gradients need are
  /// drawn as the adjoint part.
  int values = 1;
  bool details = false; // long form: also the index of each symbol, and the source location of its node
  /// In the short form of graphs with more nodes than this, chains of elementwise operations share a box.
  int fold = 60;
  char const* const* notes = nullptr; // for each node a further text in its box, or null
};

namespace detail::dots {

/// The layout decisions of a drawing, computed before anything is written.
struct marks {
  array<bool> runs;         // by node: it is drawn
  array<bool> forward;      // by node: a value needs it
  array<std::int32_t> box;  // by node: the first node of its box
  array<std::int32_t> next; // by node: the next node in its box
  array<bool> used;         // by symbol: it has a reader, or a view of it has
  array<bool> written;      // by symbol: written through views
  array<bool> drawn;        // by symbol: a view, or a tensor written through views
  array<bool> zero_filled;  // by symbol
  array<symbol> list;       // the drawn symbols
  array<symbol> stands_for; // by symbol: for an input of a condition, the same input of the body
  bool has_views = false, has_tape = false;

  marks(graph_view const& g, dot_options const& o)
      : runs(g.node_count, true), forward(g.node_count), box(g.node_count), next(g.node_count, none),
        used(g.tensor_count), written(g.tensor_count), drawn(g.tensor_count), zero_filled(g.tensor_count),
        stands_for(g.tensor_count) {
    for (std::int32_t i = 0; i < g.node_count; ++i) box[i] = i;
    for (symbol t = 0; t < g.tensor_count; ++t) stands_for[t] = t;
    if (g.output_count() > 0) {
      liveness const live(g);
      for (std::int32_t i = 0; i < g.node_count; ++i) runs[i] = live.runs(i);
    }
    for (std::int32_t i = 0; i < g.node_count; ++i)
      if (g.nodes[i].op == info_of<op::nothing>()) runs[i] = false;
    find_regions(g);
    find_uses(g);
    find_views(g);
    find_forward(g, o);
    if (!o.details && g.node_count > o.fold) find_chains(g);
  }

private:
  array<int> reads_; // by symbol

  void find_regions(graph_view const& g) {
    for (std::int32_t i = 0; i < g.node_count; ++i) {
      node const& n = g.nodes[i];
      if (!runs[i] || n.op != info_of<op::loop>()) continue;
      loop_layout const at = loop_layout::of(g, n);
      for (int k = 0; at.condition != none && k < at.condition_input_count(); ++k)
        stands_for[g.input(k, at.condition)] = g.input(k, at.body);
    }
  }
  void read(graph_view const& g, symbol t) {
    if (t == none) return;
    t = stands_for[t];
    ++reads_[t];
    used[t] = true;
    if (symbol const base = g.tensors[t].base; base != none) used[base] = true;
    if (g.tensors[t].depth > 0) has_tape = true;
  }
  void find_uses(graph_view const& g) {
    reads_.assign(g.tensor_count, 0);
    for (std::int32_t i = 0; i < g.node_count; ++i)
      for (int k = 0; runs[i] && k < g.nodes[i].operand_count; ++k) read(g, g.operand(g.nodes[i], k));
    for (std::int32_t r = 0; r < g.region_count; ++r) {
      if (r > 0 && !runs[g.regions[r].owner]) continue;
      for (int k = 0; k < g.output_count(r); ++k) read(g, g.output(k, r));
    }
  }
  void find_views(graph_view const& g) {
    array<bool> const zeros = detail::zero_filled(g);
    for (std::int32_t i = 0; i < g.node_count; ++i)
      for (int k = 0; runs[i] && k < g.nodes[i].result_count; ++k)
        if (symbol const y = g.result(g.nodes[i], k); g.tensors[y].base != none) {
          drawn[y] = true;
          written[g.tensors[y].base] = true;
        }
    array<bool> given(g.tensor_count);
    for (std::int32_t r = 0; r < g.region_count; ++r)
      for (int k = 0; k < g.input_count(r); ++k) given[g.input(k, r)] = true;
    for (symbol t = 0; t < g.tensor_count; ++t) {
      tensor_symbol const& s = g.tensors[t];
      if (s.base != none) drawn[t] = drawn[t] || (used[t] && reads_[t] > 0);
      else drawn[t] = s.producer == none && !given[t] && (written[t] || used[t]);
      if (drawn[t]) list.push(t);
      zero_filled[t] = drawn[t] && s.base == none && (zeros[t] || !written[t]);
    }
    has_views = !list.empty();
  }
  void find_forward(graph_view const& g, dot_options const& o) {
    array<bool> wanted(g.tensor_count);
    auto const want = [&](symbol t) {
      if (t == none) return;
      wanted[t] = true;
      if (g.tensors[t].base != none) wanted[g.tensors[t].base] = true;
    };
    for (int k = 0; k < g.output_count() && k < o.values; ++k) want(g.output(k));
    for (std::int32_t i = g.node_count - 1; i >= 0; --i) {
      node const& n = g.nodes[i];
      bool needed = g.output_count() == 0;
      for (int k = 0; k < n.result_count; ++k) {
        symbol const y = g.result(n, k);
        needed = needed || wanted[y] || (g.tensors[y].base != none && wanted[g.tensors[y].base]);
      }
      forward[i] = n.region == 0 && needed;
      if (forward[i])
        for (int k = 0; k < n.operand_count; ++k) want(g.operand(n, k));
    }
    for (std::int32_t i = 0; i < g.node_count; ++i) { // marked like the node that runs it
      std::int32_t const outer = in_region(g, i, 0);
      if (outer != none) forward[i] = forward[outer];
    }
  }
  static std::int32_t in_region(graph_view const& g, std::int32_t n, std::int32_t to) {
    while (n != none && g.nodes[n].region != to) n = g.regions[g.nodes[n].region].owner;
    return n;
  }
  void find_chains(graph_view const& g) {
    for (std::int32_t i = 0; i < g.node_count; ++i) {
      node const& n = g.nodes[i];
      if (!runs[i] || n.op->kind != operation_kind::elementwise) continue;
      symbol from = none;
      int count = 0;
      for (int k = 0; k < n.operand_count; ++k)
        if (!is_constant(g, g.operand(n, k))) from = g.operand(n, k), ++count;
      if (count != 1 || from == none || reads_[from] != 1 || g.tensors[from].base != none) continue;
      std::int32_t const p = g.tensors[from].producer;
      if (p == none || g.nodes[p].op->kind != operation_kind::elementwise || g.nodes[p].region != n.region ||
          forward[p] != forward[i] || next[p] != none)
        continue;
      box[i] = box[p];
      next[p] = i;
    }
  }
};

} // namespace detail::dots
} // namespace cotangent

#endif
