// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_SIMPLIFY_MOVEMENT_HPP
#define COTANGENT_TRANSFORM_SIMPLIFY_MOVEMENT_HPP

#include <cotangent/transform/simplify/rewriting.hpp>

#include <cstdint>

// Rewrites of operations that only move elements; all of them are exact.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Broadcasts come out in one form: the operand has no axis of size 1, its axes keep their order, it is itself no
/// broadcast, and some axis longer than 1 repeats. Other rewrites rely on that.
class movement_rules {
  rewriting& r_;

public:
  constexpr explicit movement_rules(rewriting& r) : r_(r) {}

  static constexpr int most_joined = 64; // operands of one concatenation

  constexpr symbol reshape(symbol x, std::int32_t shape) {
    if (r_.origin_of[x].op == the<op::reshape>) x = r_.operand(x);
    if (r_.shape_of(x) == shape) return x;
    operation const* const op = r_.origin_of[x].op;
    if (op == the<op::constant> || op == the<op::size>) return r_.restated(x, shape);
    if (op == the<op::broadcast>)
      if (symbol const y = reshaped_broadcast(x, shape); y != none) return y;
    return r_.make(the<op::reshape>, &x, 1, nullptr, 0, r_.type_of(x), shape);
  }

  constexpr symbol broadcast(symbol x, std::int64_t const* axes, std::int32_t shape) {
    operation const* const op = r_.origin_of[x].op;
    if (op == the<op::constant> || op == the<op::size>) return r_.restated(x, shape);
    dimensions const d = r_.b.dims(x);
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
    if (longer.rank != d.rank) x = reshape(x, r_.b.shape(longer));
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
    if (r_.origin_of[x].op == the<op::broadcast>) {
      n = r_.attribute_count(x);
      for (int k = 0; k < n; ++k) to[k] = to[r_.attribute(x, k)];
      x = r_.operand(x);
    }
    int longs = 0;
    for (std::int32_t m = r_.long_axes(shape); m != 0; m &= m - 1) ++longs;
    if (longs == n) return reshape(x, shape);
    return r_.repeated(x, to, n, shape);
  }

  constexpr symbol permute(symbol x, std::int64_t const* axes) {
    dimensions const d = r_.b.dims(x);
    dimensions r;
    r.rank = d.rank;
    bool same = true;
    for (int k = 0; k < d.rank; ++k) {
      r.size[k] = d.size[axes[k]];
      same = same && axes[k] == k;
    }
    if (same) return x;
    operation const* const op = r_.origin_of[x].op;
    std::int32_t const shape = r_.b.shape(r);
    std::int64_t to[max_rank]{};
    if (op == the<op::constant> || op == the<op::size>) return r_.restated(x, shape);
    if (op == the<op::permute>) {
      for (int k = 0; k < d.rank; ++k) to[k] = r_.attribute(x, static_cast<int>(axes[k]));
      return permute(r_.operand(x), to);
    }
    if (op == the<op::broadcast>) {
      int const n = r_.attribute_count(x);
      for (int k = 0; k < n; ++k)
        for (int j = 0; j < d.rank; ++j)
          if (axes[j] == r_.attribute(x, k)) to[k] = j;
      return broadcast(r_.operand(x), to, shape);
    }
    if (op == the<op::matmul> && r_.single(x) && transposes(axes, d.rank)) {
      symbol const swapped[2]{r_.operand(x, 1), r_.operand(x, 0)};
      std::int64_t const flags[2]{r_.attribute(x, 1) == 0, r_.attribute(x, 0) == 0};
      return r_.make(the<op::matmul>, swapped, 2, flags, 2, r_.type_of(x), shape);
    }
    return r_.make(the<op::permute>, &x, 1, axes, d.rank, r_.type_of(x), shape);
  }

  /// True if the last two of two or three axes are exchanged.
  static constexpr bool transposes(std::int64_t const* axes, int rank) {
    return axes[rank - 1] == rank - 2 && axes[rank - 2] == rank - 1 && rank <= 3;
  }
  /// Transposed operands become flags.
  constexpr symbol matmul(symbol const* x, std::int64_t const* transposed, std::int32_t shape) {
    symbol of[2]{x[0], x[1]};
    std::int64_t flags[2]{transposed[0], transposed[1]};
    for (int k = 0; k < 2; ++k)
      if (r_.origin_of[of[k]].op == the<op::permute>) {
        std::int64_t axes[max_rank]{};
        int const rank = r_.b.dims(of[k]).rank;
        for (int j = 0; j < rank; ++j) axes[j] = r_.attribute(of[k], j);
        if (!transposes(axes, rank)) continue;
        of[k] = r_.operand(of[k]);
        flags[k] = flags[k] == 0;
      }
    return r_.make(the<op::matmul>, of, 2, flags, 2, r_.type_of(of[0]), shape);
  }

  /// Slice and pad: a window of all is nothing, windows of windows are one.
  constexpr symbol window(operation const* kind, symbol x, std::int64_t const* w, std::int32_t shape) {
    operation const* const op = r_.origin_of[x].op;
    bool const pads = kind == the<op::pad>;
    if (op == the<op::constant> && (!pads || r_.is(x, 0))) return r_.restated(x, shape);
    int const n = 2 * r_.b.dims(x).rank;
    bool whole = shape == r_.shape_of(x), equal = op == the<op::pad>, known = op == kind;
    for (int k = 0; k < n; ++k) {
      whole = whole && w[k] == k % 2;
      equal = equal && w[k] == r_.attribute(x, k);
      known = known && w[k] >= 0 && r_.attribute(x, k) >= 0;
    }
    if (whole) return x;
    if (!pads && op == the<op::concatenate>)
      if (symbol const y = sliced_join(x, w, shape); y != none) return y;
    if (equal && !pads && r_.shape_of(r_.operand(x)) == shape) return r_.operand(x);
    if (!pads && op == the<op::pad>)
      if (symbol const y = sliced_pad(x, w, shape); y != none) return y;
    if (!pads && op == the<op::add> && sums_pads(x, 0)) {
      symbol const parts[2]{window(kind, r_.operand(x, 0), w, shape), window(kind, r_.operand(x, 1), w, shape)};
      return r_.make(the<op::add>, parts, 2, nullptr, 0, r_.type_of(x), shape);
    }
    if (!known) return r_.make(kind, &x, 1, w, n, r_.type_of(x), shape);
    std::int64_t both[2 * max_rank]{};
    for (int k = 0; k < n; k += 2) {
      std::int64_t const start = r_.attribute(x, k), step = r_.attribute(x, k + 1);
      both[k] = pads ? w[k] + start * w[k + 1] : start + w[k] * step;
      both[k + 1] = w[k + 1] * step;
    }
    return window(kind, r_.operand(x), both, shape);
  }

  /// Concatenations whose operands were concatenated along the next axis, or along both as one, such as the entries of matrices:
  /// one along both, in whose memory all entries can be computed. Or none.
  constexpr symbol flattened(symbol const* x, int n, std::int64_t axis, std::int32_t shape) {
    symbol all[most_joined]{};
    int count = 0;
    dimensions d;
    dimension length = 0;
    for (int k = 0; k < n; ++k) {
      dimensions const from = r_.b.dims(x[k]);
      if (r_.origin_of[x[k]].op != the<op::reshape> || !r_.single(x[k])) return none;
      symbol const y = r_.operand(x[k]);
      d = r_.b.dims(y);
      if (r_.origin_of[y].op != the<op::concatenate> || !r_.single(y) || r_.attribute(y) != axis || d.rank + 1 != from.rank) return none;
      for (int j = 0; j < d.rank; ++j)
        if (d.size[j] != (j < axis ? from.size[j] : j > axis ? from.size[j + 1] : r_.b.product(from.size[j], from.size[j + 1]))) return none;
      if (count + r_.operand_count(y) > most_joined) return none;
      for (int j = 0; j < r_.operand_count(y); ++j) all[count++] = r_.operand(y, j);
      length = r_.b.sum(length, d.size[axis]);
    }
    d.size[axis] = length;
    return reshape(concatenate(all, count, axis, r_.b.shape(d)), shape);
  }
  /// Concatenation; the operands of a concatenated operand take its position, up to a number of operands.
  constexpr symbol concatenate(symbol const* x, int n, std::int64_t axis, std::int32_t shape) {
    if (n == 1) return x[0];
    if (symbol const y = flattened(x, n, axis, shape); y != none) return y;
    auto const opens = [&](symbol t) {
      return r_.origin_of[t].op == the<op::concatenate> && r_.single(t) && r_.attribute(t) == axis;
    };
    int total = 0;
    for (int k = 0; k < n; ++k) total += opens(x[k]) ? r_.operand_count(x[k]) : 1;
    element const type = r_.type_of(x[0]);
    if (total == n || total > most_joined) return r_.make(the<op::concatenate>, x, n, &axis, 1, type, shape);
    symbol all[most_joined]{};
    int count = 0;
    for (int k = 0; k < n; ++k) {
      if (!opens(x[k])) all[count++] = x[k];
      else
        for (int j = 0; j < r_.operand_count(x[k]); ++j) all[count++] = r_.operand(x[k], j);
    }
    return r_.make(the<op::concatenate>, all, count, &axis, 1, type, shape);
  }

  /// The sum of two pads that put their operands next to each other along one axis: a pad of both, joined. Or none.
  constexpr symbol joined(symbol x, symbol y) {
    dimensions first = r_.b.dims(r_.operand(x));
    dimensions const second = r_.b.dims(r_.operand(y));
    std::int64_t w[2 * max_rank]{};
    int axis = none;
    bool swaps = false;
    for (int k = 0; k < first.rank; ++k) {
      std::int64_t const p = r_.attribute(x, 2 * k), q = r_.attribute(y, 2 * k), m = first.size[k],
                         n = second.size[k];
      w[2 * k] = p;
      w[2 * k + 1] = r_.attribute(x, 2 * k + 1);
      if (w[2 * k + 1] != r_.attribute(y, 2 * k + 1)) return none;
      if (p == q && m == n) continue;
      if (axis != none || w[2 * k + 1] != 1 || p < 0 || q < 0 || m < 0 || n < 0) return none;
      if (p + m != q && q + n != p) return none;
      swaps = q + n == p;
      axis = k;
      w[2 * k] = swaps ? q : p;
      first.size[k] = m + n;
    }
    if (axis == none) return none;
    symbol const pair[2]{r_.operand(swaps ? y : x), r_.operand(swaps ? x : y)};
    std::int32_t const shape = r_.shape_of(x);
    return window(the<op::pad>, concatenate(pair, 2, axis, r_.b.shape(first)), w, shape);
  }

private:
  /// A slice of a concatenation: of the operands that it meets. Or none, where sizes with names hide which these are.
  constexpr symbol sliced_join(symbol x, std::int64_t const* w, std::int32_t shape) {
    int const axis = static_cast<int>(r_.attribute(x)), n = r_.operand_count(x);
    dimensions const wanted = r_.g.shapes[shape];
    std::int64_t const start = w[2 * axis], step = w[2 * axis + 1], count = wanted.size[axis];
    if (start < 0) return none;
    std::int64_t from = 0; // where operand k begins
    int k = 0;
    for (;; ++k) {
      std::int64_t const size = r_.b.dims(r_.operand(x, k)).size[axis];
      if (k + 1 == n || (size >= 0 && count >= 0 && start + (count - 1) * step < from + size)) break;
      if (size < 0 || start < from + size) break;
      from += size;
    }
    std::int64_t const last = start + (count - 1) * step;
    std::int64_t inside[2 * max_rank]{};
    for (int j = 0; j < 2 * wanted.rank; ++j) inside[j] = w[j];
    std::int64_t const size = r_.b.dims(r_.operand(x, k)).size[axis];
    if (k + 1 == n || (size >= 0 && count >= 0 && last < from + size)) {
      inside[2 * axis] = start - from;
      return window(the<op::slice>, r_.operand(x, k), inside, shape);
    }
    if (step != 1 || count < 0) return none;
    symbol parts[most_joined]{};
    int met = 0;
    dimensions part = wanted;
    for (; k < n && from <= last; ++k) {
      std::int64_t const length = r_.b.dims(r_.operand(x, k)).size[axis];
      if (met == most_joined || (length < 0 && k + 1 != n)) return none;
      std::int64_t const first = start > from ? start : from;
      std::int64_t const past = length < 0 || from + length > last ? last + 1 : from + length;
      inside[2 * axis] = first - from;
      part.size[axis] = past - first;
      if (past > first) parts[met++] = window(the<op::slice>, r_.operand(x, k), inside, r_.b.shape(part));
      from += length;
    }
    return concatenate(parts, met, axis, shape);
  }

  /// True for a pad, and for a sum of pads that nothing else reads: slices of it add parts of their operands.
  constexpr bool sums_pads(symbol x, int depth) const {
    if (r_.origin_of[x].op == the<op::pad>) return depth > 0;
    return r_.origin_of[x].op == the<op::add> && r_.single(x) && depth < 16 && sums_pads(r_.operand(x, 0), depth + 1) && sums_pads(r_.operand(x, 1), depth + 1);
  }
  /// A slice of a pad: a pad of a slice, which reads the operand where it is. Or none, where sizes are unknown, or only zeros are left.
  constexpr symbol sliced_pad(symbol x, std::int64_t const* w, std::int32_t shape) {
    dimensions const from = r_.b.dims(r_.operand(x)), wanted = r_.g.shapes[shape];
    std::int64_t inner[2 * max_rank]{}, outer[2 * max_rank]{};
    dimensions part = wanted;
    bool whole = true;
    for (int k = 0; k < wanted.rank; ++k) {
      std::int64_t const begin = r_.attribute(x, 2 * k), start = w[2 * k];
      if (r_.attribute(x, 2 * k + 1) != 1 || w[2 * k + 1] != 1 || begin < 0 || start < 0 || from.size[k] < 0 || wanted.size[k] < 0) return none;
      std::int64_t const first = start > begin ? start : begin;
      std::int64_t const past = start + wanted.size[k] < begin + from.size[k] ? start + wanted.size[k] : begin + from.size[k];
      if (past <= first) return none;
      inner[2 * k] = first - begin, outer[2 * k] = first - start;
      inner[2 * k + 1] = outer[2 * k + 1] = 1;
      part.size[k] = past - first;
      whole = whole && part.size[k] == wanted.size[k];
    }
    symbol const y = window(the<op::slice>, r_.operand(x), inner, r_.b.shape(part));
    return whole ? y : window(the<op::pad>, y, outer, shape);
  }

  /// Where a reshape only adds and drops axes of size 1, the broadcast names other axes.
  constexpr symbol reshaped_broadcast(symbol x, std::int32_t shape) {
    dimensions const from = r_.b.dims(x), to = r_.b.get().shapes[shape];
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
    int const n = r_.attribute_count(x);
    for (int j = 0; j < n; ++j) axes[j] = place[r_.attribute(x, j)];
    return r_.repeated(r_.operand(x), axes, n, shape);
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
