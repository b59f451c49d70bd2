// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_ELEMENTWISE_HPP
#define COTANGENT_KERNELS_ELEMENTWISE_HPP

#include <cotangent/kernels/half.hpp>
#include <cotangent/kernels/simd.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>

// One elementwise operation over contiguous memory, as a function for tables of pointers.

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {

/// Reads `count` elements from each operand and writes as many, in whole packs: up to 64 bytes (counted from
/// the first element) are read and written beyond the last. An operand whose bit in `fixed` is set is one
/// pack of equal elements. The result may alias an operand whose elements have the same size. `self` is user
/// data of the table's builder.
using elementwise_kernel = void (*)(void* result, void const* const* operands, std::int64_t count,
                                    unsigned fixed, void const* self);

namespace detail {

template <class V, class T>
COTANGENT_INLINE V fetch(T const* p) {
  if constexpr (std::is_same_v<T, bool> && math::is_vector<V>) return simd::load_mask<V>(p);
  else return simd::load<V>(p);
}

// A comparison of int32 has the type of a pack of int32: only the operation tells whether it is a mask.
template <class T, bool Boolean, class V>
COTANGENT_INLINE void put(void* result, std::int64_t at, V const& v) {
  if constexpr (Boolean || std::is_same_v<T, bool>) simd::store_mask(static_cast<bool*>(result) + at, v);
  else simd::store(static_cast<T*>(result) + at, v);
}

template <class Op, class T, bool Boolean, bool Mask, int... K>
COTANGENT_INLINE void elementwise(void* result, void const* const* operands, std::int64_t count,
                                  unsigned fixed, std::integer_sequence<int, K...>) {
  constexpr int w = simd::width<T>, first = Mask ? 1 : 0;
  using V = simd::pack<T, w>;
  void const* const from[]{operands[0], operands[K + first]...};
  std::int64_t const moves[]{(fixed & 1u) - std::int64_t{1},
                             (fixed >> (K + first) & 1u) - std::int64_t{1}...};
  for (std::int64_t i = 0; i < count; i += w) {
    if constexpr (Mask)
      put<T, Boolean>(
          result, i,
          Op::apply(simd::load_mask<math::mask_t<V>>(static_cast<bool const*>(from[0]) + (i & moves[0])),
                    fetch<V>(static_cast<T const*>(from[K + 1]) + (i & moves[K + 1]))...));
    else
      put<T, Boolean>(result, i,
                      Op::apply(fetch<V>(static_cast<T const*>(from[K + 1]) + (i & moves[K + 1]))...));
  }
}

} // namespace detail

/// Op on operands of T. Boolean: the result is bool. Mask: the first operand is a bool, which apply takes as
/// the mask of the others.
template <class Op, class T, int Arity, bool Boolean, bool Mask>
void elementwise(void* result, void const* const* operands, std::int64_t count, unsigned fixed, void const*) {
  detail::elementwise<Op, T, Boolean, Mask>(result, operands, count, fixed,
                                            std::make_integer_sequence<int, Arity - (Mask ? 1 : 0)>{});
}

/// Converts elements as static_cast does (into integers: math::to_integer); bool counts as 0 and 1.
template <class From, class To>
void convert(void* result, void const* const* operands, std::int64_t count, unsigned fixed, void const*) {
  constexpr int w = sizeof(From) > sizeof(To) ? simd::width<From> : simd::width<To>;
  using bytes = math::vector<std::int8_t, w>;
  auto const* const from = static_cast<From const*>(*operands);
  auto* const to = static_cast<To*>(result);
  std::int64_t const moves = (fixed & 1u) - std::int64_t{1};
  for (std::int64_t i = 0; i < count; i += w) {
    From const* const p = from + (i & moves);
    if constexpr (std::is_same_v<From, bool>) {
      auto const mask = simd::load_mask<bytes>(p);
      if constexpr (std::is_same_v<To, bool>) simd::store_mask(to + i, mask);
      else
        simd::store(to + i,
                    math::convert<math::vector<To, w>>(math::logical_and(mask, math::broadcast<bytes>(1))));
    } else {
      auto const v = simd::load<math::vector<From, w>>(p);
      if constexpr (std::is_same_v<To, bool>) simd::store_mask(to + i, v != math::vector<From, w>{});
      else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>)
        simd::store(to + i, math::to_integer<math::vector<To, w>>(v));
      else simd::store(to + i, math::convert<math::vector<To, w>>(v));
    }
  }
}

/// The same where `From` or `To` has half precision; the other one is float or the same.
template <class From, class To>
void convert_half(void* result, void const* const* operands, std::int64_t count, unsigned fixed, void const*) {
  constexpr int w = simd::width<float>;
  using V = math::vector<float, w>;
  auto const* const from = static_cast<From const*>(*operands);
  auto* const to = static_cast<To*>(result);
  std::int64_t const moves = (fixed & 1u) - std::int64_t{1};
  for (std::int64_t i = 0; i < count; i += w) {
    V v;
    if constexpr (std::is_same_v<From, float>) v = simd::load<V>(from + (i & moves));
    else v = simd::load_half<V>(from + (i & moves));
    if constexpr (std::is_same_v<To, float>) simd::store(to + i, v);
    else simd::round_half(to + i, v);
  }
}

} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
