// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_ACCUMULATE_HPP
#define COTANGENT_KERNELS_ACCUMULATE_HPP

#include <cotangent/kernels/movement.hpp>
#include <cotangent/kernels/simd.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>

// Kernels that add elements to those of another tensor: a strided block to a window, rows to rows that
// indices select.

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {

namespace detail {

/// to[i] += from(i) for whole packs, then for the rest; `from(i, count)` is a pack of the first `count`
/// elements.
template <class T, class Whole, class Part, class One>
COTANGENT_INLINE void add_packs(std::int64_t count, T* to, Whole whole, Part part, One one) {
  constexpr std::int64_t w = simd::width<T>;
  using V = simd::pack<T, static_cast<int>(w)>;
  std::int64_t i = 0;
  for (; i + 2 * w <= count; i += 2 * w) {
    V const low = math::add(simd::load<V>(to + i), whole(i)), high = math::add(simd::load<V>(to + i + w), whole(i + w));
    simd::store(to + i, low);
    simd::store(to + i + w, high);
  }
  if (i + w <= count) {
    simd::store(to + i, math::add(simd::load<V>(to + i), whole(i)));
    i += w;
  }
  if (i == count) return;
  if constexpr (simd::detail::masked_memory<V>)
    simd::store(to + i, math::add(simd::load<V>(to + i, count - i), part(i, count - i)), count - i);
  else
    for (; i < count; ++i) to[i] = math::add(to[i], one(i));
}

template <class T> COTANGENT_INLINE void add_elements(std::int64_t count, T const* from, T* to) {
  using V = simd::pack<T, simd::width<T>>;
  detail::add_packs(
      count, to, [&](std::int64_t i) { return simd::load<V>(from + i); },
      [&](std::int64_t i, std::int64_t n) { return simd::load<V>(from + i, n); },
      [&](std::int64_t i) { return from[i]; });
}
template <class T> COTANGENT_INLINE void add_one_element(std::int64_t count, T x, T* to) {
  using V = simd::pack<T, simd::width<T>>;
  V const v = math::broadcast<V>(x);
  detail::add_packs(
      count, to, [&](std::int64_t) { return v; }, [&](std::int64_t, std::int64_t) { return v; },
      [&](std::int64_t) { return x; });
}

/// Part `K` of the S packs that one pack becomes if its elements are spread at stride S; the lanes between
/// hold arbitrary values.
template <int S, int K, class V, int... I>
COTANGENT_INLINE V set_apart(V const& v, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(v, v, ((K * simd::lanes<V> + I) / S)...);
}
template <int S, int K, class M, int... I>
COTANGENT_INLINE constexpr M every(std::integer_sequence<int, I...>) {
  return M{((K * simd::lanes<M> + I) % S == 0 ? simd::lane_t<M>(-1) : simd::lane_t<M>(0))...};
}

/// True if packs add elements at stride S faster than a scalar loop does.
template <class T, int S>
inline constexpr bool packs_apart = simd::width<T> > 2 * S ||
                                    (simd::width<T> == 2 * S && simd::width<T> == 4 && sizeof(T) == 4);

/// to[S i] += from(i) for as many elements as packs hold; returns their number. Elements between them are
/// read and written back unchanged. `from(i, part, lanes)`: the pack to add at part `part` of block i, of
/// which `lanes` lanes are in the row.
template <int S, class T, class From>
COTANGENT_INLINE std::int64_t add_apart(std::int64_t count, T* to, From from) {
  constexpr int w = simd::width<T>;
  using V = simd::pack<T, w>;
  using M = simd::mask_t<V>;
  constexpr std::make_integer_sequence<int, w> all{};
  constexpr std::make_integer_sequence<int, S> parts{};
  auto const sum = [&](V const& x, V const& y, auto k) {
    return math::select(detail::every<S, decltype(k)::value, M>(all), math::add(x, y), x);
  };
  std::int64_t i = 0;
  for (; i + w < count; i += w) // the last element of a block precedes the end of the last pack
    [&]<int... K>(std::integer_sequence<int, K...>) {
      auto const part = [&](auto k) {
        T* const p = to + S * i + k * w;
        simd::store(p, sum(simd::load<V>(p), from(i, k, std::int64_t{w}), k));
      };
      (part(std::integral_constant<int, K>{}), ...);
    }(parts);
  if constexpr (simd::detail::masked_memory<V>) {
    std::int64_t const lanes = (count - i - 1) * S + 1;
    [&]<int... K>(std::integer_sequence<int, K...>) {
      auto const part = [&](auto k) {
        T* const p = to + S * i + k * w;
        std::int64_t const n = lanes - k * w;
        if (n > 0) simd::store(p, sum(simd::load<V>(p, n), from(i, k, n), k), n);
      };
      (part(std::integral_constant<int, K>{}), ...);
    }(parts);
    return count;
  }
  return i;
}
/// `add_apart` from a row with step 1 or S; 0 for any other step.
template <int S, class T>
COTANGENT_INLINE std::int64_t add_row_apart(std::int64_t count, T const* from, std::int64_t from_step,
                                            T* to) {
  constexpr int w = simd::width<T>;
  using V = simd::pack<T, w>;
  if (from_step == 1)
    return detail::add_apart<S>(count, to, [&](std::int64_t i, auto k, std::int64_t) {
      V const v = i + w < count ? simd::load<V>(from + i) : simd::load<V>(from + i, count - i);
      return detail::set_apart<S, decltype(k)::value>(v, std::make_integer_sequence<int, w>{});
    });
  if (from_step == S)
    return detail::add_apart<S>(count, to, [&](std::int64_t i, auto k, std::int64_t lanes) {
      T const* const p = from + S * i + k * w;
      return lanes >= w ? simd::load<V>(p) : simd::load<V>(p, lanes);
    });
  return 0;
}

/// Adds a row, element by element in order.
template <class T>
COTANGENT_INLINE void add_row(std::int64_t count, T const* from, std::int64_t from_step, T* to,
                              std::int64_t to_step) {
  if (to_step == 1 && from_step == 1) return detail::add_elements(count, from, to);
  if (to_step == 1 && from_step == 0) return detail::add_one_element(count, *from, to);
  std::int64_t done = 0;
  if constexpr (detail::packs_apart<T, 2>)
    if (to_step == 2) done = detail::add_row_apart<2>(count, from, from_step, to);
  if constexpr (detail::packs_apart<T, 3>)
    if (to_step == 3) done = detail::add_row_apart<3>(count, from, from_step, to);
  if constexpr (detail::packs_apart<T, 4>)
    if (to_step == 4) done = detail::add_row_apart<4>(count, from, from_step, to);
  for (std::int64_t i = done; i < count; ++i)
    to[i * to_step] = math::add(to[i * to_step], from[i * from_step]);
}

/// Adds if rows of the destination are columns of the source: squares of packs are transposed in registers.
template <class T> void add_turned(copy_axis a, copy_axis b, T const* from, T* to) {
  constexpr std::int64_t w = simd::width<T>;
  using V = simd::pack<T, static_cast<int>(w)>;
  std::int64_t const rows = a.extent / w * w, columns = b.extent / w * w;
  for (std::int64_t i = 0; i < rows; i += w)
    for (std::int64_t j = 0; j < columns; j += w) {
      V square[static_cast<std::size_t>(w)];
      for (std::int64_t k = 0; k < w; ++k) square[k] = simd::load<V>(from + i + (j + k) * b.from);
      simd::transpose(square);
      for (std::int64_t k = 0; k < w; ++k) {
        T* const row = to + (i + k) * a.to + j;
        simd::store(row, math::add(simd::load<V>(row), square[k]));
      }
    }
  for (std::int64_t i = 0; i < a.extent; ++i) {
    std::int64_t const done = i < rows ? columns : 0;
    detail::add_row(b.extent - done, from + i + done * b.from, b.from, to + i * a.to + done, 1);
  }
}

template <class T> [[gnu::noinline]] void add_plane(copy_axis a, copy_axis b, bool apart, T const* from,
                                                    T* to) {
  constexpr std::int64_t w = simd::width<T>;
  if (apart && b.to == 1 && b.from != 1 && a.from == 1 && a.extent >= w && b.extent >= w)
    return detail::add_turned(a, b, from, to);
  for (std::int64_t i = 0; i < a.extent; ++i)
    detail::add_row(b.extent, from + i * a.from, b.from, to + i * a.to, b.to);
}

/// True if all positions along these axes are distinct elements. It suffices that each stride exceeds the
/// reach of all shorter ones.
inline bool stand_apart(int count, copy_axis const* axis) {
  constexpr auto size = [](std::int64_t stride) { return stride < 0 ? -stride : stride; };
  bool used[copy_rank] = {};
  for (std::int64_t done = 0, reach = 0; done < count; ++done) {
    int least = -1;
    for (int k = 0; k < count; ++k)
      if (!used[k] && (least < 0 || size(axis[k].to) < size(axis[least].to))) least = k;
    used[least] = true;
    if (size(axis[least].to) <= reach) return false;
    reach += (axis[least].extent - 1) * size(axis[least].to);
  }
  return true;
}

} // namespace detail

/// to[i . to_strides] += from[i . from_strides] for every index i below `extents`. Strides count elements;
/// all may be negative or zero. An element of `to` that occurs at several positions gets its terms in
/// row-major order of the index. Rank: at most copy_rank. The two must not overlap. Integers wrap. Elements
/// between those of a row may be read, and written back unchanged.
/// Cost: packs along rows, also at stride 2 (3 and 4 with wide packs); squares are transposed in registers if
/// rows of `to` are columns of `from`.
/// Checked: tests/runtime/movement_kernels.cpp
template <class T>
void accumulate(int rank, std::int64_t const* extents, T const* from, std::int64_t const* from_strides, T* to,
                std::int64_t const* to_strides) {
  static_assert(!std::is_same_v<T, bool>);
  // Axes with stride 0 in `to` come first, in their order: each element still gets its terms in order.
  copy_axis axis[copy_rank];
  int still = 0, count = 0;
  for (int k = 0; k < rank; ++k) {
    if (extents[k] <= 0) return;
    if (extents[k] > 1 && to_strides[k] == 0) axis[still++] = {extents[k], from_strides[k], 0};
  }
  copy_axis* const moving = axis + still;
  for (int k = 0; k < rank; ++k)
    if (extents[k] > 1 && to_strides[k] != 0) moving[count++] = {extents[k], from_strides[k], to_strides[k]};
  bool const apart = detail::stand_apart(count, moving);
  if (apart) { // then any order is correct
    std::int64_t n[copy_rank], f[copy_rank], t[copy_rank];
    for (int k = 0; k < count; ++k) n[k] = moving[k].extent, f[k] = moving[k].from, t[k] = moving[k].to;
    copy_axes const ordered = kernels::order_axes(count, n, f, t);
    count = ordered.count;
    for (int k = 0; k < count; ++k) moving[k] = ordered.axis[k];
  } else { // keep the order of all axes, also of those with stride 0
    still = count = 0;
    for (int k = 0; k < rank; ++k)
      if (extents[k] > 1) axis[count++] = {extents[k], from_strides[k], to_strides[k]};
  }
  count += still;
  // The plane: the last axis, and the axis along which the source is contiguous, else the last but one.
  int const last = count - 1;
  int other = last - 1;
  for (int k = still; apart && k < last; ++k)
    if (axis[k].from == 1) other = k;
  copy_axis const a = last > 0 ? axis[other] : copy_axis{},
                          b = last >= 0 ? axis[last] : copy_axis{};
  detail::for_planes(axis, last, other, from, to, [&](T const* from_plane, T* to_plane) {
    detail::add_plane(a, b, apart, from_plane, to_plane);
  });
}

/// Adds row i of `from` to row indices[i] of `to`, or copies it there, in the order of i. Returns false if an index was out of
/// range: it is clamped, and if `to` has no rows, nothing is written. Integers wrap.
template <bool Sets, class T, class Index>
bool scatter_rows(std::int64_t count, Index const* indices, std::int64_t rows, std::int64_t size,
                  T const* from, std::int64_t from_row, T* to, std::int64_t to_row) {
  if (rows <= 0) return count <= 0;
  bool fits = true;
  auto const place = [&](std::int64_t i) { return to + detail::clamp_index(indices[i], rows, fits) * to_row; };
  bool const is_short = detail::for_short_rows(size, [&]<int Size>() {
    for (std::int64_t i = 0; i < count; ++i) {
      T* const row = place(i);
      for (int j = 0; j < Size; ++j)
        if constexpr (Sets) row[j] = from[i * from_row + j];
        else row[j] = math::add(row[j], from[i * from_row + j]);
    }
  });
  for (std::int64_t i = 0; i < count && !is_short; ++i)
    if constexpr (Sets) detail::copy_elements(size, from + i * from_row, place(i));
    else detail::add_elements(size, from + i * from_row, place(i));
  return fits;
}

} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
