// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_HALF_HPP
#define COTANGENT_KERNELS_HALF_HPP

#include <cotangent/core/math/half.hpp>
#include <cotangent/kernels/simd.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

// Packs of float, with loads from and stores to memory of half precision.

namespace cotangent::simd {
inline namespace COTANGENT_ABI {

namespace detail {

template <class V> using patterns = math::vector<std::uint16_t, lanes<V>>;

/// Pieces of one register: compilers split wider vectors of mixed widths lane by lane.
template <class H, class V> COTANGENT_INLINE V numbers_of(patterns<V> const& p) {
  if constexpr (math::is_wide<V> || lanes<V> == 2) {
    auto const h = math::split(p);
    if constexpr (lanes<V> == 2)
      return V{H::number_of(h.low), H::number_of(h.high)};
    else {
      using half = decltype(math::halves<V>::low);
      return math::join<V>(detail::numbers_of<H, half>(h.low), detail::numbers_of<H, half>(h.high));
    }
  }
#if defined(__F16C__) && defined(__AVX__)
  else if constexpr (std::is_same_v<H, float16> && lanes<V> == 4) {
    std::int64_t bits;
    std::memcpy(&bits, &p, sizeof bits);
    return reinterpret_cast<V>(_mm_cvtph_ps(_mm_cvtsi64_si128(bits)));
  } else if constexpr (std::is_same_v<H, float16> && lanes<V> == 8)
    return reinterpret_cast<V>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(p)));
#endif
  else {
    auto const w = __builtin_convertvector(p, math::vector<std::uint32_t, lanes<V>>);
    if constexpr (std::is_same_v<H, float16>) return math::from_float16<V>(w);
    else return math::from_bfloat16<V>(w);
  }
}

/// The lowest 16 bits of each lane.
template <class V> COTANGENT_INLINE patterns<V> narrowed(math::vector<std::uint32_t, lanes<V>> const& w) {
  return __builtin_convertvector(w, patterns<V>);
}

template <class H, class V> COTANGENT_INLINE patterns<V> patterns_of(V const& x) {
  if constexpr (math::is_wide<V>) {
    auto const h = math::split(x);
    return math::join<patterns<V>>(detail::patterns_of<H>(h.low), detail::patterns_of<H>(h.high));
  } else if constexpr (std::is_same_v<H, bfloat16>) return detail::narrowed<V>(math::bit_cast<math::vector<std::uint32_t, lanes<V>>>(x) >> 16);
#if defined(__F16C__) && defined(__AVX__)
  else if constexpr (lanes<V> == 4) {
    __m128i const bits = _mm_cvtps_ph(reinterpret_cast<__m128>(x), 0);
    patterns<V> p;
    std::memcpy(&p, &bits, sizeof p);
    return p;
  } else if constexpr (lanes<V> == 8) return reinterpret_cast<patterns<V>>(_mm256_cvtps_ph(reinterpret_cast<__m256>(x), 0));
#endif
  else return detail::narrowed<V>(math::to_float16(x));
}

} // namespace detail

/// Loads W numbers of half precision as float.
template <class V, class H> COTANGENT_INLINE V load_half(H const* p) {
  detail::patterns<V> bits;
  std::memcpy(&bits, p, sizeof bits);
  return detail::numbers_of<H, V>(bits);
}
/// Loads p[0], p[stride], ...: `count` of them, the other lanes zero.
template <class V, class H> COTANGENT_INLINE V load_half(H const* p, std::ptrdiff_t stride, std::ptrdiff_t count) {
  std::uint16_t bits[lanes<V>]{};
  for (std::ptrdiff_t k = 0; k < count && k < lanes<V>; ++k) bits[k] = p[k * stride].bits();
  detail::patterns<V> all;
  std::memcpy(&all, bits, sizeof all);
  return detail::numbers_of<H, V>(all);
}

/// Stores numbers that are exact in half precision. (Of float16, others are rounded.)
template <class H, class V> COTANGENT_INLINE void store_half(H* p, V const& v) {
  auto const bits = detail::patterns_of<H>(v);
  std::memcpy(static_cast<void*>(p), &bits, sizeof bits);
}
template <class H, class V> COTANGENT_INLINE void store_half(H* p, V const& v, std::ptrdiff_t count) {
  auto const bits = detail::patterns_of<H>(v);
  for (std::ptrdiff_t k = 0; k < count && k < lanes<V>; ++k) p[k] = H::from_bits(bits[k]);
}

/// Stores numbers rounded to half precision.
template <class H, class V> COTANGENT_INLINE void round_half(H* p, V const& v) {
  if constexpr (std::is_same_v<H, float16>) store_half(p, v);
  else if constexpr (math::is_wide<V>) {
    auto const h = math::split(v);
    round_half(p, h.low);
    round_half(p + lanes<V> / 2, h.high);
  } else {
    auto const bits = detail::narrowed<V>(math::to_bfloat16(v));
    std::memcpy(static_cast<void*>(p), &bits, sizeof bits);
  }
}

/// Each lane rounded to half precision.
template <class H, class V> COTANGENT_INLINE V rounded_to_half(V const& x) {
  if constexpr (!math::is_vector<V>) return H(x);
  else if constexpr (math::is_wide<V>) {
    auto const h = math::split(x);
    return math::join<V>(rounded_to_half<H>(h.low), rounded_to_half<H>(h.high));
  } else if constexpr (std::is_same_v<H, float16>) return detail::numbers_of<H, V>(detail::patterns_of<H>(x));
  else return math::from_bfloat16<V>(math::to_bfloat16(x));
}

} // namespace COTANGENT_ABI
} // namespace cotangent::simd

#endif
