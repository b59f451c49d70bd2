// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_REDUCE_HPP
#define COTANGENT_KERNELS_REDUCE_HPP

#include <cotangent/kernels/simd.hpp>

#include <cstdint>

// Reductions over one axis, in a fixed order: an element of the result depends on the operand's elements and
// their number, never on its position. Op defines `combine(a, b)` over values and `neutral<T>()`.

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {

/// The sizes of a reduction: `kept` rows of the result (or columns, side by side), `reduced` elements for
/// each.
struct reduce_shape {
  std::int64_t kept = 1, reduced = 1;
  std::int64_t step =
      // in the operand: from one kept row to the next; for columns, from one element of a column to the next
      0;
  std::int64_t to_step = 1;   // in the result, from row to row
  bool first = true;          // assign; else combine with the old value
  std::int64_t blocks = 1, block_step = 0, block_to = 0; // of columns: the same again, that far on in operand and result
  void const* self = nullptr; // user data of the table's builder
};

using reduce_kernel = void (*)(void* result, void const* operand, reduce_shape const& s);

namespace detail {

template <class Op> struct combining {
  template <class V> COTANGENT_INLINE V operator()(V const& a, V const& b) const { return Op::combine(a, b); }
};

/// Reduces n contiguous elements: four interleaved packs, then single packs, then the lanes; element by
/// element if there are fewer than a pack. The neutral value takes part only if there are no elements: with
/// -ffast-math an infinity must not.
template <class Op, class T>
COTANGENT_INLINE T reduce_run(T const* x, std::int64_t n) {
  constexpr std::int64_t w = simd::width<T>;
  using V = simd::pack<T, simd::width<T>>;
  if (n < w) {
    if (n <= 0) return Op::template neutral<T>();
    T r = *x;
    for (std::int64_t i = 1; i < n; ++i) r = Op::combine(r, T{x[i]});
    return r;
  }
  V a = simd::load<V>(x);
  std::int64_t i = w;
  if (n >= 4 * w) {
    V b = simd::load<V>(x + w), c = simd::load<V>(x + 2 * w), d = simd::load<V>(x + 3 * w);
    for (i = 4 * w; i + 4 * w <= n; i += 4 * w) {
      a = Op::combine(a, simd::load<V>(x + i));
      b = Op::combine(b, simd::load<V>(x + i + w));
      c = Op::combine(c, simd::load<V>(x + i + 2 * w));
      d = Op::combine(d, simd::load<V>(x + i + 3 * w));
    }
    a = Op::combine(V{Op::combine(a, b)}, V{Op::combine(c, d)});
  }
  for (; i + w <= n; i += w) a = Op::combine(a, simd::load<V>(x + i));
  if (i < n) {
    V const rest = Op::combine(a, simd::load<V>(x + i, n - i));
    a = math::select(simd::first<math::mask_t<V>>(n - i), rest, a);
  }
  return simd::detail::fold(a, combining<Op>{});
}

/// Reduces `Vectors` packs of columns over all rows; if Partial, the first `columns` lanes of one pack.
template <class Op, class T, int Vectors, bool Partial = false>
COTANGENT_INLINE void reduce_block(T* to, T const* x, reduce_shape const& s, std::int64_t columns = 0) {
  constexpr int w = simd::width<T>;
  using V = simd::pack<T, w>;
  auto const load = [columns](T const* p) {
    if constexpr (Partial) return simd::load<V>(p, columns);
    else return static_cast<void>(columns), simd::load<V>(p);
  };
  std::int64_t k = 0;
  V a[Vectors];
#pragma GCC unroll 4
  for (int v = 0; v < Vectors; ++v)
    a[v] = !s.first         ? load(to + v * w)
           : s.reduced == 0 ? math::broadcast<V>(Op::template neutral<T>())
                            : load(x + v * w);
  if (s.first && s.reduced != 0) {
    ++k;
    x += s.step;
  }
  for (; k < s.reduced; ++k, x += s.step)
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) a[v] = Op::combine(a[v], load(x + v * w));
#pragma GCC unroll 4
  for (int v = 0; v < Vectors; ++v)
    if constexpr (Partial) simd::store(to + v * w, a[v], columns);
    else simd::store(to + v * w, a[v]);
}

} // namespace detail

/// A part of the elements that are reduced to one: `count` of `total` elements, from `start` on. All parts
/// but the last two hold a multiple of four packs; all but the last hold whole packs.
struct reduce_part {
  std::int64_t start = 0, count = 0, total = 0;
};

using part_kernel = void (*)(void* result, void* state, void const* operand, reduce_part const& s);
inline constexpr std::int64_t part_state_bytes = 4 * simd::bytes + 64;

/// Reduces one part after another as they are computed, in the order of `reduce_rows`. `state` lives across
/// parts; the last part writes the result.
template <class Op, class T>
void reduce_parts(void* result, void* state, void const* operand, reduce_part const& s) {
  constexpr std::int64_t w = simd::width<T>;
  using V = simd::pack<T, simd::width<T>>;
  T const* const x = static_cast<T const*>(operand);
  T* const sums = static_cast<T*>(state);
  if (s.total < w) {
    *static_cast<T*>(result) = detail::reduce_run<Op, T>(x, s.total);
    return;
  }
  bool one = true; // true once the four partial sums are combined into a
  std::int64_t i = 0;
  V a{}, b{}, c{}, d{};
  if (s.start == 0) {
    a = simd::load<V>(x);
    i = w;
    if (s.total >= 4 * w && s.count >= 4 * w) {
      b = simd::load<V>(x + w), c = simd::load<V>(x + 2 * w), d = simd::load<V>(x + 3 * w);
      i = 4 * w;
      one = false;
    }
  } else {
    a = simd::load<V>(sums), b = simd::load<V>(sums + w), c = simd::load<V>(sums + 2 * w),
    d = simd::load<V>(sums + 3 * w);
    one = sums[4 * w] != T{};
  }
  if (!one) {
    for (; i + 4 * w <= s.count; i += 4 * w) {
      a = Op::combine(a, simd::load<V>(x + i));
      b = Op::combine(b, simd::load<V>(x + i + w));
      c = Op::combine(c, simd::load<V>(x + i + 2 * w));
      d = Op::combine(d, simd::load<V>(x + i + 3 * w));
    }
    if (i < s.count || s.start + s.count == s.total) {
      a = Op::combine(V{Op::combine(a, b)}, V{Op::combine(c, d)});
      one = true;
    }
  }
  for (; i + w <= s.count; i += w) a = Op::combine(a, simd::load<V>(x + i));
  if (s.start + s.count < s.total) {
    simd::store(sums, a), simd::store(sums + w, b), simd::store(sums + 2 * w, c),
        simd::store(sums + 3 * w, d);
    sums[4 * w] = one ? T{1} : T{};
    return;
  }
  if (i < s.count) {
    V const rest = Op::combine(a, simd::load<V>(x + i, s.count - i));
    a = math::select(simd::first<math::mask_t<V>>(s.count - i), rest, a);
  }
  *static_cast<T*>(result) = simd::detail::fold(a, detail::combining<Op>{});
}

/// Reduces rows of `reduced` contiguous elements to one element each.
template <class Op, class T>
void reduce_rows(void* result, void const* operand, reduce_shape const& s) {
  T const* x = static_cast<T const*>(operand);
  T* to = static_cast<T*>(result);
  for (std::int64_t k = 0; k < s.kept; ++k, x += s.step, to += s.to_step) {
    T const r = detail::reduce_run<Op, T>(x, s.reduced);
    *to = s.first ? r : static_cast<T>(Op::combine(T{*to}, r));
  }
}

/// Reduces `kept` contiguous columns of `reduced` elements each to as many contiguous elements, in each block.
template <class Op, class T>
void reduce_columns(void* result, void const* operand, reduce_shape const& s) {
  constexpr std::int64_t w = simd::width<T>;
  T const* first = static_cast<T const*>(operand);
  T* into = static_cast<T*>(result);
  for (std::int64_t b = 0; b < s.blocks; ++b, first += s.block_step, into += s.block_to) {
    T const* x = first;
    T* to = into;
    std::int64_t left = s.kept;
    for (; left >= 4 * w; left -= 4 * w, x += 4 * w, to += 4 * w) detail::reduce_block<Op, T, 4>(to, x, s);
    for (; left >= w; left -= w, x += w, to += w) detail::reduce_block<Op, T, 1>(to, x, s);
    if (left > 0) detail::reduce_block<Op, T, 1, true>(to, x, s, left);
  }
}

} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
