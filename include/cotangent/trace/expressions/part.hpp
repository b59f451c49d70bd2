// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_PART_HPP
#define COTANGENT_TRACE_EXPRESSIONS_PART_HPP

#include <cotangent/ops/ops.hpp>
#include <cotangent/trace/expressions/refusals.hpp>

#include <cstdint>

// The part of a tensor that indices select: reads it, and replaces it.

namespace cotangent {

/// The end of an axis, in a range.
inline constexpr std::int64_t end = INT64_MAX;

namespace detail {

/// The effect of one index on its axis. A position (`drops`) is a value; everything else is known by type.
struct place_on_axis {
  bool drops = false, whole = false;
  std::int64_t start = 0, stop = 0, step = 1;

  /// A bound, relative to the start of an axis of extent n.
  static constexpr extent counted(std::int64_t bound, extent const& n) noexcept {
    return bound == end ? n : bound >= 0 ? extent::of(bound) : n - extent::of(-bound);
  }
  /// True if the range lies within an axis of n elements; `start` and `stop` are then relative to its start.
  constexpr bool fits(dimension n) noexcept {
    start += start < 0 ? n : 0;
    stop = stop == end ? (step < 0 ? -1 : n) : stop < 0 ? stop + n : stop;
    return step < 0 ? stop >= -1 && stop <= start && start < n : start >= 0 && start <= stop && stop <= n;
  }
  /// Precondition: `fits` was true.
  constexpr std::int64_t count() const noexcept { return counted(step < 0 ? start - stop : stop - start, step); }
  /// The number of positions in a range of this length.
  static constexpr std::int64_t counted(std::int64_t length, std::int64_t step) noexcept {
    return length > 0 ? (length - 1) / (step < 0 ? -step : step) + 1 : 0;
  }
};

/// The elements of `x` that `places[k]` selects along axis k; axes from `count` on are kept whole. Without
/// `at`, positions are not known yet and count as 0.
class indexed_part {
  term x_;
  dimensions part_, result_;
  std::int64_t window_[2 * max_rank]{};
  std::uint32_t reversed_ = 0; // axes whose positions fall: of these, the window has the rising ones

public:
  constexpr indexed_part(term x, place_on_axis const* places, std::int64_t const* at, int count)
      : x_(x), part_(x.dims()) {
    builder& b = *x.b;
    if (count > part_.rank) refuse(why<refusals::number_of_places>(), count, extent::of(part_.rank));
    for (int k = 0; k < part_.rank && b.failed().why == nullptr; ++k) {
      window_[2 * k + 1] = 1;
      if (k < count && places[k].drops) {
        window_[2 * k] = at == nullptr ? 0 : position(part_.size[k], at[k]);
        part_.size[k] = 1;
        continue;
      }
      if (k < count && !places[k].whole) narrow(k, places[k]);
      result_.size[result_.rank++] = part_.size[k];
    }
  }

  /// Reads the part: a slice, and a reshape that drops the axes of positions.
  constexpr term read() const {
    builder& b = *x_.b;
    if (b.failed().why != nullptr) return x_;
    term const y = part_ == x_.dims() ? x_ : op::slice::of(x_, window_, b.shape(part_));
    return op::reshape::of(turned(y), b.shape(result_));
  }

  /// The shape of the part.
  constexpr std::int32_t shape() const { return x_.b->shape(result_); }

  /// `x` with the part replaced by `y`, which has its shape.
  constexpr term replaced(term y) const {
    builder& b = *x_.b;
    dimensions const all = x_.dims();
    if (b.failed().why != nullptr) return x_;
    bool strided = false;
    for (int k = 0; k < all.rank; ++k) {
      if (part_.size[k] == 0) return x_;
      strided = strided || (window_[2 * k + 1] != 1 && part_.size[k] != 1);
    }
    y = turned(op::reshape::of(y, b.shape(part_)));
    return strided ? chosen(y) : joined(y);
  }

private:
  constexpr void refuse(refusal const* why, std::int64_t given, extent const& wanted) const {
    x_.b->fail({why, extent::of(given), wanted, none, x_.b->place});
  }
  constexpr dimension position(dimension n, std::int64_t i) const {
    builder& b = *x_.b;
    if (n < 0) return i >= 0 ? i : b.size(b.extent_of(n) - extent::of(-i));
    if (i < -n || i >= n) refuse(why<refusals::index_out_of_range>(), i, extent::of(n));
    return i < 0 ? i + n : i;
  }
  constexpr term turned(term y) const {
    for (int k = 0; k < part_.rank; ++k)
      if ((reversed_ >> k & 1u) != 0) y = extend::reversed(y, k);
    return y;
  }
  constexpr void narrow(int k, place_on_axis p) {
    builder& b = *x_.b;
    dimension const n = part_.size[k];
    if (p.step == 0 || p.step == INT64_MIN) return refuse(why<refusals::range_step>(), 0, b.extent_of(n));
    bool const falls = p.step < 0;
    std::int64_t const step = falls ? -p.step : p.step;
    window_[2 * k + 1] = step;
    if (falls) reversed_ |= 1u << k;
    if (n >= 0) {
      place_on_axis const asked = p;
      if (!p.fits(n)) {
        bool const start_fits = falls ? p.start < n && p.start >= p.stop : p.start >= 0 && p.start <= p.stop;
        return refuse(why<refusals::slice_out_of_range>(), start_fits ? asked.stop : asked.start,
                      extent::of(n));
      }
      part_.size[k] = p.count();
      window_[2 * k] = part_.size[k] == 0 ? 0 : falls ? p.start - step * (part_.size[k] - 1) : p.start;
      return;
    }
    // from `low` on, up to below `high`
    extent const size = b.extent_of(n), one = extent::of(1);
    extent low = place_on_axis::counted(p.start, size), high = falls && p.stop == end ? extent::of(0) : place_on_axis::counted(p.stop, size);
    if (falls) {
      extent const first = low;
      low = p.stop == end ? high : high + one;
      high = first + one;
    }
    extent const length = high - low;
    if (!length.is_symbol() && !length.is_number())
      return refuse(why<refusals::slice_out_of_range>(), p.start, size);
    if (!length.is_symbol()) {
      part_.size[k] = place_on_axis::counted(length.number, step);
      std::int64_t const over = part_.size[k] == 0 ? 0 : (length.number - 1) % step; // what a falling range leaves below
      window_[2 * k] = b.size(falls ? low + extent::of(over) : low);
      return;
    }
    extent const count = divide(length, extent::of(step));
    if (!count.is_valid()) return refuse(why<refusals::range_step>(), step, length);
    part_.size[k] = b.size(count);
    window_[2 * k] = b.size(falls ? low + extent::of(step - 1) : low);
  }

  /// Concatenates `y` with the elements before and behind the part, axis by axis from the last.
  constexpr term joined(term y) const {
    builder& b = *x_.b;
    dimensions const all = x_.dims();
    dimensions block = part_;
    for (int k = all.rank - 1; k >= 0; --k) {
      if (part_.size[k] == all.size[k]) continue;
      dimension const start = window_[2 * k], stop = b.sum(start, part_.size[k]);
      dimension const rest = b.size(b.extent_of(all.size[k]) - b.extent_of(stop));
      symbol pieces[3]{};
      int count = 0;
      if (start != 0) pieces[count++] = beside(block, k, 0, start).id;
      pieces[count++] = y.id;
      if (rest != 0) pieces[count++] = beside(block, k, stop, rest).id;
      block.size[k] = all.size[k];
      std::int64_t const axis = k;
      y.id = b.push(info_of<op::concatenate>(), pieces, count, &axis, 1, y.type(), b.shape(block), b.place);
    }
    return y;
  }
  /// The elements of `x` beside a block along `axis`; the block covers the axes behind `axis`.
  constexpr term beside(dimensions block, int axis, dimension start, dimension size) const {
    std::int64_t window[2 * max_rank]{};
    for (int k = 0; k < block.rank; ++k) {
      window[2 * k] = k < axis ? window_[2 * k] : 0;
      window[2 * k + 1] = 1;
    }
    window[2 * axis] = start;
    block.size[axis] = size;
    return op::slice::of(x_, window, x_.b->shape(block));
  }

  /// Selects element by element, if the part has gaps.
  constexpr term chosen(term y) const {
    builder& b = *x_.b;
    term const inside =
        op::pad::of(extend::constant(b, element::boolean, y.shape_id(), 1), window_, x_.shape_id());
    return extend::select(inside, op::pad::of(y, window_, x_.shape_id()), x_);
  }
};

} // namespace detail
} // namespace cotangent

#endif
