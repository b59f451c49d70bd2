// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_SIMD_NATIVE_HPP
#define COTANGENT_KERNELS_SIMD_NATIVE_HPP

#include <cotangent/core/abi.hpp>
#include <cotangent/core/math/arithmetic.hpp>
#include <cotangent/core/math/lanes.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

// Without AVX a few builtins suffice: the compilers' headers are 4 % of the text of cotangent.hpp, and with AVX a quarter of
// a second in every build.
#if defined(__AVX__)
#  include <immintrin.h>
#endif

// The only header that names instructions. Everything here has a general form elsewhere, for other targets.

#if COTANGENT_ABI_BYTES == 64
namespace cotangent::math {
inline namespace COTANGENT_ABI {

// Masked: g++ 12 warns that the unmasked forms are uninitialized (its bug 105593).
#  define COTANGENT_POWER_OF_TWO(Lane, Register, Prefix, Suffix)                                             \
    template <>                                                                                              \
    struct native_power_of_two<vector<Lane, static_cast<int>(sizeof(Register) / sizeof(Lane))>> {            \
      static constexpr bool exists = true;                                                                   \
      using V = vector<Lane, static_cast<int>(sizeof(Register) / sizeof(Lane))>;                             \
      static constexpr auto every_lane =                                                                     \
          static_cast<std::conditional_t<lanes<V> == 16, std::uint16_t, std::uint8_t>>(-1);                  \
      COTANGENT_INLINE static V times(V const& x, V const& n) {                                              \
        auto const a = reinterpret_cast<Register>(x);                                                        \
        return reinterpret_cast<V>(Prefix##_mask_scalef_##Suffix(a, every_lane, a, reinterpret_cast<Register>(n))); \
      }                                                                                                      \
    }
COTANGENT_POWER_OF_TWO(double, __m512d, _mm512, pd);
COTANGENT_POWER_OF_TWO(float, __m512, _mm512, ps);
COTANGENT_POWER_OF_TWO(double, __m256d, _mm256, pd);
COTANGENT_POWER_OF_TWO(float, __m256, _mm256, ps);
COTANGENT_POWER_OF_TWO(double, __m128d, _mm, pd);
COTANGENT_POWER_OF_TWO(float, __m128, _mm, ps);
#  undef COTANGENT_POWER_OF_TWO

} // namespace COTANGENT_ABI
} // namespace cotangent::math
#endif

// g++ has no builtin for fma, sqrt and rounding of its vectors; clang has, and needs none of this.
#if defined(__SSE2__) && !defined(__clang__)

namespace cotangent::math {
inline namespace COTANGENT_ABI {

#  if defined(__FMA__)
#    define COTANGENT_FMA(Prefix, Suffix) to(Prefix##_fmadd_##Suffix(in(a), in(b), in(c)))
#  elif COTANGENT_ABI_FMA
#    define COTANGENT_FMA(Prefix, Suffix) detail::lane_by_lane<V>(detail::do_fma{}, a, b, c)
#  else
#    define COTANGENT_FMA(Prefix, Suffix) a* b + c
#  endif

#  define COTANGENT_NATIVE(Lane, Register, Prefix, Suffix)                                                   \
    template <>                                                                                              \
    struct native<vector<Lane, static_cast<int>(sizeof(Register) / sizeof(Lane))>> {                         \
      static constexpr bool exists = true, rounds = COTANGENT_ABI_ROUNDS;                                    \
      using V = vector<Lane, static_cast<int>(sizeof(Register) / sizeof(Lane))>;                             \
      static constexpr auto every_lane =                                                                     \
          static_cast<std::conditional_t<lanes<V> == 16, std::uint16_t, std::uint8_t>>(-1);                        \
      COTANGENT_INLINE static Register in(V const& v) { return reinterpret_cast<Register>(v); }              \
      COTANGENT_INLINE static V to(Register const& v) { return reinterpret_cast<V>(v); }                     \
      COTANGENT_INLINE static V fma(V const& a, V const& b, V const& c) {                                    \
        return COTANGENT_FMA(Prefix, Suffix);                                                                \
      }                                                                                                      \
      COTANGENT_INLINE static V sqrt(V const& a) { return to(COTANGENT_SQRT(Prefix, Suffix)); }              \
      COTANGENT_INLINE static V at_most(V const& a, V const& b) {                                            \
        return to(COTANGENT_BOTH(Prefix, Suffix, min));                                                      \
      }                                                                                                      \
      COTANGENT_INLINE static V at_least(V const& a, V const& b) {                                           \
        return to(COTANGENT_BOTH(Prefix, Suffix, max));                                                      \
      }                                                                                                      \
      COTANGENT_INLINE static V round_to_even(V const& a) { return to(COTANGENT_ROUND(Prefix, Suffix, 8)); } \
      COTANGENT_INLINE static V floor(V const& a) { return to(COTANGENT_ROUND(Prefix, Suffix, 9)); }         \
    }

// The result is the second operand of the instruction if either is NaN.
// Modes 8 and 9: round to nearest, and down, without raising exceptions.
#  if defined(__AVX__)
#    define COTANGENT_SQRT(Prefix, Suffix) Prefix##_sqrt_##Suffix(in(a))
#    define COTANGENT_BOTH(Prefix, Suffix, Name) Prefix##_##Name##_##Suffix(in(b), in(a))
#  else
#    define COTANGENT_SQRT(Prefix, Suffix) __builtin_ia32_sqrt##Suffix(in(a))
#    define COTANGENT_BOTH(Prefix, Suffix, Name) __builtin_ia32_##Name##Suffix(in(b), in(a))
#  endif
#  if !COTANGENT_ABI_ROUNDS
#    define COTANGENT_ROUND(Prefix, Suffix, Mode) in(a)
#  elif defined(__AVX__)
#    define COTANGENT_ROUND(Prefix, Suffix, Mode) Prefix##_round_##Suffix(in(a), Mode)
#  else
#    define COTANGENT_ROUND(Prefix, Suffix, Mode) __builtin_ia32_round##Suffix(in(a), Mode)
#  endif
#  if defined(__AVX__)
COTANGENT_NATIVE(double, __m128d, _mm, pd);
COTANGENT_NATIVE(float, __m128, _mm, ps);
#  else
using pair_of_doubles = vector<double, 2>;
using four_floats = vector<float, 4>;
COTANGENT_NATIVE(double, pair_of_doubles, , pd);
COTANGENT_NATIVE(float, four_floats, , ps);
#  endif
#  if COTANGENT_ABI_BYTES >= 32
COTANGENT_NATIVE(double, __m256d, _mm256, pd);
COTANGENT_NATIVE(float, __m256, _mm256, ps);
#  endif
#  if COTANGENT_ABI_BYTES == 64
// g++ 12 warns that the unmasked forms of these are uninitialized (its bug 105593).
#    undef COTANGENT_ROUND
#    undef COTANGENT_SQRT
#    undef COTANGENT_BOTH
#    define COTANGENT_ROUND(Prefix, Suffix, Mode)                                                            \
      Prefix##_mask_roundscale_##Suffix(in(a), every_lane, in(a), Mode)
#    define COTANGENT_SQRT(Prefix, Suffix) Prefix##_mask_sqrt_##Suffix(in(a), every_lane, in(a))
#    define COTANGENT_BOTH(Prefix, Suffix, Name)                                                             \
      Prefix##_mask_##Name##_##Suffix(in(a), every_lane, in(b), in(a))
COTANGENT_NATIVE(double, __m512d, _mm512, pd);
COTANGENT_NATIVE(float, __m512, _mm512, ps);
#  endif
#  undef COTANGENT_NATIVE
#  undef COTANGENT_FMA
#  undef COTANGENT_ROUND
#  undef COTANGENT_SQRT
#  undef COTANGENT_BOTH

// g++ 12 converts the two lanes one by one.
template <>
struct native_convert<vector<double, 2>, vector<float, 2>> {
  static constexpr bool exists = true;
  COTANGENT_INLINE static vector<double, 2> convert(vector<float, 2> const& v) {
    return __builtin_ia32_cvtps2pd(reinterpret_cast<vector<float, 4>>(vector<double, 2>{bit_cast<double>(v), 0}));
  }
};

template <>
struct native_any<16> {
  static constexpr bool exists = true;
  template <class M>
  COTANGENT_INLINE static bool any(M const& m) {
    return __builtin_ia32_pmovmskb128(reinterpret_cast<vector<char, 16>>(m)) != 0;
  }
};

#  if defined(__AVX2__)
template <>
struct native_any<32> {
  static constexpr bool exists = true;
  template <class M>
  COTANGENT_INLINE static bool any(M const& m) {
    return _mm256_movemask_epi8(reinterpret_cast<__m256i>(m)) != 0;
  }
};
#  endif

#  if COTANGENT_ABI_BYTES == 64
template <>
struct native_any<64> {
  static constexpr bool exists = true;
  template <class M>
  COTANGENT_INLINE static bool any(M const& m) {
    return _mm512_test_epi32_mask(reinterpret_cast<__m512i>(m), reinterpret_cast<__m512i>(m)) != 0;
  }
};
#  endif

} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif

namespace cotangent::simd {
inline namespace COTANGENT_ABI {
namespace detail {

using math::lane_t;
using math::lanes;

/// True if V has masked loads and stores: lanes of 4 and of 8 bytes.
template <class V>
inline constexpr bool masked_memory =
#if COTANGENT_ABI_BYTES == 64
    (sizeof(lane_t<V>) == 4 || sizeof(lane_t<V>) == 8) && sizeof(V) >= 16 && sizeof(V) <= 64;
#elif defined(__AVX2__)
    (sizeof(lane_t<V>) == 4 || sizeof(lane_t<V>) == 8) && sizeof(V) >= 16 && sizeof(V) <= 32;
#else
    false;
#endif

/// True if masked loads also begin behind the first lane.
template <class V>
inline constexpr bool loads_between = masked_memory<V> && COTANGENT_ABI_BYTES == 64;

/// True if there is a gather: the index is as wide as the lane.
template <class V, class Index>
inline constexpr bool gathers = masked_memory<V> && sizeof(lane_t<V>) == sizeof(lane_t<Index>);

#if COTANGENT_ABI_BYTES == 64

// The mask of the first `count` of at most 16 lanes.
COTANGENT_INLINE unsigned first_bits(std::ptrdiff_t count) {
  unsigned const n = count <= 0 ? 0 : static_cast<unsigned>(count < 16 ? count : 16);
#  ifdef __BMI2__
  return _bzhi_u32(0xffff, n);
#  else
  return 0xffffu >> (16 - n);
#  endif
}

template <class V>
COTANGENT_INLINE V masked_load(lane_t<V> const* p, std::ptrdiff_t count, std::ptrdiff_t first = 0) {
  unsigned const k = first_bits(count) & ~first_bits(first);
  constexpr bool narrow = sizeof(lane_t<V>) == 4;
  if constexpr (sizeof(V) == 64)
    return reinterpret_cast<V>(narrow ? _mm512_maskz_loadu_epi32(static_cast<__mmask16>(k), p)
                                      : _mm512_maskz_loadu_epi64(static_cast<__mmask8>(k), p));
  else if constexpr (sizeof(V) == 32)
    return reinterpret_cast<V>(narrow ? _mm256_maskz_loadu_epi32(static_cast<__mmask8>(k), p)
                                      : _mm256_maskz_loadu_epi64(static_cast<__mmask8>(k), p));
  else
    return reinterpret_cast<V>(narrow ? _mm_maskz_loadu_epi32(static_cast<__mmask8>(k), p)
                                      : _mm_maskz_loadu_epi64(static_cast<__mmask8>(k), p));
}

template <class V>
COTANGENT_INLINE void masked_store(lane_t<V>* p, V const& v, std::ptrdiff_t count) {
  unsigned const k = first_bits(count);
  constexpr bool narrow = sizeof(lane_t<V>) == 4;
  if constexpr (sizeof(V) == 64 && narrow)
    _mm512_mask_storeu_epi32(p, static_cast<__mmask16>(k), reinterpret_cast<__m512i>(v));
  else if constexpr (sizeof(V) == 64)
    _mm512_mask_storeu_epi64(p, static_cast<__mmask8>(k), reinterpret_cast<__m512i>(v));
  else if constexpr (sizeof(V) == 32 && narrow)
    _mm256_mask_storeu_epi32(p, static_cast<__mmask8>(k), reinterpret_cast<__m256i>(v));
  else if constexpr (sizeof(V) == 32)
    _mm256_mask_storeu_epi64(p, static_cast<__mmask8>(k), reinterpret_cast<__m256i>(v));
  else if constexpr (narrow) _mm_mask_storeu_epi32(p, static_cast<__mmask8>(k), reinterpret_cast<__m128i>(v));
  else _mm_mask_storeu_epi64(p, static_cast<__mmask8>(k), reinterpret_cast<__m128i>(v));
}

/// The first `count` lanes of v, the rest of `other`: by the mask of loads and stores.
template <class V>
COTANGENT_INLINE V masked_choice(V const& v, std::ptrdiff_t count, V const& other) {
  unsigned const k = first_bits(count);
  constexpr bool narrow = sizeof(lane_t<V>) == 4;
  if constexpr (sizeof(V) == 64) {
    auto const a = reinterpret_cast<__m512i>(v), b = reinterpret_cast<__m512i>(other);
    return reinterpret_cast<V>(narrow ? _mm512_mask_mov_epi32(b, static_cast<__mmask16>(k), a)
                                      : _mm512_mask_mov_epi64(b, static_cast<__mmask8>(k), a));
  } else if constexpr (sizeof(V) == 32) {
    auto const a = reinterpret_cast<__m256i>(v), b = reinterpret_cast<__m256i>(other);
    return reinterpret_cast<V>(narrow ? _mm256_mask_mov_epi32(b, static_cast<__mmask8>(k), a)
                                      : _mm256_mask_mov_epi64(b, static_cast<__mmask8>(k), a));
  } else {
    auto const a = reinterpret_cast<__m128i>(v), b = reinterpret_cast<__m128i>(other);
    return reinterpret_cast<V>(narrow ? _mm_mask_mov_epi32(b, static_cast<__mmask8>(k), a)
                                      : _mm_mask_mov_epi64(b, static_cast<__mmask8>(k), a));
  }
}

#elif defined(__AVX2__)

template <class V>
COTANGENT_INLINE auto first_lanes(std::ptrdiff_t count) {
  using bits = math::bits_t<V>;
  auto const c = math::broadcast<bits>(static_cast<lane_t<bits>>(count < lanes<V> ? count : lanes<V>));
  if constexpr (lanes<V> == 8) return bits{0, 1, 2, 3, 4, 5, 6, 7} < c;
  else if constexpr (lanes<V> == 4) return bits{0, 1, 2, 3} < c;
  else return bits{0, 1} < c;
}

template <class V>
COTANGENT_INLINE V masked_choice(V const& v, std::ptrdiff_t count, V const& other) {
  return math::select(first_lanes<V>(count), v, other);
}

template <class V>
COTANGENT_INLINE V masked_load(lane_t<V> const* p, std::ptrdiff_t count) {
  auto const m = first_lanes<V>(count);
  if constexpr (sizeof(V) == 32 && sizeof(lane_t<V>) == 4)
    return reinterpret_cast<V>(
        _mm256_maskload_epi32(reinterpret_cast<int const*>(p), reinterpret_cast<__m256i>(m)));
  else if constexpr (sizeof(V) == 32)
    return reinterpret_cast<V>(
        _mm256_maskload_epi64(reinterpret_cast<long long const*>(p), reinterpret_cast<__m256i>(m)));
  else if constexpr (sizeof(lane_t<V>) == 4)
    return reinterpret_cast<V>(
        _mm_maskload_epi32(reinterpret_cast<int const*>(p), reinterpret_cast<__m128i>(m)));
  else
    return reinterpret_cast<V>(
        _mm_maskload_epi64(reinterpret_cast<long long const*>(p), reinterpret_cast<__m128i>(m)));
}

template <class V>
COTANGENT_INLINE void masked_store(lane_t<V>* p, V const& v, std::ptrdiff_t count) {
  auto const m = first_lanes<V>(count);
  if constexpr (sizeof(V) == 32 && sizeof(lane_t<V>) == 4)
    _mm256_maskstore_epi32(reinterpret_cast<int*>(p), reinterpret_cast<__m256i>(m),
                           reinterpret_cast<__m256i>(v));
  else if constexpr (sizeof(V) == 32)
    _mm256_maskstore_epi64(reinterpret_cast<long long*>(p), reinterpret_cast<__m256i>(m),
                           reinterpret_cast<__m256i>(v));
  else if constexpr (sizeof(lane_t<V>) == 4)
    _mm_maskstore_epi32(reinterpret_cast<int*>(p), reinterpret_cast<__m128i>(m),
                        reinterpret_cast<__m128i>(v));
  else
    _mm_maskstore_epi64(reinterpret_cast<long long*>(p), reinterpret_cast<__m128i>(m),
                        reinterpret_cast<__m128i>(v));
}

#endif

#if defined(__AVX2__)

template <class V, class Index>
COTANGENT_INLINE V native_gather(lane_t<V> const* p, Index const& index) {
  [[maybe_unused]] auto const* const narrow = reinterpret_cast<int const*>(p);
  [[maybe_unused]] auto const* const wide = reinterpret_cast<long long const*>(p);
  if constexpr (sizeof(V) == 16 && lanes<V> == 4)
    return reinterpret_cast<V>(_mm_i32gather_epi32(narrow, reinterpret_cast<__m128i>(index), 4));
  else if constexpr (sizeof(V) == 16)
    return reinterpret_cast<V>(_mm_i64gather_epi64(wide, reinterpret_cast<__m128i>(index), 8));
  else if constexpr (sizeof(V) == 32 && lanes<V> == 8)
    return reinterpret_cast<V>(_mm256_i32gather_epi32(narrow, reinterpret_cast<__m256i>(index), 4));
  else if constexpr (sizeof(V) == 32)
    return reinterpret_cast<V>(_mm256_i64gather_epi64(wide, reinterpret_cast<__m256i>(index), 8));
#  if COTANGENT_ABI_BYTES == 64
  else if constexpr (lanes<V> == 16)
    return reinterpret_cast<V>(
        _mm512_mask_i32gather_epi32(__m512i{}, 0xffff, reinterpret_cast<__m512i>(index), narrow, 4));
  else
    return reinterpret_cast<V>(
        _mm512_mask_i64gather_epi64(__m512i{}, 0xff, reinterpret_cast<__m512i>(index), wide, 8));
#  endif
}

#else

template <class V>
V masked_load(lane_t<V> const* p, std::ptrdiff_t count);
template <class V>
void masked_store(lane_t<V>* p, V const& v, std::ptrdiff_t count);
template <class V>
V masked_choice(V const& v, std::ptrdiff_t count, V const& other);
template <class V, class Index>
V native_gather(lane_t<V> const* p, Index const& index);

#endif

} // namespace detail
} // namespace COTANGENT_ABI
} // namespace cotangent::simd

#endif
