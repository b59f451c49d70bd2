// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_PATCHES_HPP
#define COTANGENT_KERNELS_PATCHES_HPP

#include <cotangent/core/stencil.hpp>
#include <cotangent/kernels/simd.hpp>

#include <cstdint>
#include <cstring>

// Copies the pixels under windows to rows of a matrix (im2col), and adds them back (col2im).

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {

/// A range of channels of an image.
struct channel_range {
  std::int64_t first, count;
};

namespace detail {

/// Calls `run(offset in the image, offset in the row of the matrix, elements)` for the parts of a window
/// inside the image, and `border(offset in the row, elements)` for the parts outside, from left to right.
template <class Run, class Border>
COTANGENT_INLINE void for_runs(cotangent::detail::stencil const& z, channel_range channels, cotangent::detail::stencil_position const& at, Run run,
                               Border border) {
  std::int64_t const line = z.wide * channels.count;
  cotangent::detail::stencil::range const across = z.columns_inside(at.column);
  bool const joined = z.spread_right == 1 && channels.count == z.channels; // contiguous in both
  for (std::int64_t i = 0, to = 0; i < z.tall; ++i, to += line) {
    std::int64_t const y = z.row(at.row, i);
    if (y < 0 || y >= z.height || across.first == across.end) {
      border(to, line);
      continue;
    }
    border(to, across.first * channels.count);
    if (joined)
      run(z.pixel(at.image, y, z.column(at.column, across.first)), to + across.first * channels.count,
          (across.end - across.first) * channels.count);
    else
      for (std::int64_t j = across.first; j < across.end; ++j)
        run(z.pixel(at.image, y, z.column(at.column, j)) + channels.first, to + j * channels.count,
            channels.count);
    border(to + across.end * channels.count, line - across.end * channels.count);
  }
}

/// to[k] += from[k].
template <class T> COTANGENT_INLINE void add_to(T* to, T const* from, std::int64_t count) {
  constexpr int w = simd::width<T>;
  using V = simd::pack<T, w>;
  std::int64_t k = 0;
  for (; k + w <= count; k += w) simd::store(to + k, simd::load<V>(to + k) + simd::load<V>(from + k));
  for (; k < count; ++k) to[k] += from[k];
}

/// Calls `run(image, matrix, n)` for the runs of `count` windows from `first` on, and `border(matrix, n)` for
/// the parts outside; `matrix` has one row for each window.
template <class Image, class Matrix, class Run, class Border>
COTANGENT_INLINE void for_windows(cotangent::detail::stencil const& z, channel_range channels, std::int64_t first,
                                  std::int64_t count, Image* image, Matrix* matrix, Run run, Border border) {
  cotangent::detail::stencil_position at = cotangent::detail::stencil_position::of(z, first);
  std::int64_t const row = z.taps() * channels.count;
  for (std::int64_t k = 0; k < count; ++k, matrix += row, at.next(z))
    for_runs(
        z, channels, at,
        [&](std::int64_t pixel, std::int64_t there, std::int64_t n) {
          run(image + pixel, matrix + there, n);
        },
        [&](std::int64_t there, std::int64_t n) { border(matrix + there, n); });
}

} // namespace detail

/// Row k of the matrix at `to` holds the pixels under window `first + k`, tap by tap; the border is zero.
template <class T>
[[gnu::noinline]] void take_patches(cotangent::detail::stencil const& z, channel_range channels, std::int64_t first,
                                    std::int64_t count, T const* image, T* to) {
  detail::for_windows(
      z, channels, first, count, image, to,
      [](T const* from, T* there, std::int64_t n) {
        std::memcpy(there, from, static_cast<std::size_t>(n) * sizeof(T));
      },
      [](T* there, std::int64_t n) {
        if (n > 0) std::memset(there, 0, static_cast<std::size_t>(n) * sizeof(T));
      });
}

/// Adds row k of the matrix at `from` to the pixels under window `first + k`, in this order.
template <class T>
[[gnu::noinline]] void add_patches(cotangent::detail::stencil const& z, channel_range channels, std::int64_t first,
                                   std::int64_t count, T const* from, T* image) {
  detail::for_windows(
      z, channels, first, count, image, from,
      [](T* pixels, T const* row, std::int64_t n) { detail::add_to(pixels, row, n); },
      [](T const*, std::int64_t) {});
}

} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
