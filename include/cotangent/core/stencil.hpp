// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_STENCIL_HPP
#define COTANGENT_CORE_STENCIL_HPP

#include <cstdint>

namespace cotangent::detail {

/// Windows on images [image, row, column, channel], shared by convolution and pooling. A window has `tall` by
/// `wide` taps. Tap (i, j) of window (r, c) is at pixel (row(r, i), column(c, j)), which may lie in the
/// border around the image.
struct stencil {
  std::int64_t images = 1, height = 0, width = 0, channels = 0;
  std::int64_t rows = 0, columns = 0; // the number of windows
  std::int64_t tall = 1, wide = 1;
  std::int64_t step_down = 1, step_right = 1;     // from window to window
  std::int64_t above = 0, left = 0;               // rows and columns of border
  std::int64_t spread_down = 1, spread_right = 1; // from tap to tap

  constexpr std::int64_t row(std::int64_t r, std::int64_t i) const noexcept {
    return r * step_down - above + i * spread_down;
  }
  constexpr std::int64_t column(std::int64_t c, std::int64_t j) const noexcept {
    return c * step_right - left + j * spread_right;
  }
  constexpr std::int64_t positions() const noexcept { return images * rows * columns; }
  constexpr std::int64_t taps() const noexcept { return tall * wide; }
  /// True if window k is exactly pixel k, for all k.
  constexpr bool is_plain() const noexcept {
    return tall == 1 && wide == 1 && step_down == 1 && step_right == 1 && above == 0 && left == 0 &&
           rows == height && columns == width;
  }
  /// True if an image is one line, and the taps of each of its windows follow each other there, without border.
  constexpr bool is_line() const noexcept {
    return tall == 1 && rows == 1 && height == 1 && above == 0 && left == 0 && spread_right == 1 && (columns - 1) * step_right + wide <= width;
  }

  /// The taps [first, end) that lie inside an axis of `size` pixels.
  struct range {
    std::int64_t first = 0, end = 0;
  };
  static constexpr range inside(std::int64_t start, std::int64_t spread, std::int64_t taps,
                                std::int64_t size) noexcept {
    if (start >= 0 && start + (taps - 1) * spread < size) return {0, taps}; // (most, and without divisions)
    range r{start < 0 ? (-start + spread - 1) / spread : 0,
            size > start ? (size - start + spread - 1) / spread : 0};
    if (r.end > taps) r.end = taps;
    if (r.first > r.end) r.first = r.end;
    return r;
  }
  constexpr range rows_inside(std::int64_t r) const noexcept {
    return inside(row(r, 0), spread_down, tall, height);
  }
  constexpr range columns_inside(std::int64_t c) const noexcept {
    return inside(column(c, 0), spread_right, wide, width);
  }
  /// The offset of a pixel in memory.
  constexpr std::int64_t pixel(std::int64_t image, std::int64_t y, std::int64_t x) const noexcept {
    return ((image * height + y) * width + x) * channels;
  }
};

/// Window (row, column) of an image; `of` numbers the windows of all images in order.
struct stencil_position {
  std::int64_t image = 0, row = 0, column = 0;

  static constexpr stencil_position of(stencil const& s, std::int64_t p) noexcept {
    return {p / (s.rows * s.columns), p / s.columns % s.rows, p % s.columns};
  }
  constexpr void next(stencil const& s) noexcept {
    if (++column < s.columns) return;
    column = 0;
    if (++row < s.rows) return;
    row = 0;
    ++image;
  }
};

/// The taps of a window that lie inside the image: rows of pixels, by their offsets in elements.
struct window_taps {
  std::int64_t first = 0, rows = 0, columns = 0, next_row = 0, next = 0;

  constexpr std::int64_t count() const noexcept { return rows * columns; }
};
template <class F> constexpr void for_taps(window_taps const& w, F f) {
  std::int64_t row = w.first;
  for (std::int64_t i = 0; i < w.rows; ++i, row += w.next_row)
    for (std::int64_t j = 0, p = row; j < w.columns; ++j, p += w.next) f(p);
}
/// Calls `f(taps, number of the window)` for each window.
template <class F> constexpr void for_window_taps(stencil const& z, F f) {
  window_taps w;
  w.next = z.channels * z.spread_right, w.next_row = z.width * z.channels * z.spread_down;
  std::int64_t p = 0;
  for (std::int64_t image = 0; image < z.images; ++image)
    for (std::int64_t r = 0; r < z.rows; ++r) {
      stencil::range const down = z.rows_inside(r);
      std::int64_t const row = z.pixel(image, z.row(r, down.first), 0);
      w.rows = down.end - down.first;
      for (std::int64_t c = 0; c < z.columns; ++c, ++p) {
        stencil::range const across = z.columns_inside(c);
        w.columns = across.end - across.first;
        w.first = row + z.column(c, across.first) * z.channels;
        f(w, p);
      }
    }
}

} // namespace cotangent::detail

#endif
