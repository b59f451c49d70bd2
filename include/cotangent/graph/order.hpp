// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_GRAPH_ORDER_HPP
#define COTANGENT_GRAPH_ORDER_HPP

#include <cotangent/core/heap.hpp>
#include <cotangent/graph/piece_writers.hpp>

#include <cstdint>

// A graph defines dependencies, not an order. This finds a valid order: every reader of an element after the
// one node that assigns it.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// One node that must run before another.
struct dependency {
  std::int32_t before = none, after = none;
  friend constexpr bool operator==(dependency const&, dependency const&) = default;
};

/// Nodes in a valid order; false if there is none.
struct ordering {
  array<std::int32_t> nodes;
  std::int32_t cycle = none; // a node on a cycle

  constexpr explicit operator bool() const noexcept { return cycle == none; }
};

/// The node of region `to` that an inner node belongs to: itself, or one that runs it; none if it is not
/// inside.
constexpr std::int32_t in_region(graph_view const& g, std::int32_t n, std::int32_t to) {
  while (n != none && g.nodes[n].region != to) n = g.regions[g.nodes[n].region].owner;
  return n;
}

class order_search {
  graph_view const& g_;
  piece_writers writers_;
  array<std::int32_t> head_, next_, target_; // successors of each vertex: nodes, then the cells of each root
  array<std::int32_t> missing_;              // by vertex: the number of missing predecessors
  array<std::int32_t> cells_of_;             // by root: its first cell as a vertex

public:
  constexpr explicit order_search(graph_view const& g) : g_(g), writers_(g) {
    int vertices = g.node_count;
    for (int r = 0; r < writers_.roots(); ++r) {
      cells_of_.push(vertices);
      vertices += writers_.index(r).cells();
    }
    head_.assign(vertices, none);
    missing_.assign(vertices, 0);
    for (int r = 0; r < writers_.roots(); ++r) { // a cell is ready when its inner cells are
      window_index const& index = writers_.index(r);
      for (int c = 1; c < index.cells(); ++c)
        if (index.is_cell(c)) add(cells_of_[r] + c, cells_of_[r] + (c - 1) / 2);
      for (int i = 0; i < index.size(); ++i)
        if (index.leaf(i) != none) add(writers_.node_of(r, i), cells_of_[r] + index.leaf(i));
    }
    for (std::int32_t i = 0; i < g.node_count; ++i) {
      node const& n = g.nodes[i];
      for (int k = 0; k < n.operand_count; ++k)
        sources_of(
            g_, writers_, g.operand(n, k), [&](std::int32_t p) { wait(p, i); },
            [&](std::int32_t r, tensor_window const& w) {
              window_index const& index = writers_.index(r);
              std::int32_t const cells = cells_of_[r];
              index.visit(
                  index.ask(w),
                  [&](std::int32_t c, bool surely) {
                    if (surely) wait(cells + c, i);
                    return surely;
                  },
                  [&](std::int32_t v) { wait(cells + index.leaf(v), i); });
            });
    }
  }
  constexpr void add(std::int32_t before, std::int32_t after) {
    next_.push(head_[before]);
    head_[before] = target_.push(after);
    ++missing_[after];
  }

  constexpr ordering run() {
    ordering found;
    array<std::int32_t> ready, cells; // a heap, its smallest first; a stack
    for (std::int32_t i = 0; i < g_.node_count; ++i)
      if (missing_[i] == 0) heap_push(ready, i, before);
    while (!ready.empty()) {
      cells.push(heap_pop(ready, before));
      found.nodes.push(cells.back());
      while (!cells.empty())
        for (std::int32_t e = head_[cells.pop()]; e != none; e = next_[e]) {
          std::int32_t const after = target_[e];
          if (--missing_[after] != 0) continue;
          if (after < g_.node_count) heap_push(ready, after, before);
          else cells.push(after);
        }
    }
    if (found.nodes.size() != g_.node_count) found.cycle = on_cycle();
    return found;
  }

private:
  /// If a node inside a region reads an outer value, the node that runs the region waits too.
  constexpr void wait(std::int32_t before, std::int32_t reader) {
    add(before, reader);
    if (before >= g_.node_count || g_.nodes[before].region == g_.nodes[reader].region) return;
    std::int32_t const outer = in_region(g_, reader, g_.nodes[before].region);
    if (outer != none && outer != before) add(before, outer);
  }
  constexpr std::int32_t on_cycle() const {
    array<std::int32_t> waits_for(head_.size(), none);
    for (std::int32_t v = 0; v < head_.size(); ++v)
      if (missing_[v] > 0)
        for (std::int32_t e = head_[v]; e != none; e = next_[e])
          if (missing_[target_[e]] > 0) waits_for[target_[e]] = v;
    std::int32_t at = 0;
    while (missing_[at] == 0) ++at;
    for (int steps = 0; steps < head_.size() || at >= g_.node_count; ++steps) at = waits_for[at];
    return at;
  }
  static constexpr bool before(std::int32_t a, std::int32_t b) { return a < b; }
};

/// A valid order of the nodes, as close to the pool's order as possible: always the first ready node. A node
/// is ready after the nodes that assign elements it reads, and those that `extra` puts before it.
///
/// Cost: n log n, also for tensors that are written and read through many views.
/// Checked: tests/runtime/order.cpp, tests/static/views.cpp.
constexpr ordering order_of(graph_view const& g, dependency const* extra = nullptr, int extra_count = 0) {
  bool stands = true;
  for (int k = 0; k < extra_count; ++k) stands = stands && extra[k].before < extra[k].after;
  if (stands && in_order(g)) {
    ordering same;
    for (std::int32_t i = 0; i < g.node_count; ++i) same.nodes.push(i);
    return same;
  }
  detail::order_search search(g);
  for (int k = 0; k < extra_count; ++k) search.add(extra[k].before, extra[k].after);
  return search.run();
}

/// All data dependencies between nodes.
constexpr array<dependency> edges_of(graph_view const& g) {
  detail::piece_writers const writers(g);
  array<dependency> found;
  array<std::int32_t> seen(g.node_count, none); // by writer: the reader that was reported last
  for (std::int32_t i = 0; i < g.node_count; ++i) {
    auto const tell = [&](std::int32_t p) {
      if (seen[p] == i) return;
      seen[p] = i;
      found.push({p, i});
    };
    for (int k = 0; k < g.nodes[i].operand_count; ++k)
      detail::sources_of(g, writers, g.operand(g.nodes[i], k), tell,
                         [&](std::int32_t r, tensor_window const& w) {
                           writers.index(r).visit(
                               writers.index(r).ask(w), [](std::int32_t, bool) { return false; },
                               [&](std::int32_t v) { tell(writers.node_of(r, v)); });
                         });
  }
  return found;
}

/// The same graph with its nodes in that order.
constexpr graph reordered(graph_view const& g, ordering const& o) {
  graph to(g);
  array<std::int32_t> place(g.node_count);
  for (std::int32_t k = 0; k < o.nodes.size(); ++k) {
    to.nodes[k] = g.nodes[o.nodes[k]];
    place[o.nodes[k]] = k;
  }
  for (tensor_symbol& t : to.tensors)
    if (t.producer != none) t.producer = place[t.producer];
  for (region& r : to.regions)
    if (r.owner != none) r.owner = place[r.owner];
  return to;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
