// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_GRAPH_PIECE_WRITERS_HPP
#define COTANGENT_GRAPH_PIECE_WRITERS_HPP

#include <cotangent/graph/window_index.hpp>

#include <cstdint>

// Tensors that several nodes write, each through a view: the writers of each part, and the order of nodes.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The writers of each root in pieces: nodes by the window of their result, to be found by overlap.
class piece_writers {
  array<std::int32_t> number_; // by symbol: the index of a root with writers, into the arrays below
  array<window_index> index_;
  array<array<std::int32_t>> nodes_; // by root, by window in its index

  // (Precedes its caller: clang evaluates as soon as it has read the class.)
  template <class Visit> static constexpr void each_piece(graph_view const& g, Visit visit) {
    for (std::int32_t i = 0; i < g.node_count; ++i) {
      node const& n = g.nodes[i];
      for (int k = 0; k < n.result_count; ++k)
        if (symbol const y = g.result(n, k); y != none && g.tensors[y].base != none) visit(i, y);
    }
  }

public:
  constexpr explicit piece_writers(graph_view const& g) {
    array<std::int32_t> count;
    each_piece(g, [&](std::int32_t, symbol y) {
      symbol const root = g.tensors[y].base;
      if (number_.empty()) number_.assign(g.tensor_count, none);
      if (number_[root] == none) number_[root] = count.push(0);
      ++count[number_[root]];
    });
    int const roots = count.size();
    array<array<tensor_window>> windows(roots);
    nodes_.resize(roots);
    for (int r = 0; r < roots; ++r) {
      nodes_[r].reserve(count[r]);
      windows[r].reserve(count[r]);
    }
    each_piece(g, [&](std::int32_t i, symbol y) {
      std::int32_t const r = number_[g.tensors[y].base];
      nodes_[r].push(i);
      windows[r].push(window_of(g, y));
    });
    index_.resize(roots);
    for (symbol t = 0; t < number_.size(); ++t)
      if (std::int32_t const r = number_[t]; r != none)
        index_[r] = window_index(g.shape(t), static_cast<array<tensor_window>&&>(windows[r]));
  }

  constexpr int roots() const noexcept { return index_.size(); }
  /// none if a root is not written in pieces.
  constexpr std::int32_t of(symbol root) const noexcept { return number_.empty() ? none : number_[root]; }
  constexpr window_index const& index(std::int32_t r) const noexcept { return index_[r]; }
  constexpr std::int32_t node_of(std::int32_t r, std::int32_t window) const noexcept {
    return nodes_[r][window];
  }
};

/// Calls `whole(producer)` or `pieces(root index, window)` for the writers of an operand.
template <class Whole, class Pieces>
constexpr void sources_of(graph_view const& g, piece_writers const& w, symbol x, Whole whole, Pieces pieces) {
  if (x == none) return;
  symbol const root = g.tensors[x].base == none ? x : g.tensors[x].base;
  if (g.tensors[root].producer != none) whole(g.tensors[root].producer);
  else if (w.of(root) != none) pieces(w.of(root), window_of(g, x));
}

/// The first node that reads what a later node writes; none if the nodes are in a valid order.
constexpr std::int32_t first_out_of_order(graph_view const& g, piece_writers const& writers) {
  array<array<std::int32_t>> latest(writers.roots()); // by cell
  for (int r = 0; r < writers.roots(); ++r) {
    window_index const& index = writers.index(r);
    latest[r].assign(index.cells(), none);
    for (int c = index.cells() - 1; c >= 0; --c) {
      if (!index.is_cell(c)) continue;
      if (index.is_leaf(c)) {
        latest[r][c] = writers.node_of(r, index.window_in(c));
        continue;
      }
      std::int32_t const a = latest[r][2 * c + 1], b = latest[r][2 * c + 2];
      latest[r][c] = a > b ? a : b;
    }
  }
  for (std::int32_t i = 0; i < g.node_count; ++i) {
    bool fine = true;
    for (int k = 0; k < g.nodes[i].operand_count && fine; ++k)
      sources_of(
          g, writers, g.operand(g.nodes[i], k), [&](std::int32_t p) { fine = p < i; },
          [&](std::int32_t r, tensor_window const& w) {
            writers.index(r).visit(
                writers.index(r).ask(w),
                [&](std::int32_t c, bool surely) {
                  if (surely && latest[r][c] >= i) fine = false;
                  return !fine || latest[r][c] < i;
                },
                [&](std::int32_t) { fine = false; });
          });
    if (!fine) return i;
  }
  return none;
}

/// True if the nodes are in a valid order.
constexpr bool in_order(graph_view const& g) {
  bool views = false;
  for (std::int32_t i = 0; i < g.node_count; ++i) {
    node const& n = g.nodes[i];
    for (int k = 0; k < n.operand_count; ++k)
      if (symbol const x = g.operand(n, k); x != none && g.tensors[x].producer >= i) return false;
    for (int k = 0; k < n.operand_count && !views; ++k)
      if (symbol const x = g.operand(n, k); x != none) views = g.tensors[x].base != none;
    for (int k = 0; k < n.result_count && !views; ++k)
      if (symbol const y = g.result(n, k); y != none) views = g.tensors[y].base != none;
  }
  return !views || detail::first_out_of_order(g, detail::piece_writers(g)) == none;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
