// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_GRAPH_WINDOW_BOXES_HPP
#define COTANGENT_GRAPH_WINDOW_BOXES_HPP

#include <cotangent/graph/graph.hpp>

#include <cstdint>

// The elements of a window: with the fewest strides, and as a box on a row-major grid.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Elements of a root tensor: the offset of the first one, and the size and stride of each axis, in elements
/// of the root.
struct tensor_window {
  symbol root = none;
  std::int32_t rank = 0;
  bool known =
      true; // false: some size is known at run time only; such a window overlaps everything
  std::int64_t offset = 0;
  std::int64_t size[max_rank]{};
  std::int64_t stride[max_rank]{};

  constexpr std::int64_t count() const noexcept {
    std::int64_t n = 1;
    for (int k = 0; k < rank; ++k) n *= size[k];
    return n;
  }
  friend constexpr bool operator==(tensor_window const& a, tensor_window const& b) noexcept {
    if (a.root != b.root || a.rank != b.rank || a.offset != b.offset || a.known != b.known) return false;
    for (int k = 0; k < a.rank; ++k)
      if (a.size[k] != b.size[k] || a.stride[k] != b.stride[k]) return false;
    return true;
  }
};

/// first, first + step, ...: `count` numbers, ascending.
struct progression {
  std::int64_t first = 0, step = 1, count = 1;

  constexpr std::int64_t last() const noexcept { return first + (count - 1) * step; }
  constexpr bool has(std::int64_t x) const noexcept {
    return x >= first && x <= last() && (x - first) % step == 0;
  }
  constexpr bool solid() const noexcept { return step == 1 || count == 1; }
  friend constexpr bool operator==(progression const& a, progression const& b) noexcept {
    return a.first == b.first && a.count == b.count && (a.step == b.step || a.count == 1);
  }
};

constexpr std::int64_t multiply_modulo(std::int64_t a, std::int64_t b, std::int64_t m) noexcept {
  std::int64_t r = 0;
  for (; b != 0; b >>= 1) {
    if ((b & 1) != 0) r = r >= m - a ? r - (m - a) : r + a;
    a = a >= m - a ? a - (m - a) : a + a;
  }
  return r;
}

/// The intersection of two progressions: a progression again, of count 0 if it is empty.
constexpr progression meet(progression const& a, progression const& b) noexcept {
  std::int64_t const low = a.first > b.first ? a.first : b.first;
  std::int64_t const high = a.last() < b.last() ? a.last() : b.last();
  if (low > high) return {low, 1, 0};
  if (a.count == 1) return {a.first, 1, b.has(a.first) ? 1 : 0};
  if (b.count == 1) return {b.first, 1, a.has(b.first) ? 1 : 0};
  // Bezout: old_r = gcd = old_s a.step (modulo b.step)
  std::int64_t old_r = a.step, r = b.step, old_s = 1, s = 0;
  while (r != 0) {
    std::int64_t const q = old_r / r, next_r = old_r - q * r, next_s = old_s - q * s;
    old_r = r, r = next_r, old_s = s, s = next_s;
  }
  std::int64_t const gcd = old_r, away = b.first - a.first, m = b.step / gcd;
  if (away % gcd != 0) return {low, 1, 0};
  auto const modulo = [m](std::int64_t x) { return x % m < 0 ? x % m + m : x % m; };
  std::int64_t const step = m * a.step; // the least common multiple
  std::int64_t first = a.first + multiply_modulo(modulo(away / gcd), modulo(old_s), m) * a.step;
  if (first < low) first += (low - first + step - 1) / step * step;
  else first -= (first - low) / step * step;
  return {first, step, first > high ? 0 : (high - first) / step + 1};
}

/// The same elements as a set: positive strides, the longest first, none of size 1, contiguous axes merged
/// where possible. Axes of stride 0 are dropped.
struct element_set {
  std::int32_t rank = 0;
  bool empty = false, repeats = false; // repeats: an axis of stride 0 was dropped
  std::int64_t first = 0, last = 0;
  std::int64_t size[max_rank]{};
  std::int64_t stride[max_rank]{};

  constexpr element_set() = default;
  constexpr explicit element_set(tensor_window const& w) : first(w.offset), last(w.offset) {
    for (int k = 0; k < w.rank; ++k) {
      if (w.size[k] == 0) empty = true;
      if (w.size[k] <= 1) continue;
      if (w.stride[k] == 0) {
        repeats = true;
        continue;
      }
      std::int64_t const s = w.stride[k] < 0 ? -w.stride[k] : w.stride[k], reach = (w.size[k] - 1) * s;
      if (w.stride[k] < 0) first -= reach;
      else last += reach;
      int at = rank++;
      for (; at > 0 && stride[at - 1] < s; --at) {
        stride[at] = stride[at - 1];
        size[at] = size[at - 1];
      }
      stride[at] = s;
      size[at] = w.size[k];
    }
    int n = 0;
    for (int k = 0; k < rank; ++k) {
      if (n > 0 && stride[n - 1] == stride[k] * size[k]) {
        size[n - 1] *= size[k];
        stride[n - 1] = stride[k];
      } else {
        stride[n] = stride[k];
        size[n++] = size[k];
      }
    }
    rank = n;
  }
  constexpr std::int64_t count() const noexcept {
    std::int64_t n = empty ? 0 : 1;
    for (int k = 0; k < rank; ++k) n *= size[k];
    return n;
  }
  /// True if each stride is longer than the extent of all inner axes: no element occurs twice, and lookup is
  /// direct.
  constexpr bool nested() const noexcept {
    std::int64_t inside = 0;
    for (int k = rank - 1; k >= 0; --k) {
      if (stride[k] <= inside) return false;
      inside += (size[k] - 1) * stride[k];
    }
    return true;
  }
  constexpr bool has(std::int64_t element) const noexcept { // of a nested set
    if (empty || element < first || element > last) return false;
    std::int64_t left = element - first;
    for (int k = 0; k < rank; ++k) {
      std::int64_t const at = left / stride[k];
      if (at >= size[k]) return false;
      left -= at * stride[k];
    }
    return left == 0;
  }
  /// Visits elements until `visit` returns false; true if it never did.
  template <class Visit> constexpr bool all(Visit visit) const {
    std::int64_t index[max_rank]{}, at = first;
    for (std::int64_t n = count(); n > 0; --n) {
      if (!visit(at)) return false;
      for (int k = rank - 1; k >= 0; --k) {
        at += stride[k];
        if (++index[k] < size[k]) break;
        at -= size[k] * stride[k];
        index[k] = 0;
      }
    }
    return true;
  }
};

/// A row-major grid over the elements of a tensor.
struct element_grid {
  std::int32_t rank = 0;
  std::int64_t size[max_rank]{};
  std::int64_t stride[max_rank]{};

  constexpr element_grid() = default;
  /// The tensor's own axes.
  constexpr explicit element_grid(dimensions const& d) : rank(d.rank) {
    std::int64_t n = 1;
    for (int k = rank - 1; k >= 0; --k) {
      size[k] = d.size[k];
      stride[k] = n;
      n *= d.size[k];
    }
  }
};

/// The extent of a window along each axis of a grid.
struct grid_box {
  progression axis[max_rank]{};
};

/// True if a set of elements is a box on this grid, which is written to `to`.
constexpr bool box_on(element_grid const& g, element_set const& s, grid_box& to) noexcept {
  std::uint32_t used = 0;
  for (int k = 0; k < g.rank; ++k) to.axis[k] = {s.first / g.stride[k] % g.size[k], 1, 1};
  for (int k = 0; k < s.rank; ++k) {
    std::int64_t n = s.size[k], stride = s.stride[k];
    while (n > 1) {
      int at = g.rank - 1;
      while (at >= 0 && (g.size[at] == 1 || g.stride[at] * g.size[at] <= stride)) --at;
      if (at < 0 || (used >> at & 1u) != 0 || stride % g.stride[at] != 0) return false;
      used |= 1u << at;
      progression& p = to.axis[at];
      std::int64_t const step = stride / g.stride[at], room = (g.size[at] - 1 - p.first) / step + 1;
      p.step = step;
      if (n <= room) {
        p.count = n;
        break;
      }
      // from one end of the axis to the other, and on along the next
      if (p.first >= step || g.size[at] % step != 0 || n % room != 0) return false;
      p.count = room;
      n /= room;
      stride = g.stride[at] * g.size[at];
    }
  }
  return true;
}

/// The grid whose axes are the strides of all these sets, if each divides the next.
class stride_chain {
  std::int64_t stride_[max_rank]{};
  int count_ = 0;

public:
  bool fits = true;

  constexpr void add(std::int64_t s) noexcept {
    int at = 0;
    while (at < count_ && stride_[at] > s) ++at;
    if (at < count_ && stride_[at] == s) return;
    if (count_ == max_rank) fits = false;
    if (!fits) return;
    for (int k = count_++; k > at; --k) stride_[k] = stride_[k - 1];
    stride_[at] = s;
  }
  constexpr void add(element_set const& s) noexcept {
    for (int k = 0; k < s.rank; ++k) add(s.stride[k]);
  }
  constexpr element_grid grid(std::int64_t elements) noexcept {
    add(1);
    element_grid g;
    for (int k = 0; k < count_ && fits; ++k) {
      g.stride[k] = stride_[k];
      g.size[k] = k == 0 ? (elements + stride_[0] - 1) / stride_[0] : stride_[k - 1] / stride_[k];
      fits = k == 0 || stride_[k - 1] % stride_[k] == 0;
    }
    g.rank = fits ? count_ : 0;
    return g;
  }
};

constexpr bool overlap(grid_box const& a, grid_box const& b, int rank) noexcept {
  for (int k = 0; k < rank; ++k)
    if (meet(a.axis[k], b.axis[k]).count == 0) return false;
  return true;
}
constexpr bool within(grid_box const& a, grid_box const& b, int rank) noexcept {
  for (int k = 0; k < rank; ++k)
    if (meet(a.axis[k], b.axis[k]).count != a.axis[k].count) return false;
  return true;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
