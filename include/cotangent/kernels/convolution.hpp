// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_CONVOLUTION_HPP
#define COTANGENT_KERNELS_CONVOLUTION_HPP

#include <cotangent/kernels/depthwise.hpp>
#include <cotangent/kernels/matrix/matmul.hpp>
#include <cotangent/kernels/patches.hpp>

#include <cstdint>
#include <cstring>

// Convolution as matrix products of blocks of windows. The pixels under a block are copied side by side: the
// copy is cheap compared with the product, and stays in the L2 cache.

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {

static_assert(depthwise<float>::chain == matmul_chain && depthwise<float>::most_taps <= matmul_chain);

/// One convolution: `groups` parts, each with `channels` channels of the image and `results` channels of the
/// result.
struct convolution_shape {
  cotangent::detail::stencil window;
  std::int64_t groups, channels, results;

  constexpr std::int64_t row() const noexcept { return groups * results; }
  constexpr std::int64_t terms() const noexcept { return window.taps() * channels; }
  /// True if each channel is convolved by itself, which is no matrix product.
  constexpr bool is_depthwise() const noexcept {
    return channels == 1 && results == 1 && window.taps() <= depthwise<float>::most_taps && window.taps() > 0 && !window.is_plain();
  }
};

namespace detail {

/// The number of windows in a block: `step` or a multiple of it.
template <class T> constexpr std::int64_t windows_at_once(convolution_shape const& s, std::int64_t step) {
  std::int64_t const row = s.terms() * static_cast<std::int64_t>(sizeof(T)), all = s.window.positions();
  std::int64_t const fit = row > 0 ? 262144 / row / step * step : 1024;
  std::int64_t const n = fit < step ? step : fit > 1024 ? 1024 : fit;
  return n < all ? n : all;
}

inline constexpr std::int64_t block_of_windows = 24; // whole tiles for any instruction set

} // namespace detail

/// The bytes of scratch memory of each of the three functions.
template <class T> constexpr std::int64_t convolve_scratch_bytes(convolution_shape const& s) {
  if (s.window.is_plain()) return 0;
  if (s.is_depthwise()) return depthwise<T>::scratch_bytes(s.window);
  return detail::windows_at_once<T>(s, detail::block_of_windows) * s.terms() *
         static_cast<std::int64_t>(sizeof(T));
}
template <class T> constexpr std::int64_t convolve_weight_scratch_bytes(convolution_shape const& s) {
  if (s.window.is_plain()) return 0;
  if (s.is_depthwise()) return depthwise<T>::scratch_bytes(s.window);
  return detail::windows_at_once<T>(s, matmul_chain) * s.terms() * static_cast<std::int64_t>(sizeof(T));
}

/// y[p, o] = sum over taps and channels of x w, each element in the chains of a matrix product.
/// Shapes: x [image, height, width, channel], w [tap, channel of a group, result], y [window, result].
/// Checked: tests/runtime/convolution_kernels.cpp
template <class T> void convolve(convolution_shape const& s, T const* x, T const* w, T* y, T* scratch) {
  cotangent::detail::stencil const& z = s.window;
  if (s.is_depthwise()) return depthwise<T>{z}.template run<false>(x, w, y, reinterpret_cast<char*>(scratch));
  std::int64_t const k = s.terms(), row = s.row(), positions = z.positions();
  bool const plain = z.is_plain(), lines = s.groups == 1 && z.is_line(); // (whose windows are read where they are)
  std::int64_t const most = plain ? positions : lines ? z.columns : detail::windows_at_once<T>(s, detail::block_of_windows);
  for (std::int64_t p = 0; p < positions; p += most) {
    std::int64_t const n = positions - p < most ? positions - p : most;
    for (std::int64_t g = 0; g < s.groups; ++g) {
      detail::matrix<T> patches{x + g * s.channels, z.channels, 1};
      if (lines) patches = {x + z.pixel(p / z.columns, 0, 0), z.step_right * z.channels, 1};
      else if (!plain) {
        kernels::take_patches(z, {g * s.channels, s.channels}, p, n, x, scratch);
        patches = {scratch, k, 1};
      }
      detail::product<T>(n, s.results, k, patches, {w + g * s.results, row, 1}, y + p * row + g * s.results,
                         row, nullptr);
    }
  }
}

/// x = the sum of y w over all windows, in the order of windows where they overlap. Shapes as above.
template <class T> void convolve_image(convolution_shape const& s, T const* y, T const* w, T* x, T* scratch) {
  cotangent::detail::stencil const& z = s.window;
  if (s.is_depthwise()) return depthwise<T>{z}.template run<true>(y, w, x, reinterpret_cast<char*>(scratch));
  std::int64_t const k = s.terms(), row = s.row(), positions = z.positions();
  bool const plain = z.is_plain();
  std::int64_t const most = plain ? positions : detail::windows_at_once<T>(s, detail::block_of_windows);
  if (!plain)
    std::memset(x, 0, static_cast<std::size_t>(z.images * z.height * z.width * z.channels) * sizeof(T));
  for (std::int64_t p = 0; p < positions; p += most) {
    std::int64_t const n = positions - p < most ? positions - p : most;
    for (std::int64_t g = 0; g < s.groups; ++g) {
      T* const to = plain ? x + g * s.channels : scratch;
      detail::product<T>(n, k, s.results, {y + p * row + g * s.results, row, 1}, {w + g * s.results, 1, row},
                         to, plain ? z.channels : k, nullptr);
      if (!plain) kernels::add_patches(z, {g * s.channels, s.channels}, p, n, scratch, x);
    }
  }
}

/// w[t, c, o] = sum over windows of x y, in the chains of a matrix product. Shapes as above.
template <class T> void convolve_weight(convolution_shape const& s, T const* x, T const* y, T* w,
                                        T* scratch) {
  cotangent::detail::stencil const& z = s.window;
  std::int64_t const k = s.terms(), row = s.row(), positions = z.positions();
  bool const plain = z.is_plain();
  if (positions == 0) std::memset(w, 0, static_cast<std::size_t>(k * row) * sizeof(T));
  if (k == 0 || s.results == 0) return;
  if (s.is_depthwise()) return depthwise<T>{z}.run_weights(x, y, w, reinterpret_cast<char*>(scratch));
  // Whole chains, so that blocks change no sum.
  bool const lines = s.groups == 1 && z.is_line() && (z.images == 1 || z.columns % matmul_chain == 0);
  std::int64_t const most = plain ? positions : lines ? z.columns : detail::windows_at_once<T>(s, matmul_chain);
  for (std::int64_t p = 0; p < positions; p += most) {
    std::int64_t const n = positions - p < most ? positions - p : most;
    for (std::int64_t g = 0; g < s.groups; ++g) {
      detail::matrix<T> patches{x + g * s.channels, 1, z.channels};
      if (lines) patches = {x + z.pixel(p / z.columns, 0, 0), 1, z.step_right * z.channels};
      else if (!plain) {
        kernels::take_patches(z, {g * s.channels, s.channels}, p, n, x, scratch);
        patches = {scratch, 1, k};
      }
      detail::matrix_product<T>(k, s.results, n, patches, {y + p * row + g * s.results, row, 1},
                                w + g * s.results, row, nullptr, p > 0);
    }
  }
}

} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
