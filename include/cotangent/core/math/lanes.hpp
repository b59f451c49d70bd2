// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_LANES_HPP
#define COTANGENT_CORE_MATH_LANES_HPP

#include <cotangent/core/abi.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

// Values of arithmetic: a scalar, or a compiler vector (`vector_size`) whose number of lanes is a power of
// two.

namespace cotangent::math {
inline namespace COTANGENT_ABI {

namespace detail {

template <class Lane, int W>
struct vector_of {
  using type __attribute__((vector_size(sizeof(Lane) * static_cast<std::size_t>(W)))) = Lane;
};
template <class Lane>
struct vector_of<Lane, 1> {
  using type = Lane;
};

template <std::size_t Bytes>
struct integer_of;
template <>
struct integer_of<1> {
  using type = std::int8_t;
};
template <>
struct integer_of<2> {
  using type = std::int16_t;
};
template <>
struct integer_of<4> {
  using type = std::int32_t;
};
template <>
struct integer_of<8> {
  using type = std::int64_t;
};

template <class V>
concept indexed = !std::is_arithmetic_v<V> && !std::is_pointer_v<V> && !std::is_class_v<V> &&
                  !std::is_array_v<V> && requires(V v) { v[0]; };

} // namespace detail

/// A vector of W lanes, a scalar where W is 1.
template <class Lane, int W>
using vector = typename detail::vector_of<Lane, W>::type;

/// Traits of a value: its lanes, its masks, the integers of its width.
template <class V>
struct value_traits;

template <class V>
  requires std::is_arithmetic_v<V>
struct value_traits<V> {
  static constexpr bool is_vector = false;
  static constexpr int lanes = 1;
  using lane = V;
  using mask = bool;
  using bits = typename detail::integer_of<sizeof(V)>::type;
};

template <detail::indexed V>
struct value_traits<V> {
  static constexpr bool is_vector = true;
  using lane = std::remove_cvref_t<decltype(std::declval<V&>()[0])>;
  static constexpr int lanes = static_cast<int>(sizeof(V) / sizeof(lane));
  using mask = std::remove_cvref_t<decltype(std::declval<V&>() < std::declval<V&>())>;
  using bits = vector<typename detail::integer_of<sizeof(lane)>::type, lanes>;
};

template <class V>
using lane_t = typename value_traits<std::remove_cvref_t<V>>::lane;
template <class V>
inline constexpr int lanes = value_traits<std::remove_cvref_t<V>>::lanes;
/// The result of a comparison: bool, or a vector of integers of the lane's width, -1 for true. They are long
/// in g++ and long long in clang, so do not spell the type.
template <class V>
using mask_t = typename value_traits<std::remove_cvref_t<V>>::mask;
/// Signed integers of the lane's width.
template <class V>
using bits_t = typename value_traits<std::remove_cvref_t<V>>::bits;
template <class V>
inline constexpr bool is_vector = value_traits<std::remove_cvref_t<V>>::is_vector;
/// A vector with the same number of lanes, of another type.
template <class V, class Lane>
using with_lane = vector<Lane, lanes<V>>;
template <class V>
inline constexpr bool is_floating = std::is_floating_point_v<lane_t<V>>;

/// The bits of x as another type of the same size.
template <class To, class From>
  requires(sizeof(To) == sizeof(From))
COTANGENT_FORMULA constexpr To bit_cast(From const& x) {
  return __builtin_bit_cast(To, x);
}

/// x in all lanes.
template <class V>
COTANGENT_FORMULA constexpr V broadcast(lane_t<V> x) {
  if constexpr (is_vector<V>)
    return x - V{}; // exact for every x, also -0; both compilers emit one broadcast
  else return x;
}

/// Lane i.
template <class V>
COTANGENT_FORMULA constexpr lane_t<V> get(V const& v, int i) {
  if constexpr (is_vector<V>) return v[i];
  else return static_cast<void>(i), v;
}

template <class V>
struct halves {
  vector<lane_t<V>, lanes<V> / 2> low, high;
};

namespace detail {

// g++ 12 compiles a bit_cast to the halves through memory.
template <class V, std::size_t... I>
COTANGENT_FORMULA constexpr halves<V> split_lanes(V const& v, std::index_sequence<I...>) {
  return {__builtin_shufflevector(v, v, static_cast<int>(I)...),
          __builtin_shufflevector(v, v, static_cast<int>(I + sizeof...(I))...)};
}

} // namespace detail

template <class V>
COTANGENT_FORMULA constexpr halves<V> split(V const& v) {
  if constexpr (lanes<V> == 2) return {v[0], v[1]};
  else return detail::split_lanes(v, std::make_index_sequence<static_cast<std::size_t>(lanes<V> / 2)>{});
}

/// Concatenates two halves.
template <class V, class Half>
COTANGENT_FORMULA constexpr V join(Half const& low, Half const& high) {
  if constexpr (is_vector<Half> && sizeof(Half) == sizeof(double)) // g++ 12 joins halves of 8 bytes in memory
    return bit_cast<V>(vector<double, 2>{bit_cast<double>(low), bit_cast<double>(high)});
  else return bit_cast<V>(halves<V>{low, high});
}

/// True if V is wider than a register. g++ splits comparisons and selects of such vectors lane by lane, so
/// functions work on their halves.
template <class V>
inline constexpr bool is_wide = is_vector<V> && sizeof(V) > COTANGENT_ABI_BYTES;

/// Native instructions for one vector type; kernels/simd.hpp specializes it. A vector without a
/// specialization is split in halves while it is wider than a register, then processed lane by lane.
template <class V>
struct native {
  static constexpr bool exists = false, rounds = false;
};

/// Native conversions, like `native`.
template <class V2, class V>
struct native_convert {
  static constexpr bool exists = false;
};

/// Native products with powers of two, `times(x, n)` = x 2^n, rounded once, like `native`.
template <class V>
struct native_power_of_two {
  static constexpr bool exists = false;
};

/// Native tests of masks, by their size in bytes.
template <std::size_t Bytes>
struct native_any {
  static constexpr bool exists = false;
};

namespace detail {

template <class V, class F, class... Vs>
COTANGENT_FORMULA V lane_by_lane(F f, Vs const&... v) {
  if constexpr (is_wide<V>) return join<V>(f(split(v).low...), f(split(v).high...));
  else {
    V r{};
    for (int i = 0; i < lanes<V>; ++i) r[i] = f(v[i]...);
    return r;
  }
}

} // namespace detail

/// mask ? a : b in each lane; any mask of V's lane width is accepted.
template <class M, class V>
COTANGENT_FORMULA constexpr V select(M const& mask, V const& a, V const& b) {
  if constexpr (is_wide<V>)
    return join<V>(select(split(mask).low, split(a).low, split(b).low),
                   select(split(mask).high, split(a).high, split(b).high));
#if defined(__SSE2__) && !defined(__SSE4_1__) && !defined(__clang__)
  // SSE2 compares no lanes of 8 bytes with zero: g++ would choose lane by lane; and g++ 12 ends with an internal error where it
  // makes such a choice from these bits, so it must not see where the mask comes from.
  else if constexpr (is_vector<V> && sizeof(lane_t<V>) == 8) {
    M m = mask;
    if (!std::is_constant_evaluated()) asm("" : "+x"(m));
    return bit_cast<V>((bit_cast<M>(a) & m) | (bit_cast<M>(b) & ~m));
  }
#endif
  else return mask ? a : b;
}

template <class M>
COTANGENT_FORMULA constexpr M logical_and(M const& a, M const& b) {
  if constexpr (is_vector<M>) return a & b;
  else return a && b;
}

template <class M>
COTANGENT_FORMULA constexpr M logical_or(M const& a, M const& b) {
  if constexpr (is_vector<M>) return a | b;
  else return a || b;
}

template <class M>
COTANGENT_FORMULA constexpr M logical_not(M const& a) {
  if constexpr (is_vector<M>) return ~a;
  else return !a;
}

/// The mask for lanes of another width; the number of lanes is equal.
template <class M2, class M>
COTANGENT_FORMULA constexpr M2 mask_cast(M const& m) {
  static_assert(lanes<M2> == lanes<M>, "cotangent: mask_cast: both masks must have the same number of lanes");
  if constexpr (!is_vector<M>) return static_cast<M2>(m);
  else if constexpr (sizeof(M2) == sizeof(M)) return bit_cast<M2>(m);
  else if constexpr (is_wide<M> || is_wide<M2>) {
    using half = decltype(halves<M2>::low);
    return join<M2>(mask_cast<half>(split(m).low), mask_cast<half>(split(m).high));
  } else return __builtin_convertvector(m, M2);
}

/// static_cast of each lane: towards zero into integers, which must be able to represent the values. If that
/// is unknown, use `to_integer`.
template <class V2, class V>
COTANGENT_FORMULA constexpr V2 convert(V const& v) {
  static_assert(lanes<V2> == lanes<V>, "cotangent: convert: both values must have the same number of lanes");
  if constexpr (is_wide<V> || is_wide<V2>) {
    using half = decltype(halves<V2>::low);
    return join<V2>(convert<half>(split(v).low), convert<half>(split(v).high));
  } else if constexpr (native_convert<V2, V>::exists) return native_convert<V2, V>::convert(v);
  else if constexpr (is_vector<V>) return __builtin_convertvector(v, V2);
  else return static_cast<V2>(v);
}

/// Floating values as integers, towards zero; the lowest integer for NaN and for values out of range.
template <class V2, class V>
COTANGENT_FORMULA constexpr V2 to_integer(V const& v) {
  constexpr auto lowest = static_cast<lane_t<V>>(std::numeric_limits<lane_t<V2>>::lowest()); // a power of two: exact
  V const low = broadcast<V>(lowest);
  return math::convert<V2>(math::select(math::logical_and(v > low, v < broadcast<V>(-lowest)), v, low));
}

} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
