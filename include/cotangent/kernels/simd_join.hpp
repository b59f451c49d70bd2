// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_SIMD_JOIN_HPP
#define COTANGENT_KERNELS_SIMD_JOIN_HPP

#include <cotangent/kernels/simd.hpp>

#include <utility>

namespace cotangent::simd {
inline namespace COTANGENT_ABI {

namespace detail {

template <class V, int... I>
COTANGENT_INLINE auto join(V const& a, V const& b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, I...);
}

} // namespace detail

/// The lanes of a, then those of b.
template <class V>
COTANGENT_INLINE auto join(V const& a, V const& b) {
  using wide = math::vector<lane_t<V>, 2 * lanes<V>>;
#if !defined(__clang__) && COTANGENT_ABI_BYTES >= 32
  // g++ 12 makes two shuffles of it, and does not take b from memory.
  if constexpr (sizeof(V) == 16)
    return reinterpret_cast<wide>(_mm256_insertf128_ps(_mm256_castps128_ps256(reinterpret_cast<__m128>(a)),
                                                       reinterpret_cast<__m128>(b), 1));
#  if COTANGENT_ABI_BYTES == 64
  else if constexpr (sizeof(V) == 32)
    // (the unmasked form it calls uninitialised: its bug 105593)
    return reinterpret_cast<wide>(_mm512_maskz_insertf64x4(
        0xff, _mm512_castpd256_pd512(reinterpret_cast<__m256d>(a)), reinterpret_cast<__m256d>(b), 1));
#  endif
  else
#endif
    return static_cast<wide>(detail::join(a, b, std::make_integer_sequence<int, 2 * lanes<V>>{}));
}

} // namespace COTANGENT_ABI
} // namespace cotangent::simd

#endif
