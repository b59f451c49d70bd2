// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_SIMPLIFY_MOVEMENT_HPP
#define COTANGENT_TRANSFORM_SIMPLIFY_MOVEMENT_HPP

#include <cotangent/transform/simplify/rewriting.hpp>

#include <cstdint>

// Rewrites of operations that only move elements; all of them are exact.

namespace cotangent::detail {

/// Broadcasts come out in one form: the operand has no axis of size 1, its axes keep their order, it is itself no
/// broadcast, and some axis longer than 1 repeats. Other rewrites rely on that.
class movement_rules : public rewriting {
public:
  using rewriting::rewriting;

  constexpr symbol reshape(symbol x, std::int32_t shape) {
    if (origin_[x].op == the<op::reshape>) x = operand(x);
    if (shape_of(x) == shape) return x;
    operation const* const op = origin_[x].op;
    if (op == the<op::constant> || op == the<op::size>) return restated(x, shape);
    if (op == the<op::broadcast>)
      if (symbol const y = reshaped_broadcast(x, shape); y != none) return y;
    return make(the<op::reshape>, &x, 1, nullptr, 0, type_of(x), shape);
  }

  constexpr symbol broadcast(symbol x, std::int64_t const* axes, std::int32_t shape) {
    operation const* const op = origin_[x].op;
    if (op == the<op::constant> || op == the<op::size>) return restated(x, shape);
    dimensions const d = b.dims(x);
    dimensions longer;
    std::int64_t to[max_rank]{};
    bool ordered = true;
    for (int k = 0; k < d.rank; ++k)
      if (d.size[k] != 1) {
        int const n = longer.rank++;
        longer.size[n] = d.size[k];
        to[n] = axes[k];
        ordered = ordered && (n == 0 || to[n - 1] < to[n]);
      }
    if (longer.rank != d.rank) x = reshape(x, b.shape(longer));
    int n = longer.rank;
    if (!ordered) {
      std::int64_t order[max_rank]{}, sorted[max_rank]{};
      for (int k = 0; k < n; ++k) {
        int place = 0;
        for (int j = 0; j < n; ++j) place += to[j] < to[k];
        order[place] = k;
        sorted[place] = to[k];
      }
      x = permute(x, order);
      for (int k = 0; k < n; ++k) to[k] = sorted[k];
    }
    if (origin_[x].op == the<op::broadcast>) {
      n = attribute_count(x);
      for (int k = 0; k < n; ++k) to[k] = to[attribute(x, k)];
      x = operand(x);
    }
    int longs = 0;
    for (std::int32_t m = long_axes(shape); m != 0; m &= m - 1) ++longs;
    if (longs == n) return reshape(x, shape);
    return repeated(x, to, n, shape);
  }

  constexpr symbol permute(symbol x, std::int64_t const* axes) {
    dimensions const d = b.dims(x);
    dimensions r;
    r.rank = d.rank;
    bool same = true;
    for (int k = 0; k < d.rank; ++k) {
      r.size[k] = d.size[axes[k]];
      same = same && axes[k] == k;
    }
    if (same) return x;
    operation const* const op = origin_[x].op;
    std::int32_t const shape = b.shape(r);
    std::int64_t to[max_rank]{};
    if (op == the<op::constant> || op == the<op::size>) return restated(x, shape);
    if (op == the<op::permute>) {
      for (int k = 0; k < d.rank; ++k) to[k] = attribute(x, static_cast<int>(axes[k]));
      return permute(operand(x), to);
    }
    if (op == the<op::broadcast>) {
      int const n = attribute_count(x);
      for (int k = 0; k < n; ++k)
        for (int j = 0; j < d.rank; ++j)
          if (axes[j] == attribute(x, k)) to[k] = j;
      return broadcast(operand(x), to, shape);
    }
    if (op == the<op::matmul> && single(x)) {
      symbol const swapped[2]{operand(x, 1), operand(x, 0)};
      std::int64_t const flags[2]{attribute(x, 1) == 0, attribute(x, 0) == 0};
      return make(the<op::matmul>, swapped, 2, flags, 2, type_of(x), shape);
    }
    return make(the<op::permute>, &x, 1, axes, d.rank, type_of(x), shape);
  }

  /// Transposed operands become flags.
  constexpr symbol matmul(symbol const* x, std::int64_t const* transposed, std::int32_t shape) {
    symbol of[2]{x[0], x[1]};
    std::int64_t flags[2]{transposed[0], transposed[1]};
    for (int k = 0; k < 2; ++k)
      if (origin_[of[k]].op == the<op::permute>) {
        of[k] = operand(of[k]);
        flags[k] = flags[k] == 0;
      }
    return make(the<op::matmul>, of, 2, flags, 2, type_of(of[0]), shape);
  }

  /// Slice and pad: a window of all is nothing, windows of windows are one.
  constexpr symbol window(operation const* kind, symbol x, std::int64_t const* w, std::int32_t shape) {
    operation const* const op = origin_[x].op;
    bool const pads = kind == the<op::pad>;
    if (op == the<op::constant> && (!pads || is(x, 0))) return restated(x, shape);
    int const n = 2 * b.dims(x).rank;
    bool whole = shape == shape_of(x), equal = op == the<op::pad>, known = op == kind;
    for (int k = 0; k < n; ++k) {
      whole = whole && w[k] == k % 2;
      equal = equal && w[k] == attribute(x, k);
      known = known && w[k] >= 0 && attribute(x, k) >= 0;
    }
    if (whole) return x;
    if (!pads && op == the<op::concatenate>)
      if (symbol const y = sliced_join(x, w, shape); y != none) return y;
    if (equal && !pads && shape_of(operand(x)) == shape) return operand(x);
    if (!known) return make(kind, &x, 1, w, n, type_of(x), shape);
    std::int64_t both[2 * max_rank]{};
    for (int k = 0; k < n; k += 2) {
      std::int64_t const start = attribute(x, k), step = attribute(x, k + 1);
      both[k] = pads ? w[k] + start * w[k + 1] : start + w[k] * step;
      both[k + 1] = w[k + 1] * step;
    }
    return window(kind, operand(x), both, shape);
  }

  /// Concatenation; the operands of a concatenated operand take its position, up to a number of operands.
  constexpr symbol concatenate(symbol const* x, int n, std::int64_t axis, std::int32_t shape) {
    if (n == 1) return x[0];
    constexpr int few = 32;
    auto const opens = [&](symbol t) {
      return origin_[t].op == the<op::concatenate> && single(t) && attribute(t) == axis;
    };
    int total = 0;
    for (int k = 0; k < n; ++k) total += opens(x[k]) ? operand_count(x[k]) : 1;
    element const type = type_of(x[0]);
    if (total == n || total > few) return make(the<op::concatenate>, x, n, &axis, 1, type, shape);
    symbol all[few]{};
    int count = 0;
    for (int k = 0; k < n; ++k) {
      if (!opens(x[k])) all[count++] = x[k];
      else
        for (int j = 0; j < operand_count(x[k]); ++j) all[count++] = operand(x[k], j);
    }
    return make(the<op::concatenate>, all, count, &axis, 1, type, shape);
  }

  /// The sum of two pads that put their operands next to each other along one axis: a pad of both, joined. Or none.
  constexpr symbol joined(symbol x, symbol y) {
    dimensions first = b.dims(operand(x));
    dimensions const second = b.dims(operand(y));
    std::int64_t w[2 * max_rank]{};
    int axis = none;
    bool swaps = false;
    for (int k = 0; k < first.rank; ++k) {
      std::int64_t const p = attribute(x, 2 * k), q = attribute(y, 2 * k), m = first.size[k],
                         n = second.size[k];
      w[2 * k] = p;
      w[2 * k + 1] = attribute(x, 2 * k + 1);
      if (w[2 * k + 1] != attribute(y, 2 * k + 1)) return none;
      if (p == q && m == n) continue;
      if (axis != none || w[2 * k + 1] != 1 || p < 0 || q < 0 || m < 0 || n < 0) return none;
      if (p + m != q && q + n != p) return none;
      swaps = q + n == p;
      axis = k;
      w[2 * k] = swaps ? q : p;
      first.size[k] = m + n;
    }
    if (axis == none) return none;
    symbol const pair[2]{operand(swaps ? y : x), operand(swaps ? x : y)};
    std::int32_t const shape = shape_of(x);
    return window(the<op::pad>, concatenate(pair, 2, axis, b.shape(first)), w, shape);
  }

private:
  /// A slice of a concatenation: of the operands that it meets. Or none, where sizes with names hide which these are.
  constexpr symbol sliced_join(symbol x, std::int64_t const* w, std::int32_t shape) {
    constexpr int few = 32;
    int const axis = static_cast<int>(attribute(x)), n = operand_count(x);
    dimensions const wanted = g_.shapes[shape];
    std::int64_t const start = w[2 * axis], step = w[2 * axis + 1], count = wanted.size[axis];
    if (start < 0) return none;
    std::int64_t from = 0; // where operand k begins
    int k = 0;
    for (;; ++k) {
      std::int64_t const size = b.dims(operand(x, k)).size[axis];
      if (k + 1 == n || (size >= 0 && count >= 0 && start + (count - 1) * step < from + size)) break;
      if (size < 0 || start < from + size) break;
      from += size;
    }
    std::int64_t const last = start + (count - 1) * step;
    std::int64_t inside[2 * max_rank]{};
    for (int j = 0; j < 2 * wanted.rank; ++j) inside[j] = w[j];
    std::int64_t const size = b.dims(operand(x, k)).size[axis];
    if (k + 1 == n || (size >= 0 && count >= 0 && last < from + size)) {
      inside[2 * axis] = start - from;
      return window(the<op::slice>, operand(x, k), inside, shape);
    }
    if (step != 1 || count < 0) return none;
    symbol parts[few]{};
    int met = 0;
    dimensions part = wanted;
    for (; k < n && from <= last; ++k) {
      std::int64_t const length = b.dims(operand(x, k)).size[axis];
      if (met == few || (length < 0 && k + 1 != n)) return none;
      std::int64_t const first = start > from ? start : from;
      std::int64_t const past = length < 0 || from + length > last ? last + 1 : from + length;
      inside[2 * axis] = first - from;
      part.size[axis] = past - first;
      if (past > first) parts[met++] = window(the<op::slice>, operand(x, k), inside, b.shape(part));
      from += length;
    }
    return concatenate(parts, met, axis, shape);
  }

  /// Where a reshape only adds and drops axes of size 1, the broadcast names other axes.
  constexpr symbol reshaped_broadcast(symbol x, std::int32_t shape) {
    dimensions const from = b.dims(x), to = b.get().shapes[shape];
    std::int64_t place[max_rank]{}, axes[max_rank]{};
    int k = 0;
    for (int j = 0; j < to.rank; ++j) {
      if (to.size[j] == 1) continue;
      while (k < from.rank && from.size[k] == 1) ++k;
      if (k == from.rank || from.size[k] != to.size[j]) return none;
      place[k++] = j;
    }
    while (k < from.rank && from.size[k] == 1) ++k;
    if (k != from.rank) return none;
    int const n = attribute_count(x);
    for (int j = 0; j < n; ++j) axes[j] = place[attribute(x, j)];
    return repeated(operand(x), axes, n, shape);
  }
};

} // namespace cotangent::detail

#endif
