// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_SHORT_CODE_HPP
#define COTANGENT_KERNELS_SHORT_CODE_HPP

#include <cotangent/core/math/arithmetic.hpp>
#include <cotangent/kernels/simd.hpp>

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

// Threaded code for short tensors: one step computes 16 bytes of elements, from one element on. Values are slots of
// 16 bytes in a frame of memory. The last result is also passed in a register, since a chain of operations would wait for
// its stores.

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {

using short_register = math::vector<double, 2>;
inline constexpr int short_bytes = sizeof(short_register);

struct short_step;
using short_kernel = void (*)(short_step const* s, char* frame, char* const* bases, short_register last);

/// One step: the offsets in the frame of its result and of its operands x, y, z. A step that moves elements has one
/// slot, and an address: `base`, an index of `bases`, and an offset.
struct short_step {
  short_kernel run = nullptr;
  std::int32_t to = 0;
  std::int32_t z = 0; // or the base
  std::int32_t x = 0; // or the lower half of the offset
  std::int32_t y = 0; // or the upper half

  static short_step move(short_kernel run, std::int32_t slot, std::int32_t base, std::int64_t offset) noexcept {
    return {run, slot, base, static_cast<std::int32_t>(static_cast<std::uint32_t>(offset)),
            static_cast<std::int32_t>(offset >> 32)};
  }
  COTANGENT_INLINE char* memory(char* const* bases) const noexcept {
    return bases[z] + (static_cast<std::int64_t>(y) * (std::int64_t{1} << 32) + static_cast<std::uint32_t>(x));
  }
};

/// The operand that a kernel takes from the register of the last result.
inline constexpr int no_operand = -1;

/// The most steps before an end.
#if defined(__OPTIMIZE__) || defined(__clang__)
inline constexpr int most_short_steps = 400;
#else // without tail calls all steps are on the stack at once
inline constexpr int most_short_steps = 96;
#endif

namespace detail {

template <class V> COTANGENT_INLINE V from_slot(char const* slot) noexcept {
  V v;
  std::memcpy(&v, slot, sizeof v);
  return v;
}
template <class V> COTANGENT_INLINE void to_slot(char* slot, V const& v) noexcept {
  std::memcpy(slot, &v, sizeof v);
}

} // namespace detail

/// to = Op(x, y, z) over elements of T; operand Last is the last result. Boolean: the result is bool. Booleans are bytes
/// in the frame, and never the last result.
template <class Op, class T, bool Boolean, int Last>
void short_operation(short_step const* s, char* frame, char* const* bases, short_register last) {
  using V = simd::pack<T, short_bytes / static_cast<int>(sizeof(T))>;
  constexpr bool masked = Op::condition_first;
  auto const operand = [&]<int K>(std::integral_constant<int, K>) __attribute__((always_inline)) {
    std::int32_t const at = K == 0 ? s->x : K == 1 ? s->y : s->z;
    if constexpr (K == 0 && masked)
      return simd::load_mask<math::mask_t<V>>(reinterpret_cast<bool const*>(frame + at));
    else if constexpr (std::is_same_v<T, bool>) return simd::load_mask<V>(reinterpret_cast<bool const*>(frame + at));
    else if constexpr (K == Last) return math::bit_cast<V>(last);
    else return detail::from_slot<V>(frame + at);
  };
  auto const result = [&]<int... K>(std::integer_sequence<int, K...>) __attribute__((always_inline)) {
    return Op::apply(operand(std::integral_constant<int, K>{})...);
  }(std::make_integer_sequence<int, Op::arity>{});
  if constexpr (Boolean || std::is_same_v<T, bool>)
    simd::store_mask(reinterpret_cast<bool*>(frame + s->to), result);
  else {
    last = math::bit_cast<short_register>(result);
    detail::to_slot(frame + s->to, last);
  }
  COTANGENT_JUMP return s[1].run(s + 1, frame, bases, last);
}

/// Loads Bytes to a slot, or to the register only; the lanes behind them are zero.
template <int Bytes, bool ToSlot = true> void short_load(short_step const* s, char* frame, char* const* bases, short_register) {
  char const* const from = s->memory(bases);
  short_register v{};
  if constexpr (Bytes == 8) v[0] = detail::from_slot<double>(from);
  else if constexpr (Bytes == 4)
    v = math::bit_cast<short_register>(math::vector<float, 4>{detail::from_slot<float>(from)});
  else std::memcpy(&v, from, Bytes);
  if constexpr (ToSlot) detail::to_slot(frame + s->to, v);
  COTANGENT_JUMP return s[1].run(s + 1, frame, bases, v);
}

/// Fills a slot with copies of one element of Bytes.
template <int Bytes> void short_spread(short_step const* s, char* frame, char* const* bases, short_register last) {
  char const* const from = s->memory(bases);
  for (int k = 0; k < short_bytes; k += Bytes) std::memcpy(frame + s->to + k, from, Bytes);
  COTANGENT_JUMP return s[1].run(s + 1, frame, bases, last);
}

/// Sets a part of a slot to the first Bytes of the step's offset.
template <int Bytes> void short_set(short_step const* s, char* frame, char* const* bases, short_register last) {
  std::memcpy(frame + s->to, &s->x, Bytes < 4 ? Bytes : 4); // (little-endian, as the halves are)
  if constexpr (Bytes == 8) std::memcpy(frame + s->to + 4, &s->y, 4);
  COTANGENT_JUMP return s[1].run(s + 1, frame, bases, last);
}

/// Copies Bytes from memory to a part of a slot.
template <int Bytes> void short_insert(short_step const* s, char* frame, char* const* bases, short_register last) {
  std::memcpy(frame + s->to, s->memory(bases), Bytes);
  COTANGENT_JUMP return s[1].run(s + 1, frame, bases, last);
}

/// Copies Bytes from a part of a slot to memory.
template <int Bytes> void short_store(short_step const* s, char* frame, char* const* bases, short_register last) {
  std::memcpy(s->memory(bases), frame + s->to, Bytes);
  COTANGENT_JUMP return s[1].run(s + 1, frame, bases, last);
}

/// The same from the register of the last result, which is ready before its slot.
template <int Bytes> void short_store_last(short_step const* s, char* frame, char* const* bases, short_register last) {
  std::memcpy(s->memory(bases), &last, Bytes);
  COTANGENT_JUMP return s[1].run(s + 1, frame, bases, last);
}

/// Adds an element of a slot to memory.
template <class T> void short_add(short_step const* s, char* frame, char* const* bases, short_register last) {
  char* const to = s->memory(bases);
  detail::to_slot(to, math::add(detail::from_slot<T>(to), detail::from_slot<T>(frame + s->to)));
  COTANGENT_JUMP return s[1].run(s + 1, frame, bases, last);
}

/// Returns to the caller of the first step.
inline void short_end(short_step const*, char*, char* const*, short_register) {}

} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
