// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_VIEWS_COVERAGE_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_VIEWS_COVERAGE_HPP

#include <cotangent/graph/order.hpp>
#include <cotangent/transform/differentiate/views/union_of_boxes.hpp>

#include <cstdint>

// Finds tensors with unassigned elements that are read: those elements are zero, so executions must clear
// them first. At worst a tensor is cleared needlessly, never the reverse.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// True if these windows together contain every element of another one. Exact for disjoint windows, for boxes
/// of up to two axes, and for up to 2^24 cells or elements otherwise; beyond that, false.
constexpr bool covers(dimensions const& of, array<tensor_window> const& pieces, tensor_window const& all) {
  if (!all.known || !numbers_only(of)) return false;
  element_set const wanted(all);
  if (wanted.empty) return true;
  if (pieces.empty()) return false;
  array<tensor_window> together;
  together.reserve(pieces.size() + 1);
  for (tensor_window const& w : pieces) together.push(w);
  together.push(all); // so that the grid fits both
  window_index const index(of, static_cast<array<tensor_window>&&>(together));
  element_grid const& grid = index.grid();
  array<grid_box> boxes;
  boxes.reserve(pieces.size());
  grid_box over, box;
  bool regular = holds_twice(all) == answer::no && box_on(grid, wanted, over), solid = regular;
  for (int k = 0; k < grid.rank; ++k) solid = solid && over.axis[k].solid();
  for (tensor_window const& w : pieces) {
    if (!w.known) return false;
    element_set const s(w);
    if (s.empty || s.last < wanted.first || wanted.last < s.first) continue;
    regular = regular && box_on(grid, s, box);
    if (!regular) return covers_elements(pieces, wanted);
    for (int k = 0; k < grid.rank; ++k) {
      box.axis[k] = meet(box.axis[k], over.axis[k]);
      solid = solid && box.axis[k].solid();
      if (box.axis[k].count == 0) box.axis[0].count = 0;
    }
    if (grid.rank == 0 || box.axis[0].count > 0) boxes.push(box);
  }
  if (boxes.empty()) return false;
  std::int64_t total = 0;
  for (grid_box const& b : boxes) total += volume(b, grid.rank);
  std::int64_t const needed = volume(over, grid.rank);
  if (total < needed) return false;
  if (are_disjoint(of, grid, boxes)) return total == needed;
  return solid ? union_covers(boxes, over, grid.rank) : covers_elements(pieces, wanted);
}

/// The assigned elements of each root, and whether all elements that are read are assigned.
class coverage {
  graph_view const& g_;
  piece_writers writers_;
  array<array<std::int64_t>> inside_; // by root, by cell: elements of its pieces
  array<bool> whole_;                 // by root: everything is assigned
  array<bool> exact_;                 // by root: the pieces are disjoint boxes
  array<array<std::int32_t>>
      tables_; // by root: elements assigned before each corner of the grid, if that is small

public:
  constexpr explicit coverage(graph_view const& g)
      : g_(g), writers_(g), inside_(writers_.roots()), tables_(writers_.roots()) {
    for (int r = 0; r < writers_.roots(); ++r) look_at(r);
  }
  constexpr bool has_pieces(symbol root) const { return writers_.of(root) != none; }

  /// True if every element of a symbol is an input's or assigned by a node.
  constexpr bool covered(symbol t) const {
    symbol const root = g_.tensors[t].base == none ? t : g_.tensors[t].base;
    if (g_.tensors[root].producer != none || is_input(root)) return true;
    std::int32_t const r = writers_.of(root);
    tensor_window const w = window_of(g_, t);
    if (r == none) return w.known && w.count() == 0;
    if (whole_[r]) return true;
    window_index const& index = writers_.index(r);
    window_index::question const q = index.ask(w);
    if (q.empty) return true;
    if (!exact_[r] || !q.solid) return covers(g_.shape(root), all_of(index), w);
    std::int64_t needed = 1, found = 0;
    for (int k = 0; k < index.grid().rank; ++k) needed *= q.high[k] - q.low[k] + 1;
    if (!tables_[r].empty()) return in_table(r, q) == needed;
    index.visit(
        q,
        [&](std::int32_t c, bool) {
          if (!index.inside(q, c)) return false;
          found += inside_[r][c];
          return true;
        },
        [&](std::int32_t i) { found += shared(index, q, i); });
    return found == needed;
  }

private:
  constexpr bool is_input(symbol root) const {
    region const& at = g_.regions[g_.tensors[root].region];
    for (int k = 0; k < at.input_count; ++k)
      if (g_.ids[at.first_input + k] == root) return true;
    return false;
  }
  static constexpr array<tensor_window> all_of(window_index const& index) {
    array<tensor_window> all;
    for (int i = 0; i < index.size(); ++i) all.push(index.window(i));
    return all;
  }
  /// The number of elements common to a question and a box.
  static constexpr std::int64_t shared(window_index const& index, window_index::question const& q,
                                       std::int32_t i) {
    grid_box b;
    std::int64_t n = 1;
    if (!box_on(index.grid(), element_set(index.window(i)), b)) return 0;
    for (int k = 0; k < index.grid().rank; ++k)
      n *= meet(b.axis[k], progression{q.low[k], 1, q.high[k] - q.low[k] + 1}).count;
    return n;
  }
  /// Prefix sums over all corners, so that every box costs the same.
  constexpr void make_table(int r, std::int64_t elements) {
    window_index const& index = writers_.index(r);
    element_grid const& g = index.grid();
    array<std::int32_t>& t = tables_[r];
    t.assign(static_cast<int>(elements), 0);
    std::int64_t step[max_rank]{}, n = 1;
    for (int k = g.rank - 1; k >= 0; n *= g.size[k--]) step[k] = n;
    for (int i = 0; i < index.size(); ++i) {
      element_set const piece(index.window(i));
      if (piece.empty) continue;
      grid_box b;
      (void)box_on(g, piece, b);
      tensor_window w;
      w.rank = g.rank;
      for (int k = 0; k < g.rank; ++k) {
        w.offset += b.axis[k].first * step[k];
        w.size[k] = b.axis[k].count;
        w.stride[k] = b.axis[k].step * step[k];
      }
      (void)element_set(w).all([&](std::int64_t e) { return t[static_cast<int>(e)] = 1; });
    }
    for (int k = 0; k < g.rank; ++k)
      for (std::int64_t e = step[k]; e < elements; ++e)
        if (e / step[k] % g.size[k] != 0) t[static_cast<int>(e)] += t[static_cast<int>(e - step[k])];
  }
  constexpr std::int64_t in_table(int r, window_index::question const& q) const {
    element_grid const& g = writers_.index(r).grid();
    std::int64_t total = 0;
    for (int corner = 0; corner < 1 << g.rank; ++corner) {
      std::int64_t at = 0;
      int sign = 1;
      bool before = false;
      for (int k = 0; k < g.rank; ++k) {
        bool const low = (corner >> k & 1) != 0;
        std::int64_t const x = low ? q.low[k] - 1 : q.high[k];
        before = before || x < 0;
        at = at * g.size[k] + x;
        if (low) sign = -sign;
      }
      if (!before) total += sign * tables_[r][static_cast<int>(at)];
    }
    return total;
  }
  constexpr void look_at(int r) {
    window_index const& index = writers_.index(r);
    array<std::int64_t> sum(index.cells());
    bool exact = true;
    std::int64_t elements = 1;
    for (int k = 0; k < index.grid().rank; ++k) elements *= index.grid().size[k];
    for (int c = index.cells() - 1; c >= 0; --c) {
      if (!index.is_cell(c)) continue;
      if (!index.is_leaf(c)) {
        sum[c] = sum[2 * c + 1] + sum[2 * c + 2];
        continue;
      }
      tensor_window const& w = index.window(index.window_in(c));
      grid_box b;
      exact = exact && w.known && box_on(index.grid(), element_set(w), b);
      sum[c] = w.known ? w.count() : 0;
    }
    exact = exact && share_nothing(index);
    exact_.push(exact);
    whole_.push(exact && index.is_cell(0) && sum[0] == elements);
    if (exact && !whole_[r] && elements <= most_cells && elements <= 64 * index.size())
      make_table(r, elements);
    inside_[r] = static_cast<array<std::int64_t>&&>(sum);
    if (!exact && index.size() > 0) {
      symbol const root = index.window(0).root;
      whole_[r] = covers(g_.shape(root), all_of(index), window_of(g_, root));
    }
  }
};

/// True if every element of a symbol is an input's or assigned by a node.
constexpr bool covered(graph_view const& g, symbol t) { return detail::coverage(g).covered(t); }

/// By symbol: true if unassigned elements of this tensor are read, so that executions must clear it.
///
/// Cost: n log n, also for a tensor that is written and read through many views.
/// Checked: tests/runtime/coverage.cpp.
constexpr array<bool> zero_filled(graph_view const& g) {
  detail::coverage const pieces(g);
  array<bool> zero(g.tensor_count), known(g.tensor_count);
  auto const read = [&](symbol t) {
    if (t == none || known[t]) return;
    known[t] = true;
    symbol const root = g.tensors[t].base == none ? t : g.tensors[t].base;
    if (g.tensors[root].producer != none || !pieces.has_pieces(root) || zero[root]) return;
    zero[root] = !pieces.covered(t);
  };
  for (std::int32_t i = 0; i < g.node_count; ++i)
    for (int k = 0; k < g.nodes[i].operand_count; ++k) read(g.operand(g.nodes[i], k));
  for (std::int32_t r = 0; r < g.region_count; ++r)
    for (int k = 0; k < g.output_count(r); ++k) read(g.output(k, r));
  return zero;
}
constexpr bool zero_filled(graph_view const& g, symbol root) { return zero_filled(g)[root]; }

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
