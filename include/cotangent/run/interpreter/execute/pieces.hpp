// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_EXECUTE_PIECES_HPP
#define COTANGENT_RUN_INTERPRETER_EXECUTE_PIECES_HPP

#include <cotangent/graph/window_index.hpp>
#include <cotangent/run/interpreter/execute/layout.hpp>

#include <cstdint>

// Tensors that several nodes write, each through a view: the writers of each window.

namespace cotangent::detail::interpret {

class pieces {
  struct place {
    std::int32_t root = none, window = none; // index of a root written in pieces, and of the window on it
  };
  array<place> places_; // by symbol: a root has no window
  array<symbol> roots_;
  array<window_index> index_;
  array<array<symbol>> views_;       // by root, by window: the symbol that is written
  array<array<std::int32_t>> steps_; // the step that writes it

public:
  explicit pieces(graph_view const& g) {
    array<array<tensor_window>> windows;
    for (std::int32_t i = 0; i < g.node_count; ++i)
      for (int k = 0; k < g.nodes[i].result_count; ++k) {
        symbol const y = g.result(g.nodes[i], k);
        if (y == none || g.tensors[y].base == none) continue;
        if (places_.empty()) places_.resize(g.tensor_count);
        place& whole = places_[g.tensors[y].base];
        if (whole.root == none) {
          whole.root = roots_.push(g.tensors[y].base);
          views_.resize(roots_.size());
          steps_.resize(roots_.size());
          windows.resize(roots_.size());
        }
        places_[y] = {whole.root, views_[whole.root].push(y)};
        steps_[whole.root].push(none);
        windows[whole.root].push(window_of(g, y));
      }
    for (int r = 0; r < roots_.size(); ++r)
      index_.push(window_index(g.shape(roots_[r]), static_cast<array<tensor_window>&&>(windows[r])));
  }

  bool any() const noexcept { return !roots_.empty(); }
  int roots() const noexcept { return roots_.size(); }
  symbol root(int r) const noexcept { return roots_[r]; }
  /// The index of the root of a symbol or view; none if no node writes it in pieces.
  std::int32_t of(graph_view const& g, symbol t) const noexcept {
    return places_.empty() ? none : places_[g.tensors[t].base == none ? t : g.tensors[t].base].root;
  }

  void set_step(symbol view, std::int32_t step) { steps_[places_[view].root][places_[view].window] = step; }

  /// Visits the written views that overlap a window on root r, and the steps that write them.
  template <class Visit> void each_view(std::int32_t r, tensor_window const& w, Visit visit) const {
    index_[r].visit(
        index_[r].ask(w), [](std::int32_t, bool) { return false; },
        [&](std::int32_t v) { visit(views_[r][v], steps_[r][v]); });
  }
  template <class Visit> void each_view(std::int32_t r, strided const& v, Visit visit) const {
    tensor_window w;
    w.root = roots_[r];
    w.rank = v.rank;
    w.offset = v.offset;
    for (int k = 0; k < v.rank; ++k) {
      w.size[k] = v.size[k];
      w.stride[k] = v.stride[k];
    }
    each_view(r, w, visit);
  }
};

} // namespace cotangent::detail::interpret

#endif
