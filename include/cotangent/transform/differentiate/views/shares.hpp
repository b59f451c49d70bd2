// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_VIEWS_SHARES_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_VIEWS_SHARES_HPP

#include <cotangent/graph/window.hpp>
#include <cotangent/ops/ops.hpp>
#include <cotangent/transform/differentiate/views/union_of_boxes.hpp>

#include <cstdint>

// Cotangents of some elements of a tensor: their elements, and their location.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// All of a tensor of this shape, row-major.
constexpr tensor_window all_of(symbol root, dimensions const& d) {
  tensor_window w;
  w.root = root;
  w.rank = d.rank;
  std::int64_t n = 1;
  for (int k = d.rank - 1; k >= 0; --k) {
    w.size[k] = d.size[k];
    w.stride[k] = n;
    n *= d.size[k];
  }
  return w;
}
constexpr dimensions sizes_of(tensor_window const& w) {
  dimensions d;
  d.rank = w.rank;
  for (int k = 0; k < w.rank; ++k) d.size[k] = w.size[k];
  return d;
}

/// Values for the elements `of` some tensor, located `at` the same positions of another one.
struct share {
  tensor_window of, at;
};

/// A symbol with the values of a share: its tensor itself if that has no other values.
constexpr symbol symbol_of(builder& b, share const& s) {
  dimensions const d = sizes_of(s.at);
  if (b.dims(s.at.root) == d && s.at == all_of(s.at.root, d)) return s.at.root;
  return push_view(b, s.at, d);
}

namespace sharing {

/// Sorts axes from the longest stride of `of` to the shortest, all positive; axes of size 1 are dropped.
constexpr share sorted(share const& s) {
  share r;
  r.of.root = s.of.root;
  r.at.root = s.at.root;
  r.of.offset = s.of.offset;
  r.at.offset = s.at.offset;
  int rank = 0;
  for (int k = 0; k < s.of.rank; ++k) {
    std::int64_t const n = s.of.size[k];
    if (n == 1) continue;
    std::int64_t stride = s.of.stride[k], there = s.at.stride[k];
    if (stride < 0) {
      r.of.offset += (n - 1) * stride;
      r.at.offset += (n - 1) * there;
      stride = -stride;
      there = -there;
    }
    int at = rank++;
    for (; at > 0 && r.of.stride[at - 1] < stride; --at) {
      r.of.stride[at] = r.of.stride[at - 1];
      r.at.stride[at] = r.at.stride[at - 1];
      r.of.size[at] = r.of.size[at - 1];
    }
    r.of.stride[at] = stride;
    r.at.stride[at] = there;
    r.of.size[at] = n;
  }
  r.of.rank = r.at.rank = rank;
  for (int k = 0; k < rank; ++k) r.at.size[k] = r.of.size[k];
  return r;
}

} // namespace sharing

/// The same share with the axes of `to`, which has the same elements; false if no strides express the
/// location.
constexpr bool matched(share const& from, tensor_window const& to, share& fitted) {
  share const have = sharing::sorted(from);
  share goal{to, to}; // `at` becomes the location along the axes of `to`: first their own indices
  for (int k = 0; k < to.rank; ++k) goal.at.stride[k] = 0;
  // the sorted axes of `to`, carried as strides; a negative sign marks reversed axes
  share numbered = goal;
  for (int k = 0; k < to.rank; ++k) numbered.at.stride[k] = k + 1;
  numbered.at.offset = 0;
  share const wanted = sharing::sorted(numbered);
  fitted.of = to;
  fitted.at = to;
  fitted.at.root = from.at.root;
  fitted.at.offset = have.at.offset;
  for (int k = 0; k < to.rank; ++k) fitted.at.stride[k] = 0;
  int h = have.of.rank - 1;
  std::int64_t n = h >= 0 ? have.of.size[h] : 1, there = h >= 0 ? have.at.stride[h] : 0;
  for (int w = wanted.of.rank - 1; w >= 0; --w) {
    std::int64_t const count = wanted.of.size[w];
    while (n < count) { // merge with the next axis
      if (h == 0 || have.at.stride[h - 1] != there * n || have.of.stride[h - 1] != wanted.of.stride[w] * n)
        return false;
      n *= have.of.size[--h];
    }
    if (n % count != 0) return false;
    std::int64_t const number = wanted.at.stride[w];
    int const axis = static_cast<int>(number < 0 ? -number : number) - 1;
    fitted.at.stride[axis] = number < 0 ? -there : there;
    if (number < 0) fitted.at.offset += (count - 1) * there;
    if (n > count) {
      n /= count;
      there *= count;
    } else if (--h >= 0) {
      n = have.of.size[h];
      there = have.at.stride[h];
    } else {
      n = 1;
    }
  }
  return true;
}

/// Like the other `matched`, but emits a copy if no strides express it.
constexpr share matched(builder& b, share const& from, tensor_window const& to) {
  share fitted;
  if (matched(from, to, fitted)) return fitted;
  share const have = sharing::sorted(from);
  share const goal = sharing::sorted({to, to});
  term const moved = op::reshape::of({&b, symbol_of(b, have)}, b.shape(sizes_of(goal.of)));
  share flat{goal.of, all_of(moved.id, sizes_of(goal.of))};
  (void)matched(flat, to, fitted);
  return fitted;
}

constexpr bool same(grid_box const& a, grid_box const& b, int rank) noexcept {
  for (int k = 0; k < rank; ++k)
    if (!(a.axis[k] == b.axis[k])) return false;
  return true;
}
constexpr grid_box meet(grid_box const& a, grid_box const& b, int rank) noexcept {
  grid_box both;
  for (int k = 0; k < rank; ++k) both.axis[k] = meet(a.axis[k], b.axis[k]);
  return both;
}
/// The part of a share in an inner box of its own box; axes are those of the grid.
constexpr share part_of(share s, grid_box const& own, grid_box const& inner, element_grid const& g) {
  for (int k = 0; k < g.rank; ++k) {
    progression const &from = own.axis[k], &to = inner.axis[k];
    std::int64_t const skip = (to.first - from.first) / from.step,
                       step = to.count == 1 ? 1 : to.step / from.step;
    s.at.offset += skip * s.at.stride[k];
    s.at.stride[k] *= step;
    s.at.size[k] = to.count;
  }
  s.of = window_of(g, inner, s.of.root);
  return s;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
