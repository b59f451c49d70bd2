// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_SIMD_JOIN_HPP
#define COTANGENT_KERNELS_SIMD_JOIN_HPP

#include <cotangent/kernels/simd.hpp>

#include <initializer_list>
#include <utility>

namespace cotangent::simd {
inline namespace COTANGENT_ABI {

namespace detail {

template <class V, int... I>
COTANGENT_INLINE auto join(V const& a, V const& b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, I...);
}

/// g++ 12 miscompiles shuffles of eight lanes of 8 bytes: if only the second pair takes lanes of the upper
/// half, it treats the shuffle as one within pairs. (It fills the undefined lanes of a shorter result with
/// the lanes already there.)
constexpr bool goes_astray(std::initializer_list<int> lanes) {
  if (lanes.size() > 8) return false;
  int from[8]{0, 1, 2, 3, 4, 5, 6, 7}, k = 0;
  for (int const i : lanes) {
    if (i >= 0) from[k] = i % 8;
    ++k;
  }
  bool within = (from[2] > 3 || from[3] > 3) && from[2] > 1 && from[3] > 1;
  for (k = 0; k < 8; ++k) within = within && (k / 2 == 1 || from[k] / 2 == k / 2);
  return within;
}

} // namespace detail

/// The lanes I of the concatenation of a and b; -1: any.
template <int... I, class V>
COTANGENT_INLINE auto shuffle(V const& a, V const& b) {
  constexpr int count = static_cast<int>(sizeof...(I));
  using result = math::vector<lane_t<V>, count>;
#if !defined(__clang__) && COTANGENT_ABI_BYTES == 64
  if constexpr (sizeof(V) == 64 && lanes<V> == 8 && detail::goes_astray({I...})) {
    using indices = math::vector<long long, 8>;
    V const all = reinterpret_cast<V>(
        _mm512_maskz_permutex2var_pd(0xff, reinterpret_cast<__m512d>(a), reinterpret_cast<__m512i>(indices{I...}),
                                     reinterpret_cast<__m512d>(b)));
    return static_cast<result>(detail::join(all, all, std::make_integer_sequence<int, count>{}));
  } else
#endif
    return static_cast<result>(__builtin_shufflevector(a, b, I...));
}

/// Concatenates the lanes of a and b.
template <class V>
COTANGENT_INLINE auto join(V const& a, V const& b) {
  using wide = math::vector<lane_t<V>, 2 * lanes<V>>;
#if !defined(__clang__) && COTANGENT_ABI_BYTES >= 32
  // g++ 12 emits two shuffles for it, and does not load b from memory.
  if constexpr (sizeof(V) == 16)
    return reinterpret_cast<wide>(_mm256_insertf128_ps(_mm256_castps128_ps256(reinterpret_cast<__m128>(a)),
                                                       reinterpret_cast<__m128>(b), 1));
#  if COTANGENT_ABI_BYTES == 64
  else if constexpr (sizeof(V) == 32)
    // (g++ warns that the unmasked form is uninitialized: its bug 105593)
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
