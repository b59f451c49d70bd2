// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_ARITHMETIC_HPP
#define COTANGENT_CORE_MATH_ARITHMETIC_HPP

#include <cotangent/core/abi.hpp>
#include <cotangent/core/exact.hpp>
#include <cotangent/core/math/lanes.hpp>

#include <cstdint>
#include <limits>
#include <type_traits>

// Arithmetic over a value V, a scalar or a vector. Code over V gives the same bits in a constant evaluation,
// in a scalar loop and in the lanes of a vector. Operators (+ - * / < == & | ^ ~ << >>) are the language's. A
// product that is later added or subtracted is written fma(a, b, c) if it should fuse, and mul(a, b) if it
// must not. If V may be integers, which wrap around, use add, sub, mul, neg and fma.

namespace cotangent::math {
inline namespace COTANGENT_ABI {

inline constexpr bool has_fma = COTANGENT_ABI_FMA != 0;
inline constexpr bool is_fast = COTANGENT_ABI_FAST != 0; // -ffast-math: the compiler may reassociate

/// x, hidden from the optimizer, so that neither contraction nor -ffast-math sees through it.
template <class V>
COTANGENT_FORMULA constexpr V opaque(V const& x) {
  if (std::is_constant_evaluated()) return x;
  if constexpr (is_wide<V>) return join<V>(opaque(split(x).low), opaque(split(x).high));
  else if constexpr (is_vector<V> && sizeof(V) == sizeof(double))
    return bit_cast<V>(opaque(bit_cast<double>(x)));
  else {
    V v = x;
#if COTANGENT_ABI_BYTES == 64
    asm("" : "+v"(v));
#elif defined(__SSE2__)
    asm("" : "+x"(v));
#elif defined(__aarch64__)
    asm("" : "+w"(v));
#else
    asm("" : "+m"(v));
#endif
    return v;
  }
}

template <class V>
inline constexpr bool is_integer = std::is_integral_v<lane_t<V>> && !std::is_same_v<lane_t<V>, bool>;

namespace detail {
template <class V>
struct modular_of {
  using type = with_lane<V, std::make_unsigned_t<lane_t<V>>>;
};
} // namespace detail

/// Unsigned integers: the language lets only these wrap around.
template <class V>
  requires is_integer<V>
using modular = typename detail::modular_of<V>::type;

template <class V>
COTANGENT_FORMULA constexpr V add(V const& a, V const& b) {
  if constexpr (is_integer<V>) return bit_cast<V>(bit_cast<modular<V>>(a) + bit_cast<modular<V>>(b));
  else return a + b;
}

template <class V>
COTANGENT_FORMULA constexpr V sub(V const& a, V const& b) {
  if constexpr (is_integer<V>) return bit_cast<V>(bit_cast<modular<V>>(a) - bit_cast<modular<V>>(b));
  else return a - b;
}

template <class V>
COTANGENT_FORMULA constexpr V neg(V const& a) {
  if constexpr (is_integer<V>) return bit_cast<V>(modular<V>{} - bit_cast<modular<V>>(a));
  else return -a;
}

/// a * b, rounded, never fused with a later addition.
template <class V>
COTANGENT_FORMULA constexpr V mul(V const& a, V const& b) {
#if defined(__clang__)
#  pragma clang fp contract(off)
  constexpr bool barrier = has_fma && is_fast;
#else
  constexpr bool barrier = has_fma; // g++ contracts across statements and has no pragma against it
#endif
  if constexpr (is_integer<V>) return bit_cast<V>(bit_cast<modular<V>>(a) * bit_cast<modular<V>>(b));
  else if constexpr (barrier && is_floating<V>) return opaque<V>(a * b);
  else return a * b;
}

namespace detail {

struct do_fma {
  template <class V>
  COTANGENT_FORMULA V operator()(V const& a, V const& b, V const& c) const;
};

struct do_sqrt {
  template <class V>
  COTANGENT_FORMULA V operator()(V const& x) const;
};

} // namespace detail

/// a * b + c: rounded once if the target has FMA, else twice; the same in a constant evaluation.
template <class V>
COTANGENT_FORMULA constexpr V fma(V const& a, V const& b, V const& c) {
  if constexpr (is_integer<V>) return math::add(math::mul(a, b), c);
  else if constexpr (!has_fma || !is_floating<V>) return a * b + c;
  else if constexpr (!is_vector<V>) {
    if (std::is_constant_evaluated()) return exact::fma(a, b, c);
    if constexpr (sizeof(V) == sizeof(float)) return __builtin_fmaf(a, b, c);
    else return __builtin_fma(a, b, c);
  } else if constexpr (native<V>::exists) return native<V>::fma(a, b, c);
  else {
#if defined(__clang__)
    return __builtin_elementwise_fma(a, b, c);
#else
    return detail::lane_by_lane<V>(detail::do_fma{}, a, b, c);
#endif
  }
}

/// `any`: some lane of the mask is true; `all`: every lane is.
template <class M>
COTANGENT_FORMULA constexpr bool any(M const& m) {
  if constexpr (!is_vector<M>) return m;
  else if constexpr (native_any<sizeof(M)>::exists) return native_any<sizeof(M)>::any(m);
  else if constexpr (is_wide<M>) return any(split(m).low | split(m).high);
  else {
#if defined(__clang__)
    return __builtin_reduce_or(m) != 0;
#else
    lane_t<M> r = 0;
    for (int i = 0; i < lanes<M>; ++i) r = static_cast<lane_t<M>>(r | m[i]);
    return r != 0;
#endif
  }
}

template <class M>
COTANGENT_FORMULA constexpr bool all(M const& m) {
  return !any(logical_not(m));
}

/// True if x is NaN, also with -ffast-math.
template <class V>
COTANGENT_FORMULA constexpr mask_t<V> is_nan(V const& x) {
  if constexpr (!is_floating<V>) return x != x;
  else if constexpr (!is_fast) return x != x;
  else {
    using bits = bits_t<V>;
    constexpr bool narrow = sizeof(lane_t<V>) == 4;
    constexpr auto magnitude = std::numeric_limits<lane_t<bits>>::max();
    constexpr auto infinity = static_cast<lane_t<bits>>(narrow ? 0x7f800000 : 0x7ff0000000000000);
    return mask_cast<mask_t<V>>((bit_cast<bits>(x) & magnitude) > infinity);
  }
}

/// The absolute value; the lowest integer is its own.
template <class V>
COTANGENT_FORMULA constexpr V abs(V const& x) {
  if constexpr (!is_floating<V>) return select(x < V{}, math::neg(x), x);
  else if constexpr (is_vector<V>)
    return bit_cast<V>(bit_cast<bits_t<V>>(x) & std::numeric_limits<lane_t<bits_t<V>>>::max());
  else if constexpr (sizeof(V) == sizeof(float)) return __builtin_fabsf(x);
  else return __builtin_fabs(x);
}

/// The magnitude of x with the sign of y.
template <class V>
COTANGENT_FORMULA constexpr V copysign(V const& x, V const& y) {
  if constexpr (is_vector<V>) {
    using bits = bits_t<V>;
    constexpr auto magnitude = std::numeric_limits<lane_t<bits>>::max();
    V const r = bit_cast<V>((bit_cast<bits>(x) & magnitude) | (bit_cast<bits>(y) & ~magnitude));
#if defined(__clang__) && defined(__AVX512F__) // joined with a select, it becomes an instruction with wrong bits (LLVM issue 157929)
    return opaque<V>(r);
#else
    return r;
#endif
  } else if constexpr (sizeof(V) == sizeof(float)) return __builtin_copysignf(x, y);
  else return __builtin_copysign(x, y);
}

namespace detail {

// take_first ? a : b, or NaN if either is NaN. With -ffast-math, comparing or selecting floating values is
// undefined if one is NaN, so integers decide there.
template <class M, class V>
COTANGENT_FORMULA constexpr V choose(M const& take_first, V const& a, V const& b) {
  if constexpr (!is_floating<V>) return select(take_first, a, b);
  // the inner select is one instruction, unless clang joins the masks
  else if constexpr (!is_fast && is_vector<V>)
    return select(is_nan(a), a, opaque<V>(select(take_first, a, b)));
  else if constexpr (!is_fast) return select(logical_or<M>(take_first, is_nan(a)), a, b);
  else {
    using bits = bits_t<V>;
    bits const first = bit_cast<bits>(a), second = bit_cast<bits>(b);
    bits const number = select(take_first, first, second);
    return bit_cast<V>(select(is_nan(a), first, select(is_nan(b), second, number)));
  }
}

} // namespace detail

/// The larger and the smaller value: NaN if either is NaN, b if they are equal.
template <class V>
COTANGENT_FORMULA constexpr V max(V const& a, V const& b) {
  if constexpr (is_floating<V> && !is_fast && native<V>::exists) // `at_least` gives b if either is NaN
    return select(is_nan(a), a, native<V>::at_least(b, a));
  else return detail::choose(a > b, a, b);
}

template <class V>
COTANGENT_FORMULA constexpr V min(V const& a, V const& b) {
  if constexpr (is_floating<V> && !is_fast && native<V>::exists)
    return select(is_nan(a), a, native<V>::at_most(b, a));
  else return detail::choose(a < b, a, b);
}

/// x clamped to one limit, which is not NaN; NaN stays NaN. These take one instruction each, max and min
/// above three.
template <class V>
COTANGENT_FORMULA constexpr V at_most(V const& x, V const& limit) {
  if constexpr (native<V>::exists) return native<V>::at_most(x, limit);
  else return select(limit < x, limit, x);
}

template <class V>
COTANGENT_FORMULA constexpr V at_least(V const& x, V const& limit) {
  if constexpr (native<V>::exists) return native<V>::at_least(x, limit);
  else return select(limit > x, limit, x);
}

/// The square root, rounded once; NaN for negative x.
template <class V>
COTANGENT_FORMULA constexpr V sqrt(V const& x) {
  if constexpr (!is_vector<V>) {
    if (std::is_constant_evaluated()) {
      if (!(x > 0) || x > std::numeric_limits<V>::max())
        return x < 0 ? bit_cast<V>(static_cast<bits_t<V>>(sizeof(V) == 4 ? 0x7fc00000 : 0x7ff8000000000000))
                     : x;
      return exact::sqrt(x);
    }
#if defined(__clang__)
    return __builtin_elementwise_sqrt(x);
#elif defined(__SSE2__) // for negative x g++ would call libm, and spill vector registers around the call
    if constexpr (sizeof(V) == sizeof(float)) return __builtin_ia32_sqrtss(vector<float, 4>{x})[0];
    else return __builtin_ia32_sqrtsd(vector<double, 2>{x})[0];
#else
    return sizeof(V) == sizeof(float) ? static_cast<V>(__builtin_sqrtf(static_cast<float>(x)))
                                      : static_cast<V>(__builtin_sqrt(x));
#endif
  } else if constexpr (native<V>::exists) return native<V>::sqrt(x);
  else {
#if defined(__clang__)
    return __builtin_elementwise_sqrt(x);
#else
    return detail::lane_by_lane<V>(detail::do_sqrt{}, x);
#endif
  }
}

template <class V>
COTANGENT_FORMULA V detail::do_fma::operator()(V const& a, V const& b, V const& c) const {
  return math::fma(a, b, c);
}

template <class V>
COTANGENT_FORMULA V detail::do_sqrt::operator()(V const& x) const {
  return math::sqrt(x);
}

/// The nearest integer, ties to even; keeps the sign of zero, infinities and NaN.
template <class V>
COTANGENT_FORMULA constexpr V round_to_even(V const& x) {
  if constexpr (native<V>::rounds) return native<V>::round_to_even(x);
  else {
#if defined(__clang__) && COTANGENT_ABI_ROUNDS
    if (!std::is_constant_evaluated()) return __builtin_elementwise_roundeven(x);
#endif
    // Adding 2^52 (float: 2^23) leaves no bits for a fraction.
    V const big =
        broadcast<V>(static_cast<lane_t<V>>(sizeof(lane_t<V>) == 4 ? 8388608.0 : 4503599627370496.0));
    V const sum = abs(x) + big;
    V const rounded = (is_fast ? opaque(sum) : sum) - big;
    return select(abs(x) < big, copysign(rounded, x), x);
  }
}

/// The largest integer not above x.
template <class V>
COTANGENT_FORMULA constexpr V floor(V const& x) {
  if constexpr (native<V>::rounds) return native<V>::floor(x);
  else {
#if defined(__clang__) && COTANGENT_ABI_ROUNDS
    if (!std::is_constant_evaluated()) return __builtin_elementwise_floor(x);
#endif
    V const r = round_to_even(x);
    return select(r > x, r - broadcast<V>(1), r);
  }
}

} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
