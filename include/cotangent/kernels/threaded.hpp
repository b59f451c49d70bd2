// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_THREADED_HPP
#define COTANGENT_KERNELS_THREADED_HPP

#include <cotangent/kernels/simd.hpp>

#include <cstdint>
#include <cstring>
#include <type_traits>

// Threaded code for elementwise operations known only at run time, with values in registers. A block, eight
// registers of elements, is passed as arguments to every operation. The operation combines the block with its
// loads and tail-calls the next one with the results, which is a jump. One pass over memory for each
// operation would spend more time on loads and stores than on arithmetic.

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {

/// A register of the block, whatever its lane type.
using block_register = math::vector<double, simd::width<double>>;

inline constexpr int block_registers = 8;
/// The bytes of a block of numbers; masks are as wide as the numbers that were compared.
inline constexpr std::int64_t block_bytes = block_registers * simd::bytes;

struct threaded_step;
using threaded_kernel = void (*)(threaded_step const* s, char* const* memory, block_register, block_register,
                                 block_register, block_register, block_register, block_register,
                                 block_register, block_register);

/// One operation: the entries of `memory` that it reads (x, y) and writes (to). If its kernel has several
/// forms, `code` is the form, from 1.
struct threaded_step {
  threaded_kernel run = nullptr;
  std::int16_t x = 0, y = 0, to = 0;
  std::uint16_t code = 0;
};

namespace detail {

/// Loads a register from bytes, which may be elements of any type: only their alignment is known.
template <class V> COTANGENT_INLINE V from_memory(char const* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

/// The other operand of an operation: as many registers as the block has, or one element in all lanes.
template <class V, bool Fixed> class threaded_operand {
  char const* from_;
  V one_;

public:
  COTANGENT_INLINE explicit threaded_operand(char const* from) : from_(from) {
    if constexpr (Fixed) one_ = from_memory<V>(from);
  }
  COTANGENT_INLINE V operator[](int k) const {
    if constexpr (Fixed) return one_;
    else return from_memory<V>(from_ + k * simd::bytes);
  }
};

template <class V> COTANGENT_INLINE block_register in_block(V const& v) {
  static_assert(sizeof(V) == sizeof(block_register));
  return math::bit_cast<block_register>(v);
}

/// Applies Op to register k of the block, which is operand At; the other operands are x and y in order.
template <class Op, class V, int At, class X, class Y>
COTANGENT_INLINE block_register threaded_value(block_register const& block, X const& x, Y const& y, int k) {
  using M = math::mask_t<V>;
  V const a = math::bit_cast<V>(block);
  if constexpr (Op::arity == 1) return detail::in_block(Op::apply(a));
  else if constexpr (Op::arity == 2)
    return detail::in_block(At == 0 ? Op::apply(a, x[k]) : Op::apply(x[k], a));
  else if constexpr (Op::condition_first) {
    if constexpr (At == 0) return detail::in_block(Op::apply(math::bit_cast<M>(block), x[k], y[k]));
    else if constexpr (At == 1) return detail::in_block(Op::apply(math::bit_cast<M>(V{x[k]}), a, y[k]));
    else return detail::in_block(Op::apply(math::bit_cast<M>(V{x[k]}), y[k], a));
  } else if constexpr (At == 0) return detail::in_block(Op::apply(a, x[k], y[k]));
  else return detail::in_block(Op::apply(x[k], y[k], a));
}

template <class... R> COTANGENT_INLINE void put_in_memory(char* to, R const&... r) {
  int k = 0;
  (std::memcpy(to + k++ * simd::bytes, &r, sizeof r), ...);
}

} // namespace detail

/// block = Op(..., block, ...) over T. Bit 0 of Fixed: x is one element; bit 1: y is. Stored: also writes the
/// block to memory.
template <class Op, class T, int At, unsigned Fixed, bool Stored>
void threaded(threaded_step const* s, char* const* memory, block_register a, block_register b,
              block_register c, block_register d, block_register e, block_register f, block_register g,
              block_register h) {
  using V = simd::pack<T, simd::width<T>>;
  detail::threaded_operand<V, (Fixed & 1u) != 0> const x(memory[s->x]);
  detail::threaded_operand<V, (Fixed & 2u) != 0> const y(memory[s->y]);
  auto const value = [&](block_register const& r, int k) __attribute__((always_inline)) {
    return detail::threaded_value<Op, V, At>(r, x, y, k);
  };
  a = value(a, 0), b = value(b, 1), c = value(c, 2), d = value(d, 3);
  e = value(e, 4), f = value(f, 5), g = value(g, 6), h = value(h, 7);
  if constexpr (Stored) // after all loads, which may alias it
    detail::put_in_memory(memory[s->to], a, b, c, d, e, f, g, h);
  COTANGENT_JUMP return s[1].run(s + 1, memory, a, b, c, d, e, f, g, h);
}

/// Loads the block from memory x.
template <bool Fixed>
void threaded_load(threaded_step const* s, char* const* memory, block_register, block_register,
                   block_register, block_register, block_register, block_register, block_register,
                   block_register) {
  detail::threaded_operand<block_register, Fixed> const x(memory[s->x]);
  COTANGENT_JUMP return s[1].run(s + 1, memory, x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]);
}

/// Stores the block to memory.
inline void threaded_store(threaded_step const* s, char* const* memory, block_register a, block_register b,
                           block_register c, block_register d, block_register e, block_register f,
                           block_register g, block_register h) {
  detail::put_in_memory(memory[s->to], a, b, c, d, e, f, g, h);
  COTANGENT_JUMP return s[1].run(s + 1, memory, a, b, c, d, e, f, g, h);
}

/// Loads masks as wide as T from bools at x.
template <class T>
void threaded_load_mask(threaded_step const* s, char* const* memory, block_register, block_register,
                        block_register, block_register, block_register, block_register, block_register,
                        block_register) {
  using M = math::mask_t<simd::pack<T, simd::width<T>>>;
  auto const get = [from = reinterpret_cast<bool const*>(memory[s->x])](int k)
                       __attribute__((always_inline)) {
                         return detail::in_block(simd::load_mask<M>(from + k * simd::width<T>));
                       };
  COTANGENT_JUMP return s[1].run(s + 1, memory, get(0), get(1), get(2), get(3), get(4), get(5), get(6),
                                 get(7));
}

/// Stores masks as wide as T to bools.
template <class T>
void threaded_store_mask(threaded_step const* s, char* const* memory, block_register a, block_register b,
                         block_register c, block_register d, block_register e, block_register f,
                         block_register g, block_register h) {
  using M = math::mask_t<simd::pack<T, simd::width<T>>>;
  auto const put =
      [to = reinterpret_cast<bool*>(memory[s->to])](block_register const& r, int k)
          __attribute__((always_inline)) { simd::store_mask(to + k * simd::width<T>, math::bit_cast<M>(r)); };
  put(a, 0), put(b, 1), put(c, 2), put(d, 3), put(e, 4), put(f, 5), put(g, 6), put(h, 7);
  COTANGENT_JUMP return s[1].run(s + 1, memory, a, b, c, d, e, f, g, h);
}

/// Returns to the caller of the first step.
inline void threaded_end(threaded_step const*, char* const*, block_register, block_register, block_register,
                         block_register, block_register, block_register, block_register, block_register) {}

} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#endif
