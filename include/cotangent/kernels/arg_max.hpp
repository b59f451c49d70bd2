// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_ARG_MAX_HPP
#define COTANGENT_KERNELS_ARG_MAX_HPP

#include <cotangent/kernels/simd.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {

namespace detail {

/// True if x replaces `best`, which has a smaller index: x is larger, or the first NaN.
template <class V>
COTANGENT_INLINE math::mask_t<V> takes_over(V const& x, V const& best) {
  using mask = math::mask_t<V>;
  if constexpr (math::is_floating<V>) // (with -ffast-math the result of a comparison with NaN must not count)
    return math::logical_and<mask>(math::logical_or<mask>(x > best, math::is_nan(x)),
                                   math::logical_not<mask>(math::is_nan(best)));
  else return x > best;
}

template <class T>
COTANGENT_INLINE std::int64_t first_largest(std::int64_t from, std::int64_t count, T const* x,
                                            std::int64_t stride, T best, std::int64_t at) {
  for (std::int64_t p = from; p < count; ++p)
    if (detail::takes_over(x[p * stride], best)) {
      best = x[p * stride];
      at = p;
    }
  return at;
}

/// Contiguous elements, at least one register of them.
template <class T>
[[gnu::noinline]] std::int64_t first_largest_of_row(std::int64_t count, T const* x) {
  constexpr int w = simd::width<T>;
  using V = simd::pack<T, w>;
  using I = math::bits_t<V>;
  using lane = math::lane_t<I>;
  V best = simd::load<V>(x);
  I at = simd::iota<I>(0);
  std::int64_t p = w;
  for (; p + w <= count; p += w) {
    V const v = simd::load<V>(x + p);
    auto const m = detail::takes_over(v, best);
    best = math::select(m, v, best);
    at = math::select(m, simd::iota<I>(static_cast<lane>(p)), at);
  }
  T value = math::get(best, 0);
  std::int64_t result = math::get(at, 0);
  for (int i = 1; i < w; ++i) {
    T const v = math::get(best, i);
    std::int64_t const where = math::get(at, i);
    bool const equal = !detail::takes_over(v, value) && !detail::takes_over(value, v);
    if (detail::takes_over(v, value) || (equal && where < result)) {
      value = v;
      result = where;
    }
  }
  return detail::first_largest(p, count, x, 1, value, result);
}

/// W independent searches, one in each lane.
template <class T, class Index>
COTANGENT_INLINE void first_largest_of_columns(std::int64_t count, T const* x, std::int64_t stride, Index* y,
                                               std::int64_t y_stride) {
  constexpr int w = simd::width<T>;
  using V = simd::pack<T, w>;
  using I = math::bits_t<V>;
  using lane = math::lane_t<I>;
  V best = simd::load<V>(x);
  I at{};
  for (std::int64_t p = 1; p < count; ++p) {
    V const v = simd::load<V>(x + p * stride);
    auto const m = detail::takes_over(v, best);
    best = math::select(m, v, best);
    at = math::select(m, math::broadcast<I>(static_cast<lane>(p)), at);
  }
  lane found[static_cast<std::size_t>(w)];
  simd::store(found, at);
  for (int i = 0; i < w; ++i) y[i * y_stride] = static_cast<Index>(found[i]);
}

} // namespace detail

/// y(o, i) = the position p of the maximum of x(o, p, i) along an axis; each index has its stride.
/// Domain: the first of equal elements; the first NaN if there is one; 0 if the axis is empty.
/// Checked: tests/runtime/movement_kernels.cpp
template <class T, class Index>
void arg_max(std::int64_t outer, std::int64_t axis, std::int64_t inner, T const* x, std::int64_t x_outer,
             std::int64_t x_axis, std::int64_t x_inner, Index* y, std::int64_t y_outer,
             std::int64_t y_inner) {
  constexpr std::int64_t w = simd::width<T>;
  // a position must fit a lane
  constexpr bool packs = w > 1 && !std::is_same_v<T, bool>;
  bool const short_axis = axis <= std::numeric_limits<std::int32_t>::max();
  for (std::int64_t o = 0; o < outer; ++o) {
    std::int64_t i = 0;
    if constexpr (packs)
      if (x_inner == 1 && short_axis && axis > 0)
        for (; i + w <= inner; i += w)
          detail::first_largest_of_columns(axis, x + o * x_outer + i, x_axis, y + o * y_outer + i * y_inner,
                                           y_inner);
    for (; i < inner; ++i) {
      Index& result = y[o * y_outer + i * y_inner];
      if (axis == 0) { // (x may be null)
        result = Index{};
        continue;
      }
      T const* const row = x + o * x_outer + i * x_inner;
      if constexpr (packs)
        if (x_axis == 1 && axis >= 2 * w && short_axis) {
          result = static_cast<Index>(detail::first_largest_of_row(axis, row));
          continue;
        }
      result = static_cast<Index>(detail::first_largest(1, axis, row, x_axis, *row, 0));
    }
  }
}

} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
