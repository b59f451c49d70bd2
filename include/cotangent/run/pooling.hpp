// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_POOLING_HPP
#define COTANGENT_RUN_POOLING_HPP

#include <cotangent/kernels/pooling.hpp>
#include <cotangent/ops/pooling.hpp>
#include <cotangent/run/whole.hpp>

#include <cstdint>
#include <cstring>

// The kernels of poolings, for static programs and the interpreter: the formulas of ops/pooling.hpp on packs
// of channels.

namespace cotangent::run {
inline namespace COTANGENT_ABI {

template <class Op, class Self> struct pooling_kernel {
  static constexpr std::int64_t scratch_bytes(whole_call const&) { return 0; }
  template <class T> static T const* operand(whole_call const& c, int k = 0) {
    return c.operand[k].data<T>();
  }
  template <class T> static void clear(whole_call const& c) {
    std::memset(c.result.data<T>(), 0, static_cast<std::size_t>(c.result.count()) * sizeof(T));
  }
};

template <> struct whole_kernel<op::max_pool2d>
    : pooling_kernel<op::max_pool2d, whole_kernel<op::max_pool2d>> {
  template <class T, std::int64_t> static void on(whole_call const& call) noexcept {
    T const* const x = operand<T>(call);
    T* const y = call.result.data<T>();
    detail::stencil const z = op::max_pool2d::window(call);
    kernels::for_channel_packs<T>(
        z, [&](auto pack, detail::window_taps const& w, std::int64_t c, std::int64_t to) {
          using V = typename decltype(pack)::V;
          pack.put(y + to, detail::largest_of<V>(w, [&](std::int64_t p) { return pack.get(x + p + c); }));
        });
  }
};
template <> struct whole_kernel<op::max_pool2d_image>
    : pooling_kernel<op::max_pool2d_image, whole_kernel<op::max_pool2d_image>> {
  template <class T, std::int64_t> static void on(whole_call const& call) noexcept {
    T const *const dy = operand<T>(call), *const x = operand<T>(call, 1);
    T* const dx = call.result.data<T>();
    detail::stencil const z = op::max_pool2d_image::window(call);
    clear<T>(call);
    kernels::for_channel_packs<T>(
        z, [&](auto pack, detail::window_taps const& w, std::int64_t c, std::int64_t from) {
          using V = typename decltype(pack)::V;
          detail::spread_largest<V>(
              w, pack.get(dy + from), [&](std::int64_t p) { return pack.get(x + p + c); },
              [&](std::int64_t p) { return pack.get(dx + p + c); },
              [&](std::int64_t p, V const& v) { pack.put(dx + p + c, v); });
        });
  }
};
template <>
struct whole_kernel<op::max_pool2d_tangent>
    : pooling_kernel<op::max_pool2d_tangent, whole_kernel<op::max_pool2d_tangent>> {
  template <class T, std::int64_t> static void on(whole_call const& call) noexcept {
    T const *const dx = operand<T>(call), *const x = operand<T>(call, 1);
    T* const dy = call.result.data<T>();
    detail::stencil const z = op::max_pool2d_tangent::window(call);
    kernels::for_channel_packs<T>(
        z, [&](auto pack, detail::window_taps const& w, std::int64_t c, std::int64_t to) {
          using V = typename decltype(pack)::V;
          pack.put(dy + to, detail::at_largest<V>(
                                w, [&](std::int64_t p) { return pack.get(x + p + c); },
                                [&](std::int64_t p) { return pack.get(dx + p + c); }));
        });
  }
};
template <> struct whole_kernel<op::avg_pool2d>
    : pooling_kernel<op::avg_pool2d, whole_kernel<op::avg_pool2d>> {
  template <class T, std::int64_t> static void on(whole_call const& call) noexcept {
    T const* const x = operand<T>(call);
    T* const y = call.result.data<T>();
    detail::stencil const z = op::avg_pool2d::window(call);
    kernels::for_channel_packs<T>(
        z, [&](auto pack, detail::window_taps const& w, std::int64_t c, std::int64_t to) {
          using V = typename decltype(pack)::V;
          pack.put(y + to, detail::mean_of<V>(w, [&](std::int64_t p) { return pack.get(x + p + c); }));
        });
  }
};
template <> struct whole_kernel<op::avg_pool2d_image>
    : pooling_kernel<op::avg_pool2d_image, whole_kernel<op::avg_pool2d_image>> {
  template <class T, std::int64_t> static void on(whole_call const& call) noexcept {
    T const* const dy = operand<T>(call);
    T* const dx = call.result.data<T>();
    detail::stencil const z = op::avg_pool2d_image::window(call);
    clear<T>(call);
    kernels::for_channel_packs<T>(
        z, [&](auto pack, detail::window_taps const& w, std::int64_t c, std::int64_t from) {
          using V = typename decltype(pack)::V;
          detail::spread_mean<V>(
              w, pack.get(dy + from), [&](std::int64_t p) { return pack.get(dx + p + c); },
              [&](std::int64_t p, V const& v) { pack.put(dx + p + c, v); });
        });
  }
};

} // namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
