// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_MOVEMENT_HPP
#define COTANGENT_KERNELS_MOVEMENT_HPP

#include <cotangent/kernels/simd.hpp>
#include <cotangent/kernels/transpose.hpp>

#include <cstdint>
#include <cstring>
#include <type_traits>

// Kernels that move elements: copies between strided views, rows that indices select.

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {

inline constexpr int copy_rank = 8;

/// One axis of a copy: its extent and its two strides.
struct copy_axis {
  std::int64_t extent = 1, from = 0, to = 0;
};

struct copy_axes {
  copy_axis axis[copy_rank];
  int count = 0; // 0: a single element
  bool empty = false;
};

/// The axes in the order of the destination, without those of size 1; contiguous axes are merged.
inline copy_axes order_axes(int rank, std::int64_t const* extents, std::int64_t const* from,
                            std::int64_t const* to) {
  constexpr auto size = [](std::int64_t stride) { return stride < 0 ? -stride : stride; };
  copy_axes r;
  for (int k = 0; k < rank; ++k) {
    if (extents[k] <= 0) r.empty = true;
    if (extents[k] <= 1) continue;
    int i = r.count++;
    for (; i > 0 && size(r.axis[i - 1].to) < size(to[k]); --i) r.axis[i] = r.axis[i - 1];
    r.axis[i] = {extents[k], from[k], to[k]};
  }
  int joined = 0;
  for (int k = 0; k < r.count; ++k) {
    copy_axis const inner = r.axis[k];
    if (joined > 0) {
      copy_axis& outer = r.axis[joined - 1];
      if (outer.to == inner.to * inner.extent && outer.from == inner.from * inner.extent) {
        outer = {outer.extent * inner.extent, inner.from, inner.to};
        continue;
      }
    }
    r.axis[joined++] = inner;
  }
  r.count = joined;
  return r;
}

namespace detail {

template <class T>
COTANGENT_INLINE void copy_elements(std::int64_t count, T const* from, T* to) {
  constexpr std::int64_t w = simd::width<T>;
  if constexpr (w > 1 && std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
    if (count * static_cast<std::int64_t>(sizeof(T)) < 512) { // a call costs more
      using V = simd::pack<T, static_cast<int>(w)>;
      for (; count >= w; count -= w, from += w, to += w) simd::store(to, simd::load<V>(from));
      if constexpr (simd::detail::masked_memory<V>) {
        if (count > 0) simd::store(to, simd::load<V>(from, count), count);
      } else
        for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
      return;
    }
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
}

template <class T> COTANGENT_INLINE void fill_elements(std::int64_t count, T x, T* to) {
  if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    constexpr int w = simd::width<T>;
    auto const v = math::broadcast<simd::pack<T, w>>(x);
    for (; count >= w; count -= w, to += w) simd::store(to, v);
  }
  for (std::int64_t i = 0; i < count; ++i) to[i] = x;
}

/// Calls `do_plane(from, to)` for every index of the axes below `last` except `other`, the last axis fastest.
template <class T, class F>
COTANGENT_INLINE void for_planes(copy_axis const* axis, int last, int other, T const* from, T* to, F const& do_plane) {
  copy_axis outer[copy_rank];
  std::int64_t index[copy_rank] = {};
  int count = 0;
  for (int k = 0; k < last; ++k)
    if (k != other) outer[count++] = axis[k];
  for (;;) {
    do_plane(from, to);
    int k = count - 1;
    for (; k >= 0; --k) {
      from += outer[k].from;
      to += outer[k].to;
      if (++index[k] < outer[k].extent) break;
      index[k] = 0;
      from -= outer[k].extent * outer[k].from;
      to -= outer[k].extent * outer[k].to;
    }
    if (k < 0) return;
  }
}

/// Copies two axes; b is the inner one unless strides say otherwise.
template <class T>
[[gnu::noinline]] void copy_plane(copy_axis a, copy_axis b, T const* from, T* to) {
  if (b.to == 1 && b.from == 1)
    for (std::int64_t i = 0; i < a.extent; ++i)
      detail::copy_elements(b.extent, from + i * a.from, to + i * a.to);
  else if (b.from == 0)
    for (std::int64_t i = 0; i < a.extent; ++i) {
      T const x = from[i * a.from];
      if (b.to == 1) fill_elements(b.extent, x, to + i * a.to);
      else
        for (std::int64_t j = 0; j < b.extent; ++j) to[i * a.to + j * b.to] = x;
    }
  else if (b.to == 1 && a.from == 1) kernels::transpose(b.extent, a.extent, from, b.from, to, a.to);
  else
    for (std::int64_t i = 0; i < a.extent; ++i)
      for (std::int64_t j = 0; j < b.extent; ++j) to[i * a.to + j * b.to] = from[i * a.from + j * b.from];
}

} // namespace detail

/// Copies along axes in order: see below.
template <class T> void copy(copy_axes const& axes, T const* from, T* to) {
  if (axes.empty) return;
  if (axes.count == 0) {
    *to = *from;
    return;
  }
  // The plane: the last axis, and the axis along which the source is contiguous, else the last but one.
  int const last = axes.count - 1;
  int other = last - 1;
  for (int k = 0; k < last; ++k)
    if (axes.axis[k].from == 1) other = k;
  copy_axis const a = last > 0 ? axes.axis[other] : copy_axis{}, b = axes.axis[last];
  constexpr int w = simd::width<T>;
  if constexpr (w > 1 && std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
    if (b.to == 1 && b.from == 1 && b.extent == w)
      return detail::for_planes(axes.axis, last, other, from, to, [&](T const* from_plane, T* to_plane) {
        auto line = simd::load<simd::pack<T, w>>(from_plane);
        for (std::int64_t i = 0; i < a.extent; ++i, to_plane += a.to) {
          if (a.from != 0) line = simd::load<simd::pack<T, w>>(from_plane + i * a.from); // (else it is repeated)
          simd::store(to_plane, line);
        }
      });
  if (b.to == 1 && b.from == 1 && b.extent < 64) // short rows: a call for each plane would cost as much as its copy
    return detail::for_planes(axes.axis, last, other, from, to, [&](T const* from_plane, T* to_plane) {
      for (std::int64_t i = 0; i < a.extent; ++i) detail::copy_elements(b.extent, from_plane + i * a.from, to_plane + i * a.to);
    });
  detail::for_planes(axes.axis, last, other, from, to,
                     [&](T const* from_plane, T* to_plane) { detail::copy_plane(a, b, from_plane, to_plane); });
}

/// to[i . to_strides] = from[i . from_strides] for every index i below `extents`. Strides count elements;
/// they may be negative, those of `from` also zero. Rank: at most copy_rank. The two must not overlap.
/// Cost: transposes go through registers; contiguous rows are copied as such.
/// Checked: tests/runtime/movement_kernels.cpp
template <class T>
void copy(int rank, std::int64_t const* extents, T const* from, std::int64_t const* from_strides, T* to,
          std::int64_t const* to_strides) {
  kernels::copy(kernels::order_axes(rank, extents, from_strides, to_strides), from, to);
}

namespace detail {

/// (A branch that is predicted, since the load that follows must not wait for it. Of a minimum g++ makes one in a vector register.)
template <class Index>
COTANGENT_INLINE std::int64_t clamp_index(Index index, std::int64_t rows, bool& fits) {
  auto const i = static_cast<std::int64_t>(index);
  if (static_cast<std::uint64_t>(i) < static_cast<std::uint64_t>(rows)) [[likely]] return i;
  fits = false;
  return i < 0 ? 0 : rows - 1;
}

/// Calls `body` with the size of short rows as a constant, for which packs are too long: points, and single elements. False for others.
template <class Body> COTANGENT_INLINE bool for_short_rows(std::int64_t size, Body body) {
  switch (size) {
  case 1: return body.template operator()<1>(), true;
  case 2: return body.template operator()<2>(), true;
  case 3: return body.template operator()<3>(), true;
  default: return false;
  }
}

} // namespace detail

/// Copies row indices[i] of `from` to row i of `to`. A row has `size` contiguous elements; rows are
/// `from_row`, `to_row` elements apart. Returns false if an index was out of range: it is clamped, and if
/// `from` has no rows, zeros are written.
template <class T, class Index>
bool gather_rows(std::int64_t count, Index const* indices, std::int64_t rows, std::int64_t size,
                 T const* from, std::int64_t from_row, T* to, std::int64_t to_row) {
  if (rows <= 0) {
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t j = 0; j < size; ++j) to[i * to_row + j] = T{};
    return count <= 0;
  }
  bool fits = true;
  auto const place = [&](std::int64_t i) { return from + detail::clamp_index(indices[i], rows, fits) * from_row; };
  bool const is_short = detail::for_short_rows(size, [&]<int Size>() {
    for (std::int64_t i = 0; i < count; ++i) {
      T const* const row = place(i);
      for (int j = 0; j < Size; ++j) to[i * to_row + j] = row[j];
    }
  });
  for (std::int64_t i = 0; i < count && !is_short; ++i) detail::copy_elements(size, place(i), to + i * to_row);
  return fits;
}

} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
