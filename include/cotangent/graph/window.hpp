// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_GRAPH_WINDOW_HPP
#define COTANGENT_GRAPH_WINDOW_HPP

#include <cotangent/core/refusal.hpp>

#include <cotangent/graph/builder.hpp>
#include <cotangent/graph/window_boxes.hpp>

#include <cstdint>

// Views: windows on tensors, of tensors or of views, within their bounds.

COTANGENT_COLD_BEGIN
namespace cotangent::refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(view_out_of_range, less_than, position_of_element, elements_there, "cotangent: view: every element of a view, its offset included, must be within the viewed tensor or view")
COTANGENT_REFUSAL(view_before_start, is, positions_before_start, position, "cotangent: view: no element of a view may precede the first element of the viewed tensor or view")
COTANGENT_REFUSAL(view_rank, equal, rank_of_view, rank_of_viewed, "cotangent: view: there must be one range for each axis of the viewed tensor or view")
COTANGENT_REFUSAL(view_named_extent, is, extent_of_view, number, "cotangent: view: the extents of a view, and of the viewed tensor, must be numbers")
COTANGENT_REFUSAL(view_too_many_axes, at_most, axes_of_view, axes_of_a_tensor, "cotangent: view: a view must not have more axes than a tensor can have")
// clang-format on
} // namespace cotangent::refusals

namespace cotangent::detail {

/// The window of a symbol on its root: all elements, row-major, unless it is a view.
constexpr tensor_window window_of(graph_view const& g, symbol t) noexcept {
  tensor_symbol const& s = g.tensors[t];
  dimensions const& d = g.shape(t);
  tensor_window w;
  w.root = s.base == none ? t : s.base;
  w.rank = d.rank;
  std::int64_t n = 1;
  for (int k = d.rank - 1; k >= 0; --k) {
    w.size[k] = d.size[k];
    w.stride[k] = s.base == none ? n : g.numbers[s.window + 1 + k];
    if (d.size[k] < 0) w.known = false;
    else n *= d.size[k];
  }
  if (s.base != none) w.offset = g.numbers[s.window];
  return w;
}

constexpr bool numbers_only(dimensions const& d) noexcept {
  for (int k = 0; k < d.rank; ++k)
    if (d.size[k] < 0) return false;
  return true;
}
constexpr std::int64_t elements_of(dimensions const& d) noexcept {
  std::int64_t n = 1;
  for (int k = 0; k < d.rank; ++k) n *= d.size[k];
  return n;
}

enum class answer : unsigned char { no, yes, unknown };

/// Both sets as boxes on one grid: the tensor's own, or that of their strides.
constexpr bool common_boxes(dimensions const& d, element_set const& a, element_set const& b, grid_box* boxes,
                            int& rank) noexcept {
  element_grid g(d);
  rank = g.rank;
  if (box_on(g, a, boxes[0]) && box_on(g, b, boxes[1])) return true;
  stride_chain chain;
  chain.add(a);
  chain.add(b);
  g = chain.grid(elements_of(d));
  rank = g.rank;
  return chain.fits && box_on(g, a, boxes[0]) && box_on(g, b, boxes[1]);
}

/// The largest number of elements to compare one by one: more would cost more than an exact answer is worth.
inline constexpr std::int64_t few_elements = 256;

/// Whether two windows of one tensor overlap.
constexpr answer overlap(dimensions const& of, tensor_window const& a, tensor_window const& b) {
  if (a.root != b.root) return answer::no;
  if (!a.known || !b.known || !numbers_only(of)) return answer::unknown;
  element_set const s(a), t(b);
  if (s.empty || t.empty || s.last < t.first || t.last < s.first) return answer::no;
  auto const say = [](bool yes) { return yes ? answer::yes : answer::no; };
  if (s.rank <= 1 && t.rank <= 1) {
    progression const p{s.first, s.rank == 0 ? 1 : s.stride[0], s.rank == 0 ? 1 : s.size[0]};
    progression const q{t.first, t.rank == 0 ? 1 : t.stride[0], t.rank == 0 ? 1 : t.size[0]};
    return say(meet(p, q).count != 0);
  }
  grid_box boxes[2]{};
  int rank = 0;
  if (common_boxes(of, s, t, boxes, rank)) return say(overlap(boxes[0], boxes[1], rank));
  if (t.nested() && s.count() <= few_elements) return say(!s.all([&](std::int64_t e) { return !t.has(e); }));
  if (s.nested() && t.count() <= few_elements) return say(!t.all([&](std::int64_t e) { return !s.has(e); }));
  return answer::unknown;
}

/// Whether all elements of one window are elements of the other.
constexpr answer within(dimensions const& of, tensor_window const& inner, tensor_window const& outer) {
  if (inner.root != outer.root) return answer::no;
  if (!inner.known || !outer.known || !numbers_only(of)) return answer::unknown;
  element_set const s(inner), t(outer);
  if (s.empty) return answer::yes;
  if (t.empty || s.first < t.first || s.last > t.last) return answer::no;
  if (t.rank == 0 || (t.rank == 1 && t.stride[0] == 1)) return answer::yes; // without gaps
  grid_box boxes[2]{};
  int rank = 0;
  if (common_boxes(of, s, t, boxes, rank)) return within(boxes[0], boxes[1], rank) ? answer::yes : answer::no;
  if (s.count() > 16 * few_elements) return answer::unknown;
  if (t.nested()) return s.all([&](std::int64_t e) { return t.has(e); }) ? answer::yes : answer::no;
  if (t.last - t.first >= 16 * few_elements || t.count() > 16 * few_elements) return answer::unknown;
  array<bool> has(static_cast<int>(t.last - t.first + 1));
  (void)t.all([&](std::int64_t e) { return has[static_cast<int>(e - t.first)] = true; });
  return s.all([&](std::int64_t e) { return has[static_cast<int>(e - t.first)]; }) ? answer::yes : answer::no;
}

/// Whether an element occurs at two positions: such a window can be read, but not written.
constexpr answer holds_twice(tensor_window const& w) {
  if (!w.known) return answer::unknown;
  element_set const s(w);
  if (s.empty) return answer::no;
  if (s.repeats) return answer::yes;
  if (s.nested()) return answer::no;
  if (s.count() > s.last - s.first + 1) return answer::yes; // more positions than elements
  if (s.last - s.first >= 16 * few_elements) return answer::unknown;
  array<bool> seen(static_cast<int>(s.last - s.first + 1));
  bool const once = s.all([&](std::int64_t e) {
    bool& at = seen[static_cast<int>(e - s.first)];
    bool const again = at;
    at = true;
    return !again;
  });
  return once ? answer::no : answer::yes;
}

constexpr symbol refuse_view(builder& b, std::int64_t position, std::int64_t elements) {
  if (position < 0) b.refuse<refusals::view_before_start>(position == INT64_MIN ? INT64_MAX : -position, 0, b.place);
  else b.refuse<refusals::view_out_of_range>(position, elements, b.place);
  return b.refused();
}

constexpr symbol push_view(builder& b, tensor_window const& w, dimensions const& sizes) {
  symbol const t = b.symbol_of(b.tensor(w.root).type, b.shape(sizes));
  tensor_symbol& s = b.edit().tensors[t];
  s.base = w.root;
  s.region = b.tensor(w.root).region;
  s.window = b.edit().numbers.push(w.offset);
  (void)b.edit().numbers.append(w.stride, w.rank);
  return t;
}

/// True if two symbols overlap. Exact for boxes on a common row-major grid and for windows of one stride
/// each; true if an exact answer would be expensive.
constexpr bool overlap(graph_view const& g, symbol a, symbol b) {
  tensor_window const v = window_of(g, a), w = window_of(g, b);
  return v.root == w.root && detail::overlap(g.shape(v.root), v, w) != detail::answer::no;
}

/// True if an element may occur at several positions of this window: it can be read, but not written.
constexpr bool repeats(tensor_window const& w) { return detail::holds_twice(w) != detail::answer::no; }

/// A view of `x`, which may be a view itself: its position i along axis k is position `start[k] + i step[k]`
/// of `x`.
///
/// Refuses: another rank than that of `x`; positions outside of `x`; named extents.
constexpr symbol range_view(builder& b, symbol x, std::int64_t const* start, std::int64_t const* step,
                      dimensions const& sizes) {
  dimensions const from = b.dims(x);
  if (sizes.rank != from.rank)
    return b.refuse<refusals::view_rank>(sizes.rank, from.rank, b.place), b.refused();
  tensor_window w = window_of(b.get(), x);
  if (!w.known || !detail::numbers_only(sizes) || !detail::numbers_only(b.dims(w.root)))
    return b.refuse<refusals::view_named_extent>(0, 0, b.place), b.refused();
  for (int k = 0; k < sizes.rank; ++k) {
    std::int64_t const last = detail::capped_sum(
        start[k], detail::capped_product(sizes.size[k] > 0 ? sizes.size[k] - 1 : 0, step[k]));
    if (start[k] < 0 || start[k] > from.size[k] || last < 0 ||
        (sizes.size[k] > 0 && (start[k] >= from.size[k] || last >= from.size[k])))
      return detail::refuse_view(b, start[k] < 0 || start[k] >= from.size[k] ? start[k] : last, from.size[k]);
    w.offset += start[k] * w.stride[k];
    w.size[k] = sizes.size[k];
    w.stride[k] *= step[k];
  }
  return detail::push_view(b, w, sizes);
}

/// A view of `x`, which may be a view itself, of any rank. `offset` is relative to the first element of `x`;
/// offset and strides are in elements of the memory behind `x`.
///
/// Refuses: elements outside of `x`; named extents.
constexpr symbol strided_view(builder& b, symbol x, std::int64_t offset, std::int64_t const* stride,
                              dimensions const& sizes) {
  tensor_window const from = window_of(b.get(), x);
  dimensions const root = b.dims(from.root);
  if (sizes.rank < 0 || sizes.rank > max_rank)
    return b.refuse<refusals::view_too_many_axes>(sizes.rank, max_rank, b.place), b.refused();
  if (!from.known || !detail::numbers_only(sizes) || !detail::numbers_only(root))
    return b.refuse<refusals::view_named_extent>(0, 0, b.place), b.refused();
  tensor_window w;
  w.root = from.root;
  w.rank = sizes.rank;
  std::int64_t const elements = detail::elements_of(root);
  std::int64_t low = offset, high = offset; // relative to the first element of x
  bool empty = false;
  for (int k = 0; k < w.rank; ++k) {
    w.size[k] = sizes.size[k];
    w.stride[k] = stride[k];
    if (w.size[k] == 0) empty = true;
    if (w.size[k] < 2) continue;
    std::int64_t const reach = detail::capped_product(w.size[k] - 1, stride[k]);
    std::int64_t& outermost = reach < 0 ? low : high;
    outermost = detail::capped_sum(outermost, reach);
  }
  if (empty) low = high = offset; // no element, but the offset counts
  for (int k = 0; k < w.rank; ++k) // An unused stride becomes 0, so that arithmetic on it cannot overflow.
    if ((empty || w.size[k] == 1) && (w.stride[k] > elements || w.stride[k] < -elements)) w.stride[k] = 0;
  w.offset = detail::capped_sum(from.offset, offset);
  std::int64_t const last = detail::capped_sum(from.offset, high);
  if (detail::capped_sum(from.offset, low) < 0 || (empty ? last > elements : last >= elements) ||
      detail::within(root, w, from) == detail::answer::no)
    return detail::refuse_view(b, low < 0 ? low : high, from.count());
  return detail::push_view(b, w, sizes);
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
