// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_HALF_HPP
#define COTANGENT_CORE_MATH_HALF_HPP

#include <cotangent/core/math/lanes.hpp>

#include <cstdint>
#include <type_traits>

// Half precision: two formats of 16 bits, which store numbers. Arithmetic is that of float.

namespace cotangent {

namespace math {
inline namespace COTANGENT_ABI {

namespace detail {

template <class V> using words = vector<std::uint32_t, lanes<V>>;
template <class V> COTANGENT_FORMULA constexpr words<V> word(std::uint32_t x) { return broadcast<words<V>>(x); }

} // namespace detail

// The patterns are in the low 16 bits of words of 32 bits. All conversions are integer arithmetic, with the same bits in a
// constant evaluation, in lanes, and as F16C has them: NaNs become quiet and keep the high bits of their payload.

template <class V> COTANGENT_FORMULA constexpr V from_bfloat16(detail::words<V> const& pattern) { return bit_cast<V>(pattern << 16); }

/// Rounds to nearest, ties to even.
template <class V> COTANGENT_FORMULA constexpr detail::words<V> to_bfloat16(V const& x) {
  using words = detail::words<V>;
  auto const w = [](std::uint32_t n) { return detail::word<V>(n); };
  words const u = bit_cast<words>(x);
  bits_t<V> const magnitude = bit_cast<bits_t<V>>(u & w(0x7fffffff));
  words const rounded = u + w(0x7fff) + ((u >> 16) & w(1)), quiet = u | w(0x400000);
  return math::select(magnitude > broadcast<bits_t<V>>(0x7f800000), quiet, rounded) >> 16;
}

template <class V> COTANGENT_FORMULA constexpr V from_float16(detail::words<V> const& pattern) {
  using words = detail::words<V>;
  using bits = bits_t<V>;
  auto const w = [](std::uint32_t n) { return detail::word<V>(n); };
  words const magnitude = (pattern & w(0x7fff)) << 13, sign = (pattern & w(0x8000)) << 16;
  bits const m = bit_cast<bits>(magnitude);
  // of subnormals: m * 2^-24, by a difference of two normal numbers, which is exact
  words const small = bit_cast<words>(V(bit_cast<V>(magnitude + w(113u << 23)) - bit_cast<V>(w(113u << 23))));
  words const large = magnitude + w(224u << 23); // infinity and NaN
  words const odd = math::select(m > broadcast<bits>(0x0f800000), words(large | w(0x400000)), large);
  words const normal = math::select(m >= broadcast<bits>(0x0f800000), odd, words(magnitude + w(112u << 23)));
  return bit_cast<V>(words(sign | math::select(m < broadcast<bits>(0x00800000), small, normal)));
}

/// Rounds to nearest, ties to even; from 65520 on to infinity.
template <class V> COTANGENT_FORMULA constexpr detail::words<V> to_float16(V const& x) {
  using words = detail::words<V>;
  using bits = bits_t<V>;
  auto const w = [](std::uint32_t n) { return detail::word<V>(n); };
  words const u = bit_cast<words>(x), magnitude = u & w(0x7fffffff), sign = (u >> 16) & w(0x8000);
  bits const m = bit_cast<bits>(magnitude);
  // below 2^-14: the sum with 0.5 rounds at 2^-24
  words const small = bit_cast<words>(V(bit_cast<V>(magnitude) + bit_cast<V>(w(0x3f000000)))) - w(0x3f000000);
  words const normal = (magnitude - w(0x37fff001) + ((magnitude >> 13) & w(1))) >> 13;
  words const nan = w(0x7e00) | ((magnitude >> 13) & w(0x3ff));
  words const odd = math::select(m > broadcast<bits>(0x7f800000), nan, w(0x7c00));
  words const large = math::select(m >= broadcast<bits>(0x47800000), odd, normal);
  return sign | math::select(m < broadcast<bits>(0x38800000), small, large);
}

} // namespace COTANGENT_ABI
} // namespace math

namespace detail {

/// A number of 16 bits: what both formats share. Conversions to and from float are implicit; so arithmetic on them is that of
/// float, and its result is rounded when it is stored.
template <class Self> class half_number {
  std::uint16_t bits_;

public:
  half_number() = default;
  template <class T>
    requires std::is_arithmetic_v<T>
  constexpr half_number(T value) noexcept : bits_(static_cast<std::uint16_t>(Self::pattern_of(static_cast<float>(value)))) {}
  constexpr operator float() const noexcept { return Self::number_of(bits_); }
  constexpr std::uint16_t bits() const noexcept { return bits_; }
  static constexpr Self from_bits(std::uint16_t pattern) noexcept {
    Self x{};
    x.bits_ = pattern;
    return x;
  }
};

} // namespace detail

/// The number of IEEE 754 with 11 significant bits: from 6e-8 to 65504. It is a type of the library's own, with the bits of the
/// compilers' `_Float16`: those convert lane by lane, by a function call, where the target lacks F16C.
///
/// Value: an arithmetic value is converted to float, then rounded to nearest, ties to even; overflow gives infinity, NaN stays NaN.
class float16 : public detail::half_number<float16> {
public:
  using half_number::half_number;
  /// @private
  static constexpr std::uint32_t pattern_of(float x) noexcept { return math::to_float16(x); }
  static constexpr float number_of(std::uint32_t pattern) noexcept { return math::from_float16<float>(pattern); }
};

/// The upper half of a float: its range, with 8 significant bits.
///
/// Value: an arithmetic value is converted to float, then rounded to nearest, ties to even; overflow gives infinity, NaN stays NaN.
class bfloat16 : public detail::half_number<bfloat16> {
public:
  using half_number::half_number;
  /// @private
  static constexpr std::uint32_t pattern_of(float x) noexcept { return math::to_bfloat16(x); }
  static constexpr float number_of(std::uint32_t pattern) noexcept { return math::from_bfloat16<float>(pattern); }
};

} // namespace cotangent

#endif
