// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_POOLING_HPP
#define COTANGENT_KERNELS_POOLING_HPP

#include <cotangent/core/stencil.hpp>
#include <cotangent/kernels/simd.hpp>

#include <cstdint>

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {

/// A pack of channels; the last one may be partial. Pooling formulas over a value V use it to walk through an
/// image whose channels are contiguous.
template <class T, bool Full> struct channel_pack {
  using V = simd::pack<T, simd::width<T>>;
  std::int64_t count; // the number of valid lanes, unless Full

  COTANGENT_INLINE V get(T const* p) const {
    if constexpr (Full) return simd::load<V>(p);
    else return simd::load<V>(p, count);
  }
  COTANGENT_INLINE void put(T* p, V const& v) const {
    if constexpr (Full) simd::store(p, v);
    else simd::store(p, v, count);
  }
};

/// Calls `f(pack, taps, first channel, offset in the result)` for every window and every pack of channels.
template <class T, class F> COTANGENT_INLINE void for_channel_packs(cotangent::detail::stencil const& z, F f) {
  constexpr std::int64_t w = simd::width<T>;
  cotangent::detail::for_window_taps(z, [&](cotangent::detail::window_taps const& taps, std::int64_t p) {
    std::int64_t c = 0;
    for (; c + w <= z.channels; c += w) f(channel_pack<T, true>{w}, taps, c, p * z.channels + c);
    if (c < z.channels) f(channel_pack<T, false>{z.channels - c}, taps, c, p * z.channels + c);
  });
}

} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
