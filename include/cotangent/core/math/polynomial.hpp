// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_POLYNOMIAL_HPP
#define COTANGENT_CORE_MATH_POLYNOMIAL_HPP

#include <cotangent/core/abi.hpp>
#include <cotangent/core/math/arithmetic.hpp>

#include <cstdint>
#include <limits>
#include <type_traits>

// The common part of the elementary functions. Their coefficients are minimax fits (Remez, 60 digits),
// rounded.
//
// Constant evaluations refuse arithmetic on NaN and infinities. There each function handles such arguments
// first, with the values of the general path at run time.

namespace cotangent::math {
inline namespace COTANGENT_ABI {
namespace detail {

template <class V>
inline constexpr bool single = sizeof(lane_t<V>) == sizeof(float);

// From bits: clang refuses the usual names if -ffast-math excludes such values.
template <class V>
inline constexpr auto infinity =
    bit_cast<lane_t<V>>(static_cast<lane_t<bits_t<V>>>(single<V> ? 0x7f800000 : 0x7ff0000000000000));
template <class V>
inline constexpr auto nan =
    bit_cast<lane_t<V>>(static_cast<lane_t<bits_t<V>>>(single<V> ? 0x7fc00000 : 0x7ff8000000000000));

template <class V>
inline constexpr auto largest = std::numeric_limits<lane_t<V>>::max();

/// In all lanes, by integers: operations on infinities or NaN are undefined with -ffast-math.
template <class V>
COTANGENT_FORMULA constexpr V broadcast_bits(lane_t<V> x) {
  return bit_cast<V>(broadcast<bits_t<V>>(bit_cast<lane_t<bits_t<V>>>(x)));
}

template <class V>
COTANGENT_FORMULA constexpr V constant(double c) {
  return broadcast<V>(static_cast<lane_t<V>>(c));
}

/// True for a finite number, in a constant evaluation.
template <class T>
constexpr bool is_finite(T x) {
  return x <= std::numeric_limits<T>::max() && x >= std::numeric_limits<T>::lowest();
}

/// The polynomial in x with these coefficients, the highest first.
template <class V, class... Doubles>
COTANGENT_FORMULA constexpr V horner(V const& x, double highest, Doubles... c) {
  V r = constant<V>(highest);
  ((r = fma(r, x, constant<V>(c))), ...);
  return r;
}

/// x, after a rounding that -ffast-math must not undo.
template <class V>
COTANGENT_FORMULA constexpr V rounded(V const& x) {
  if constexpr (is_fast) return opaque(x);
  else return x;
}

/// The bits of x shifted left by N.
template <int N, class V>
COTANGENT_FORMULA constexpr V shift_bits_left(V const& x) {
  return bit_cast<V>(bit_cast<bits_t<V>>(x) << N);
}

} // namespace detail
} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
