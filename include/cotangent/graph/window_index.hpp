// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_GRAPH_WINDOW_INDEX_HPP
#define COTANGENT_GRAPH_WINDOW_INDEX_HPP

#include <cotangent/graph/window.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Merge sort, in place; `before(a, b)` must be an order.
template <class T, class Before> constexpr void sort(T* x, int n, Before before) {
  array<T> other(n);
  T *from = x, *to = other.data();
  for (int width = 1; width < n; width *= 2) {
    for (int low = 0; low < n; low += 2 * width) {
      int const middle = low + width < n ? low + width : n, high = low + 2 * width < n ? low + 2 * width : n;
      int a = low, b = middle;
      for (int k = low; k < high; ++k)
        to[k] = b >= high || (a < middle && !before(from[b], from[a])) ? from[a++] : from[b++];
    }
    T* const kept = from;
    from = to;
    to = kept;
  }
  if (from != x)
    for (int k = 0; k < n; ++k) x[k] = from[k];
}

/// A bounding-volume hierarchy of windows on one tensor: finds the windows that overlap a given one without
/// visiting all. The tree is a heap: the cells inside cell c are 2 c + 1 and 2 c + 2.
class window_index {
  dimensions of_;
  element_grid grid_;
  array<tensor_window> windows_;
  array<bool> solid_; // by window: a box of the grid without gaps
  array<std::int64_t>
      bounds_; // by index in order_, while it is built: lowest and highest position along each axis
  array<std::int32_t> order_;        // the windows in the order of the tree
  array<std::int32_t> first_, last_; // by cell, into order_
  array<std::int32_t> leaf_;         // by window
  array<std::int64_t> around_; // by cell, for each axis: lowest low, highest high, highest low, lowest high
  array<bool> sure_;           // by cell: all its windows are solid

public:
  /// A query: a window with its bounds.
  struct question {
    tensor_window window;
    bool solid = false, empty = false;
    std::int64_t low[max_rank]{}, high[max_rank]{};
  };

  constexpr window_index() = default;
  constexpr window_index(dimensions const& of, array<tensor_window> windows)
      : of_(of), windows_(static_cast<array<tensor_window>&&>(windows)) {
    choose_grid();
    int const n = windows_.size(), rank = grid_.rank;
    solid_.resize(n);
    bounds_.resize(2 * rank * n);
    order_.reserve(n);
    leaf_.assign(n, none);
    for (int i = 0; i < n; ++i) {
      question const q = ask(windows_[i]);
      solid_[i] = q.solid;
      if (q.empty) continue;
      std::int64_t* const b = bounds_.data() + 2 * rank * order_.push(i);
      for (int k = 0; k < rank; ++k) {
        b[2 * k] = q.low[k];
        b[2 * k + 1] = q.high[k];
      }
    }
    build();
    bounds_ = {};
  }

  constexpr int size() const noexcept { return windows_.size(); }
  constexpr tensor_window const& window(int i) const noexcept { return windows_[i]; }
  constexpr element_grid const& grid() const noexcept { return grid_; }
  constexpr bool solid(int i) const noexcept { return solid_[i]; }
  /// The cell of this window alone; none for an empty one.
  constexpr std::int32_t leaf(int i) const noexcept { return leaf_[i]; }
  constexpr int cells() const noexcept { return first_.size(); }
  constexpr bool is_cell(int c) const noexcept { return c < first_.size() && last_[c] > first_[c]; }
  constexpr bool is_leaf(int c) const noexcept { return last_[c] - first_[c] == 1; }
  constexpr std::int32_t window_in(int leaf) const noexcept { return order_[first_[leaf]]; }

  /// True if all windows of a cell lie within the query.
  constexpr bool inside(question const& q, std::int32_t c) const {
    std::int64_t const* b = around_.data() + 4 * grid_.rank * c;
    bool in = q.solid;
    for (int k = 0; k < grid_.rank && in; ++k, b += 4) in = b[0] >= q.low[k] && b[1] <= q.high[k];
    return in;
  }

  constexpr question ask(tensor_window const& w) const {
    question q;
    q.window = w;
    element_set const s(w);
    q.empty = w.known && s.empty;
    for (int k = 0; k < grid_.rank; ++k) q.high[k] = grid_.size[k] - 1;
    if (!w.known || s.empty) return q;
    grid_box b;
    if (box_on(grid_, s, b)) {
      q.solid = true;
      for (int k = 0; k < grid_.rank; ++k) {
        q.low[k] = b.axis[k].first;
        q.high[k] = b.axis[k].last();
        q.solid = q.solid && b.axis[k].solid();
      }
    } else { // along the first axes on which it begins and ends at different positions
      for (int k = 0; k < grid_.rank; ++k) {
        q.low[k] = s.first / grid_.stride[k] % grid_.size[k];
        q.high[k] = s.last / grid_.stride[k] % grid_.size[k];
        if (q.low[k] != q.high[k]) break;
      }
    }
    return q;
  }

  /// Visits the overlaps of `q`. It first calls `cell(c, all)`, where `all` means that every window in the
  /// cell certainly overlaps; true skips the cell. It then calls `found(i)` for each window that overlaps, or
  /// may do so.
  template <class Cell, class Found> constexpr void visit(question const& q, Cell cell, Found found) const {
    if (q.empty || !is_cell(0)) return;
    std::int32_t stack[80]{};
    int depth = 1;
    while (depth > 0) {
      std::int32_t const c = stack[--depth];
      bool all = q.solid && sure_[c];
      if (!meets(q, c, all) || cell(c, all)) continue;
      if (is_leaf(c)) {
        std::int32_t const i = order_[first_[c]];
        if (all || cotangent::detail::overlap(of_, q.window, windows_[i]) != answer::no) found(i);
        continue;
      }
      stack[depth++] = 2 * c + 2;
      stack[depth++] = 2 * c + 1;
    }
  }

private:
  constexpr bool meets(question const& q, std::int32_t c, bool& all) const {
    std::int64_t const* b = around_.data() + 4 * grid_.rank * c;
    for (int k = 0; k < grid_.rank; ++k, b += 4) {
      if (q.high[k] < b[0] || q.low[k] > b[1]) return false;
      if (q.high[k] < b[2] || q.low[k] > b[3]) all = false;
    }
    return true;
  }

  constexpr void choose_grid() {
    if (!numbers_only(of_) || elements_of(of_) == 0) return; // unknown or empty
    element_grid const own = element_grid(of_);
    stride_chain chain;
    bool on_own = true;
    for (int i = 0; i < windows_.size(); ++i) {
      if (!windows_[i].known) continue;
      element_set const s(windows_[i]);
      grid_box b;
      if (s.empty) continue;
      on_own = on_own && box_on(own, s, b);
      if (chain.fits) chain.add(s);
    }
    grid_ = without_ones(own);
    if (on_own || !chain.fits) return;
    element_grid const other = chain.grid(elements_of(of_));
    if (!chain.fits) return;
    for (int i = 0; i < windows_.size(); ++i) {
      grid_box b;
      if (windows_[i].known)
        if (element_set const s(windows_[i]); !s.empty && !box_on(other, s, b)) return;
    }
    grid_ = other;
  }
  static constexpr element_grid without_ones(element_grid const& from) {
    element_grid g;
    for (int k = 0; k < from.rank; ++k)
      if (from.size[k] != 1) {
        g.size[g.rank] = from.size[k];
        g.stride[g.rank++] = from.stride[k];
      }
    return g;
  }

  constexpr void build() {
    int const n = order_.size();
    if (n == 0) return;
    int cells = 1;
    while (cells < n) cells *= 2;
    cells = 2 * cells - 1;
    first_.resize(cells);
    last_.resize(cells);
    sure_.resize(cells);
    around_.resize(4 * grid_.rank * cells);
    last_[0] = n;
    for (std::int32_t c = 0; c < cells; ++c) {
      if (last_[c] <= first_[c]) continue;
      surround(c);
      if (is_leaf(c)) {
        leaf_[order_[first_[c]]] = c;
        continue;
      }
      int const middle = first_[c] + (last_[c] - first_[c] + 1) / 2;
      divide(c, middle);
      first_[2 * c + 1] = first_[c];
      last_[2 * c + 1] = first_[2 * c + 2] = middle;
      last_[2 * c + 2] = last_[c];
    }
  }
  constexpr std::int64_t twice_center(int place, int k) const {
    std::int64_t const* const b = bounds_.data() + 2 * (grid_.rank * place + k);
    return b[0] + b[1];
  }
  constexpr void exchange(int i, int j) {
    if (i == j) return;
    std::int32_t const kept = order_[i];
    order_[i] = order_[j];
    order_[j] = kept;
    std::int64_t *a = bounds_.data() + 2 * grid_.rank * i, *b = bounds_.data() + 2 * grid_.rank * j;
    for (int k = 0; k < 2 * grid_.rank; ++k) {
      std::int64_t const bound = a[k];
      a[k] = b[k];
      b[k] = bound;
    }
  }
  constexpr void surround(std::int32_t c) {
    bool sure = true;
    for (int j = first_[c]; j < last_[c] && sure; ++j) sure = solid_[order_[j]];
    sure_[c] = sure;
    std::int64_t* a = around_.data() + 4 * grid_.rank * c;
    for (int k = 0; k < grid_.rank; ++k, a += 4) {
      std::int64_t const* b = bounds_.data() + 2 * (grid_.rank * first_[c] + k);
      std::int64_t low = b[0], high = b[1], last_low = low, first_high = high;
      for (int j = first_[c] + 1; j < last_[c]; ++j) {
        b += 2 * grid_.rank;
        if (b[0] < low) low = b[0];
        if (b[1] > high) high = b[1];
        if (b[0] > last_low) last_low = b[0];
        if (b[1] < first_high) first_high = b[1];
      }
      a[0] = low;
      a[1] = high;
      a[2] = last_low;
      a[3] = first_high;
    }
  }
  /// True if the windows of a cell are sorted along an axis; stops at the first that is not.
  constexpr bool in_order(std::int32_t c, int axis) const {
    for (int j = first_[c] + 1; j < last_[c]; ++j)
      if (twice_center(j, axis) < twice_center(j - 1, axis)) return false;
    return true;
  }
  /// Partitions the windows of a cell at a position in `order_`, along the axis on which they are most
  /// spread.
  constexpr void divide(std::int32_t c, int middle) {
    int axis = 0;
    std::int64_t most = -1;
    std::int64_t const* of = around_.data() + 4 * grid_.rank * c;
    for (int k = 0; k < grid_.rank; ++k, of += 4) {
      std::int64_t const apart = (of[2] - of[0]) + (of[1] - of[3]); // of the lows and of the highs
      if (apart > most) most = apart, axis = k;
    }
    if (most <= 0 || in_order(c, axis)) return;
    int low = first_[c],
        high = last_[c] - 1; // quickselect with the median of three, so that sorted input is no worst case
    while (low < high) {
      std::int64_t const a = twice_center(low, axis), b = twice_center(low + (high - low) / 2, axis),
                         d = twice_center(high, axis);
      std::int64_t const pivot = a < b ? (b < d ? b : a < d ? d : a) : (a < d ? a : b < d ? d : b);
      int i = low, j = high;
      while (i <= j) {
        while (twice_center(i, axis) < pivot) ++i;
        while (twice_center(j, axis) > pivot) --j;
        if (i > j) break;
        exchange(i++, j--);
      }
      if (middle <= j) high = j;
      else if (middle >= i) low = i;
      else break;
    }
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
