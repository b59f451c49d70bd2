// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_VIEWS_UNION_OF_BOXES_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_VIEWS_UNION_OF_BOXES_HPP

#include <cotangent/graph/window_index.hpp>

#include <cstdint>

// Decides whether boxes, which may overlap, together fill another box.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

inline constexpr std::int64_t most_cells = std::int64_t{1} << 24;

constexpr std::int64_t volume(grid_box const& b, int rank) noexcept {
  std::int64_t n = 1;
  for (int k = 0; k < rank; ++k) n *= b.axis[k].count;
  return n;
}
/// A box of a grid as elements of the tensor.
constexpr tensor_window window_of(element_grid const& g, grid_box const& box, symbol root) {
  tensor_window w;
  w.root = root;
  w.rank = g.rank;
  for (int k = 0; k < g.rank; ++k) {
    w.offset += box.axis[k].first * g.stride[k];
    w.size[k] = box.axis[k].count;
    w.stride[k] = box.axis[k].step * g.stride[k];
  }
  return w;
}

/// True if all windows of an index are disjoint.
constexpr bool share_nothing(window_index const& index) {
  bool apart = true;
  for (int i = 0; i < index.size() && apart; ++i)
    index.visit(
        index.ask(index.window(i)),
        [&](std::int32_t c, bool all) {
          if (all && !index.is_leaf(c)) apart = false;
          return !apart;
        },
        [&](std::int32_t j) { apart = apart && j == i; });
  return apart;
}
constexpr bool are_disjoint(dimensions const& of, element_grid const& g, array<grid_box> const& boxes) {
  array<tensor_window> windows;
  windows.reserve(boxes.size());
  for (grid_box const& b : boxes) windows.push(window_of(g, b, 0));
  return share_nothing(window_index(of, static_cast<array<tensor_window>&&>(windows)));
}

/// Decides element by element.
constexpr bool covers_elements(array<tensor_window> const& pieces, element_set const& wanted) {
  std::int64_t const span = wanted.last - wanted.first + 1;
  std::int64_t work = 0;
  for (tensor_window const& w : pieces) work += element_set(w).count();
  if (span > most_cells || work > 4 * most_cells) return false;
  array<bool> has(static_cast<int>(span));
  for (tensor_window const& w : pieces)
    (void)element_set(w).all([&](std::int64_t e) {
      if (e >= wanted.first && e <= wanted.last) has[static_cast<int>(e - wanted.first)] = true;
      return true;
    });
  return wanted.all([&](std::int64_t e) { return has[static_cast<int>(e - wanted.first)]; });
}

/// A segment tree of counts: ranges are added, the minimum is queried.
class cover_counts {
  array<std::int32_t> added_,
      least_; // by tree node: added to all below it; the minimum below, including this
  int size_ = 1;

public:
  constexpr explicit cover_counts(int places) {
    while (size_ < places) size_ *= 2;
    added_.assign(2 * size_, 0);
    least_.assign(2 * size_, 0);
    for (int k = places; k < size_; ++k) least_[size_ + k] = 1 << 30; // nonexistent position
    for (int k = size_ - 1; k > 0; --k) update(k);
  }
  constexpr void add(int low, int high, int by) { // [low, high)
    int l = low + size_, h = high + size_;
    int const first = l, last = h - 1;
    for (; l < h; l /= 2, h /= 2) {
      if ((l & 1) != 0) apply(l++, by);
      if ((h & 1) != 0) apply(--h, by);
    }
    for (int k = first / 2; k > 0; k /= 2) update(k);
    for (int k = last / 2; k > 0; k /= 2) update(k);
  }
  constexpr int least() const { return least_[1]; }

private:
  constexpr void apply(int k, int by) {
    added_[k] += by;
    least_[k] += by;
  }
  constexpr void update(int k) {
    int const below = least_[2 * k] < least_[2 * k + 1] ? least_[2 * k] : least_[2 * k + 1];
    least_[k] = below + added_[k];
  }
};

/// The coordinates at which boxes begin or end along an axis, ascending.
constexpr array<std::int64_t> cuts_along(array<grid_box> const& boxes, grid_box const& over, int axis) {
  array<std::int64_t> all;
  all.push(over.axis[axis].first);
  all.push(over.axis[axis].last() + 1);
  for (grid_box const& b : boxes) {
    all.push(b.axis[axis].first);
    all.push(b.axis[axis].last() + 1);
  }
  sort(all.data(), all.size(), [](std::int64_t x, std::int64_t y) { return x < y; });
  int n = 0;
  for (int k = 0; k < all.size(); ++k)
    if (k == 0 || all[k] != all[n - 1]) all[n++] = all[k];
  all.resize(n);
  return all;
}
constexpr int place_of(array<std::int64_t> const& cuts, std::int64_t x) {
  int low = 0, high = cuts.size();
  while (low < high) {
    int const middle = (low + high) / 2;
    if (cuts[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/// For boxes without gaps inside `over`: a sweep along the first axis for up to two axes, cells between cuts
/// for more.
constexpr bool union_covers(array<grid_box> const& boxes, grid_box const& over, int rank) {
  if (rank == 0) return boxes.size() > 0;
  if (rank <= 2) {
    array<std::int64_t> cuts;
    if (rank == 2) cuts = cuts_along(boxes, over, 1);
    else cuts.push(0), cuts.push(1);
    struct event {
      std::int64_t at;
      std::int32_t box, by;
    };
    array<event> events;
    for (int i = 0; i < boxes.size(); ++i) {
      events.push({boxes[i].axis[0].first, i, 1});
      events.push({boxes[i].axis[0].last() + 1, i, -1});
    }
    sort(events.data(), events.size(), [](event const& x, event const& y) { return x.at < y.at; });
    cover_counts counts(cuts.size() - 1);
    std::int64_t at = over.axis[0].first;
    for (int k = 0; k < events.size();) {
      if (events[k].at > at && counts.least() == 0) return false;
      for (at = events[k].at; k < events.size() && events[k].at == at; ++k) {
        progression const p = rank == 2 ? boxes[events[k].box].axis[1] : progression{};
        counts.add(place_of(cuts, p.first), place_of(cuts, p.last() + 1), events[k].by);
      }
    }
    return at > over.axis[0].last();
  }
  array<std::int64_t> cuts[max_rank];
  std::int64_t cells = 1, step[max_rank]{};
  for (int k = rank - 1; k >= 0; --k) {
    cuts[k] = cuts_along(boxes, over, k);
    step[k] = cells;
    cells *= cuts[k].size(); // one per cut: the last cut ends the last range
    if (cells > most_cells) return false;
  }
  array<std::int32_t> count(static_cast<int>(cells));
  for (grid_box const& b : boxes)
    for (int corner = 0; corner < 1 << rank; ++corner) {
      std::int64_t at = 0;
      int sign = 1;
      for (int k = 0; k < rank; ++k) {
        bool const end = (corner >> k & 1) != 0;
        at += step[k] * place_of(cuts[k], end ? b.axis[k].last() + 1 : b.axis[k].first);
        if (end) sign = -sign;
      }
      count[static_cast<int>(at)] += sign;
    }
  for (int k = 0; k < rank; ++k)
    for (std::int64_t i = 0; i < cells; ++i)
      if (i / step[k] % cuts[k].size() != 0)
        count[static_cast<int>(i)] += count[static_cast<int>(i - step[k])];
  for (std::int64_t i = 0; i < cells; ++i) {
    bool real = true;
    for (int k = 0; k < rank; ++k) real = real && i / step[k] % cuts[k].size() != cuts[k].size() - 1;
    if (real && count[static_cast<int>(i)] == 0) return false;
  }
  return true;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
