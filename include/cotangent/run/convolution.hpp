// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_CONVOLUTION_HPP
#define COTANGENT_RUN_CONVOLUTION_HPP

#include <cotangent/kernels/convolution.hpp>
#include <cotangent/ops/convolution.hpp>
#include <cotangent/run/whole.hpp>

#include <cstdint>

// The kernels of convolutions, for static programs and the interpreter.

namespace cotangent::run {
inline namespace COTANGENT_ABI {

static_assert(detail::chained_sum<float>::chain == kernels::matmul_chain);

/// The common base of the three: `Self::apply<T>(shape, left, right, result, scratch)` and its scratch bytes.
template <class Op, class Self> struct convolution_kernel {
  static constexpr kernels::convolution_shape shape_of(whole_call const& c) {
    detail::convolution_sizes const s = Op::sizes(c);
    return {s.window, s.groups, s.channels, s.results};
  }
  template <class T, std::int64_t> static void on(whole_call const& c) noexcept {
    Self::template apply<T>(shape_of(c), c.operand[0].data<T>(), c.operand[1].data<T>(), c.result.data<T>(),
                         reinterpret_cast<T*>(c.scratch));
  }
  static constexpr std::int64_t scratch_bytes(whole_call const& c) {
    return c.result.type == element::float32 ? Self::template bytes<float>(shape_of(c))
                                             : Self::template bytes<double>(shape_of(c));
  }
  template <class T> static constexpr std::int64_t bytes(kernels::convolution_shape const& s) {
    return kernels::convolve_scratch_bytes<T>(s);
  }
};

template <> struct whole_kernel<op::conv2d> : convolution_kernel<op::conv2d, whole_kernel<op::conv2d>> {
  template <class T>
  static void apply(kernels::convolution_shape const& s, T const* x, T const* w, T* y, T* scratch) noexcept {
    kernels::convolve(s, x, w, y, scratch);
  }
};
template <> struct whole_kernel<op::conv2d_image>
    : convolution_kernel<op::conv2d_image, whole_kernel<op::conv2d_image>> {
  template <class T>
  static void apply(kernels::convolution_shape const& s, T const* y, T const* w, T* x, T* scratch) noexcept {
    kernels::convolve_image(s, y, w, x, scratch);
  }
};
template <> struct whole_kernel<op::conv2d_weight>
    : convolution_kernel<op::conv2d_weight, whole_kernel<op::conv2d_weight>> {
  template <class T>
  static void apply(kernels::convolution_shape const& s, T const* x, T const* y, T* w, T* scratch) noexcept {
    kernels::convolve_weight(s, x, y, w, scratch);
  }
  template <class T> static constexpr std::int64_t bytes(kernels::convolution_shape const& s) {
    return kernels::convolve_weight_scratch_bytes<T>(s);
  }
};

} // namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
