// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_ORDERED_SUMS_HPP
#define COTANGENT_KERNELS_ORDERED_SUMS_HPP

#include <cotangent/kernels/reduce.hpp>

#include <cstdint>

// Reductions in the order that a plan gives (see plan/sum_order.hpp), for nests known only at run time: the results have
// the bits of the static program.

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {

/// Rows to reduce, or the positions of one row from `start` on.
struct row_sums {
  std::int64_t rows = 1, step = 0; // in the operands: from row to row
  std::int64_t start = 0, count = 0, total = 0; // positions: of this part, and of a row; in parts there is one row
  std::int32_t width = 1, chains = 1; // see nest::width and stage_form::chains
  std::int32_t copies = 1; // of each result, side by side
  bool single = false; // a row fits one vector
};

/// `state` lives across the parts of a row. With a second operand, the products are added unrounded.
using row_sums_kernel = void (*)(void* to, void* state, void const* x, void const* y, row_sums const& s);
inline constexpr std::int64_t row_sums_state_bytes = 4 * simd::bytes;

/// Rows to combine with totals over all rows of a nest.
struct total_sums {
  std::int64_t first_row = 0, rows = 1, step = 0, count = 0; // `count`: the positions of a row
  std::int64_t block = 1; // rows of a block
  std::int64_t paired = 0; // rows whose blocks are interleaved in pairs, with totals of their own
  std::int64_t columns = 1; // totals for each position
  std::int32_t width = 1;   // partial results of a total
  std::int32_t together = 1; // rows of a block that are interleaved, vector by vector
  bool whole_blocks = false; // all rows of a full block are interleaved
  bool by_row = false;       // a partial result for each row of a block; else for each position in a vector
};
/// State: partial results of the totals, of one block of a pair after those of the other.
using total_sums_kernel = void (*)(void* state, void const* x, total_sums const& s);
/// Writes the neutral value to `count` elements, or the results of totals to `to`.
using total_begin_kernel = void (*)(void* state, std::int64_t count);
using total_end_kernel = void (*)(void* to, void* state, total_sums const& s);
using column_products_kernel = void (*)(void* to, void const* x, void const* y, row_sums const& s);

namespace detail {

/// One operand, or two operands that are multiplied: element or vector `i` combined with a partial result.
template <class Op, class T, bool Products> struct sum_operand {
  T const* x;
  T const* y;
  template <class V> COTANGENT_INLINE V with(V const& sum, std::int64_t i) const {
    if constexpr (Products) return math::fma(simd::load<V>(x + i), simd::load<V>(y + i), sum);
    else return Op::combine(sum, simd::load<V>(x + i));
  }
  template <class V> COTANGENT_INLINE V with(V const& sum, std::int64_t i, std::int64_t count) const {
    using M = math::mask_t<V>;
    V all;
    if constexpr (Products) all = math::fma(simd::load<V>(x + i, count), simd::load<V>(y + i, count), sum);
    else all = Op::combine(sum, simd::load<V>(x + i, count));
    return math::select(simd::first<M>(count), all, sum);
  }
  COTANGENT_INLINE T one(T sum, std::int64_t i) const {
    if constexpr (Products) return math::fma(T{x[i]}, T{y[i]}, sum);
    else return Op::combine(sum, T{x[i]});
  }
};

inline constexpr int most_short_width = 8; // of rows that are reduced side by side

template <class Op, class T> T folded(T* sums, std::int64_t count) {
  for (count /= 2; count > 0; count /= 2)
    for (std::int64_t k = 0; k < count; ++k) sums[k] = Op::combine(T{sums[k]}, T{sums[k + count]});
  return sums[0];
}

/// A row in full vectors.
template <class Op, class T, bool Products>
COTANGENT_INLINE T sum_row(sum_operand<Op, T, Products> const& from, T* state, row_sums const& s, bool begins, bool ends) {
  constexpr std::int64_t w = simd::width<T>;
  using V = simd::pack<T, simd::width<T>>;
  V const neutral = math::broadcast<V>(Op::template neutral<T>());
  if (s.single) {
    V a;
    if constexpr (Products) a = from.with(neutral, 0, s.count);
    else a = math::select(simd::first<math::mask_t<V>>(s.count), simd::load<V>(from.x, s.count), neutral);
    return simd::detail::fold(a, combining<Op>{});
  }
  auto const get = [&](int k) __attribute__((always_inline)) {
    return begins || k >= s.chains ? neutral : simd::load<V>(state + k * w);
  };
  V a = get(0), b = get(1), c = get(2), d = get(3);
  std::int64_t i = 0;
  if (s.chains == 4)
    for (; i + 4 * w <= s.count; i += 4 * w) {
      a = from.with(a, i), b = from.with(b, i + w);
      c = from.with(c, i + 2 * w), d = from.with(d, i + 3 * w);
    }
  else if (s.chains == 2)
    for (; i + 2 * w <= s.count; i += 2 * w) a = from.with(a, i), b = from.with(b, i + w);
  for (; i + w <= s.count; i += w) a = from.with(a, i);
  if (i < s.count) a = from.with(a, i, s.count - i);
  if (!ends) {
    simd::store(state, a);
    if (s.chains > 1) simd::store(state + w, b);
    if (s.chains > 2) simd::store(state + 2 * w, c), simd::store(state + 3 * w, d);
    return T{};
  }
  if (s.chains > 1) a = Op::combine(a, b);
  if (s.chains > 2) a = Op::combine(a, V{Op::combine(c, d)});
  return simd::detail::fold(a, combining<Op>{});
}
/// The sums of `Rows` rows, each one position after the other: independent chains of additions.
template <class Op, class T, bool Products, int Rows>
COTANGENT_INLINE void sum_rows_in_turn(T* sums, T const* x, T const* y, std::int64_t step, std::int64_t count) {
  T a[Rows];
  for (int r = 0; r < Rows; ++r) a[r] = sums[r];
  for (std::int64_t i = 0; i < count; ++i)
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) a[r] = sum_operand<Op, T, Products>{x + r * step, Products ? y + r * step : nullptr}.one(a[r], i);
  for (int r = 0; r < Rows; ++r) sums[r] = a[r];
}
template <class Op, class T, bool Products>
void sum_rows_in_turn(T* sums, T const* x, T const* y, std::int64_t rows, std::int64_t step, std::int64_t count) {
  for (; rows >= 8; rows -= 8, sums += 8, x += 8 * step, y += Products ? 8 * step : 0)
    detail::sum_rows_in_turn<Op, T, Products, 8>(sums, x, y, step, count);
  for (; rows > 0; --rows, ++sums, x += step, y += Products ? step : 0)
    detail::sum_rows_in_turn<Op, T, Products, 1>(sums, x, y, step, count);
}

/// `Rows` rows side by side: their last steps, from lane to lane, are done together.
template <class Op, class T, bool Products, int Rows>
COTANGENT_INLINE void sum_rows_together(T* to, T const* x, T const* y, row_sums const& s) {
  constexpr std::int64_t w = simd::width<T>;
  using V = simd::pack<T, simd::width<T>>;
  V a[static_cast<std::size_t>(Rows)];
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
    sum_operand<Op, T, Products> const from{x + r * s.step, Products ? y + r * s.step : nullptr};
    V sum = math::broadcast<V>(Op::template neutral<T>());
    std::int64_t i = 0;
    if (s.single && !Products)
      sum = math::select(simd::first<math::mask_t<V>>(s.count), simd::load<V>(from.x, s.count), sum);
    else {
      for (; i + w <= s.count; i += w) sum = from.with(sum, i);
      if (i < s.count) sum = from.with(sum, i, s.count - i);
    }
    a[r] = sum;
  }
  simd::store(to, simd::fold_rows(a, combining<Op>{}));
}

/// As many rows of one shorter vector as a register has lanes, one in each lane.
template <class Op, class T, bool Products> void sum_short_rows(T* to, T const* x, T const* y, row_sums const& s) {
  using V = simd::pack<T, simd::width<T>>;
  V const neutral = math::broadcast<V>(Op::template neutral<T>());
  V sum[most_short_width];
  for (std::int64_t k = 0; k < s.width; ++k) {
    sum[k] = neutral;
    if (k >= s.count) continue;
    V const one = simd::load_strided<V>(x + k, s.step);
    if constexpr (Products) sum[k] = math::fma(one, simd::load_strided<V>(y + k, s.step), neutral);
    else sum[k] = s.single ? one : V{Op::combine(neutral, one)};
  }
  for (std::int64_t count = s.width / 2; count > 0; count /= 2)
    for (std::int64_t k = 0; k < count; ++k) sum[k] = Op::combine(sum[k], sum[k + count]);
  simd::store(to, sum[0]);
}

/// A row in shorter vectors, position by position.
template <class Op, class T, bool Products>
T sum_row_by_one(sum_operand<Op, T, Products> const& from, T* state, row_sums const& s, bool begins, bool ends) {
  std::int64_t const w = s.width, chains = s.chains;
  for (std::int64_t k = 0; begins && k < chains * w; ++k) state[k] = Op::template neutral<T>();
  std::int64_t i = 0;
  if (s.single && !Products) {
    for (; i < s.count; ++i) state[i] = from.x[i];
    return folded<Op>(state, w);
  }
  if (w == 1 && chains == 1) {
    detail::sum_rows_in_turn<Op, T, Products, 1>(state, from.x, from.y, 0, s.count);
    return state[0];
  }
  for (; i + chains * w <= s.count; i += chains * w)
    for (std::int64_t k = 0; k < chains * w; ++k) state[k] = from.one(state[k], i + k);
  for (; i < s.count; i += w)
    for (std::int64_t k = 0; k < w && i + k < s.count; ++k) state[k] = from.one(state[k], i + k);
  if (!ends) return T{};
  for (std::int64_t step = 1; step < chains; step *= 2)
    for (std::int64_t k = 0; k < chains; k += 2 * step)
      for (std::int64_t j = 0; j < w; ++j)
        state[k * w + j] = Op::combine(T{state[k * w + j]}, T{state[(k + step) * w + j]});
  return folded<Op>(state, w);
}

} // namespace detail

/// Reduces rows to one element each.
template <class Op, class T, bool Products>
void sum_rows(void* result, void* state, void const* x, void const* y, row_sums const& s) {
  T* to = static_cast<T*>(result);
  bool const begins = s.start == 0, ends = s.start + s.count == s.total;
  if (s.width == 1 && s.chains == 1 && s.rows > 1 && !s.single) { // short rows
    for (std::int64_t r = 0; r < s.rows; ++r) to[r] = Op::template neutral<T>();
    return detail::sum_rows_in_turn<Op, T, Products>(to, static_cast<T const*>(x), static_cast<T const*>(y), s.rows, s.step, s.count);
  }
  std::int64_t r = 0;
  if constexpr (constexpr int rows = 4; rows <= simd::width<T>)
    if (s.width == simd::width<T> && s.chains == 1 && begins && ends && s.copies == 1)
      for (; r + rows <= s.rows; r += rows, to += rows)
        detail::sum_rows_together<Op, T, Products, rows>(to, static_cast<T const*>(x) + r * s.step,
                                                         Products ? static_cast<T const*>(y) + r * s.step : nullptr, s);
  if (s.width < simd::width<T> && s.width <= detail::most_short_width && s.count <= s.width && s.chains == 1 && begins && ends && s.copies == 1)
    for (; r + simd::width<T> <= s.rows; r += simd::width<T>, to += simd::width<T>)
      detail::sum_short_rows<Op, T, Products>(to, static_cast<T const*>(x) + r * s.step,
                                              Products ? static_cast<T const*>(y) + r * s.step : nullptr, s);
  for (; r < s.rows; ++r) {
    detail::sum_operand<Op, T, Products> const from{static_cast<T const*>(x) + r * s.step,
                                                    Products ? static_cast<T const*>(y) + r * s.step : nullptr};
    T const sum = s.width == simd::width<T> ? detail::sum_row(from, static_cast<T*>(state), s, begins, ends)
                                            : detail::sum_row_by_one(from, static_cast<T*>(state), s, begins, ends);
    for (std::int32_t k = 0; ends && k < s.copies; ++k) *to++ = sum;
  }
}

/// Adds the products of rows to contiguous columns, row after row.
template <class T> void add_column_products(void* result, void const* x, void const* y, row_sums const& s) {
  constexpr std::int64_t w = simd::width<T>;
  using V = simd::pack<T, simd::width<T>>;
  T* const to = static_cast<T*>(result);
  for (std::int64_t r = 0; r < s.rows; ++r) {
    detail::sum_operand<void, T, true> const from{static_cast<T const*>(x) + r * s.step, static_cast<T const*>(y) + r * s.step};
    std::int64_t i = 0;
    for (; i + w <= s.count; i += w) simd::store(to + i, from.with(simd::load<V>(to + i), i));
    for (; i < s.count; ++i) to[i] = from.one(to[i], i);
  }
}

template <class Op, class T> void begin_totals(void* state, std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k) static_cast<T*>(state)[k] = Op::template neutral<T>();
}

/// Combines rows with totals.
template <class Op, class T> void add_to_totals(void* state, void const* operand, total_sums const& s) {
  constexpr std::int64_t w = simd::width<T>;
  using V = simd::pack<T, simd::width<T>>;
  T const* const x = static_cast<T const*>(operand);
  T* const all = static_cast<T*>(state);
  std::int64_t const half = s.columns * s.width;
  auto const combine = [](T& to, T const& one) { to = Op::combine(T{to}, one); };
  if (s.by_row && s.columns == 1 && s.block == 1 && s.paired == 0 && s.count == 1 && s.step == 1) // one row after the other
    return detail::sum_rows_in_turn<Op, T, false, 1>(all, x, nullptr, 0, s.rows);
  std::int64_t block = s.first_row / s.block, next = s.first_row % s.block; // of the row
  for (std::int64_t r = 0; r < s.rows;) {
    std::int64_t const row = s.first_row + r, inside = next, left = s.rows - r;
    if (s.paired > 0 && row == s.paired)
      for (std::int64_t k = 0; k < half; ++k) combine(all[k], all[half + k]), all[half + k] = Op::template neutral<T>();
    T* const sums = all + (row < s.paired ? block % 2 * half : 0);
    std::int64_t const rest = s.block - inside < left ? s.block - inside : left;
    auto const go_on = [&](std::int64_t rows) {
      r += rows;
      next += rows;
      if (next == s.block) next = 0, ++block;
    };
    if (s.by_row) {
      if (s.columns == 1 && s.count == 1 && s.step == 1) {
        std::int64_t j = 0;
        for (; j + w <= rest; j += w) simd::store(sums + inside + j, V{Op::combine(simd::load<V>(sums + inside + j), simd::load<V>(x + r + j))});
        for (; j < rest; ++j) combine(sums[inside + j], x[r + j]);
      } else if (s.columns == 1) detail::sum_rows_in_turn<Op, T, false>(sums + inside, x + r * s.step, nullptr, rest, s.step, s.count);
      for (std::int64_t i = 0; i < s.count && s.columns > 1; ++i)
        for (std::int64_t j = 0; j < rest; ++j) combine(sums[i * s.width + inside + j], x[(r + j) * s.step + i]);
      go_on(rest);
      continue;
    }
    std::int64_t const wanted = s.whole_blocks && inside == 0 && rest == s.block ? s.block : s.together,
                       rows = wanted <= rest ? wanted : 1;
    std::int64_t i = 0;
    if (s.width == w) {
      V sum = simd::load<V>(sums);
      for (; i + w <= s.count; i += w)
        for (std::int64_t j = r; j < r + rows; ++j) sum = Op::combine(sum, simd::load<V>(x + j * s.step + i));
      simd::store(sums, sum);
    }
    for (; i < s.count; i += s.width)
      for (std::int64_t j = r; j < r + rows; ++j)
        for (std::int64_t k = 0; k < s.width && i + k < s.count; ++k) combine(sums[k], x[j * s.step + i + k]);
    go_on(rows);
  }
}
template <class Op, class T> void end_totals(void* result, void* state, total_sums const& s) {
  T* const all = static_cast<T*>(state);
  std::int64_t const half = s.columns * s.width;
  if (s.paired > 0 && s.first_row == s.paired) // no row came after the pairs
    for (std::int64_t k = 0; k < half; ++k) all[k] = Op::combine(T{all[k]}, T{all[half + k]});
  for (std::int64_t c = 0; c < s.columns; ++c) static_cast<T*>(result)[c] = detail::folded<Op>(all + c * s.width, s.width);
}

// Integers: their reductions have the same result in each order, so one loop serves all orders.

namespace detail {
template <class Op, class T> T with_integers(T result, T const* x, std::int64_t count) {
  constexpr std::int64_t w = simd::width<T>;
  using V = simd::pack<T, simd::width<T>>;
  std::int64_t i = 0;
  if (count >= 2 * w) {
    V all = simd::load<V>(x);
    for (i = w; i + w <= count; i += w) all = Op::combine(all, simd::load<V>(x + i));
    result = Op::combine(result, simd::detail::fold(all, combining<Op>{}));
  }
  for (; i < count; ++i) result = Op::combine(result, T{x[i]});
  return result;
}
} // namespace detail

/// As sum_rows.
template <class Op, class T>
void reduce_integer_rows(void* result, void* state, void const* x, void const*, row_sums const& s) {
  T *to = static_cast<T*>(result), *const kept = static_cast<T*>(state);
  bool const begins = s.start == 0, ends = s.start + s.count == s.total;
  for (std::int64_t r = 0; r < s.rows; ++r) {
    T const one = detail::with_integers<Op>(begins ? Op::template neutral<T>() : *kept, static_cast<T const*>(x) + r * s.step, s.count);
    if (!ends) *kept = one;
    for (std::int32_t k = 0; ends && k < s.copies; ++k) *to++ = one;
  }
}
/// As add_to_totals: combined with the first partial result of each total.
template <class Op, class T> void add_integers_to_totals(void* state, void const* operand, total_sums const& s) {
  T const* const x = static_cast<T const*>(operand);
  T* const all = static_cast<T*>(state);
  if (s.columns == 1 && s.step == s.count) all[0] = detail::with_integers<Op>(all[0], x, s.rows * s.count);
  else
    for (std::int64_t r = 0; r < s.rows; ++r) {
      if (s.columns == 1) all[0] = detail::with_integers<Op>(all[0], x + r * s.step, s.count);
      for (std::int64_t i = 0; i < s.count && s.columns > 1; ++i)
        all[i * s.width] = Op::combine(T{all[i * s.width]}, T{x[r * s.step + i]});
    }
}

} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
