// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_LOG_HPP
#define COTANGENT_CORE_MATH_LOG_HPP

#include <cotangent/core/math/polynomial.hpp>

namespace cotangent::math {
inline namespace COTANGENT_ABI {
namespace detail {

template <class V>
using unsigned_bits = with_lane<V, std::make_unsigned_t<lane_t<bits_t<V>>>>;

template <class V>
struct log_format {
  using integer = std::make_unsigned_t<lane_t<bits_t<V>>>;
  static constexpr int mantissa = single<V> ? 23 : 52;
  static constexpr integer root_half = static_cast<integer>(single<V> ? 0x3f3504f3 : 0x3fe6a09e667f3bcd);
  static constexpr integer one = static_cast<integer>(single<V> ? 0x3f800000 : 0x3ff0000000000000);
  static constexpr integer infinity = static_cast<integer>(single<V> ? 0x7f800000 : 0x7ff0000000000000);
  static constexpr integer lowest_normal = integer{1} << mantissa;
  static constexpr integer mantissa_mask = lowest_normal - 1;
  static constexpr integer sign = integer{1} << (sizeof(integer) * 8 - 1);
  static constexpr integer bias = integer{1}
                                  << (sizeof(integer) * 8 - 2); // an exponent that keeps sums positive
  static constexpr integer shifter = static_cast<integer>(single<V> ? 0x4b000000 : 0x4330000000000000);
  static constexpr double exponent_offset = single<V> ? 0x1p23 + 128 : 0x1p52 + 1024;
};

// x = 2^k m with m in [sqrt(1/2), sqrt(2)), for a positive normal x.
template <class V>
struct binary_parts {
  V k, m;
  unsigned_bits<V> exponent; // k, at the position of an exponent
};

template <class V>
COTANGENT_FORMULA constexpr binary_parts<V> split_exponent(V const& x, V const& offset) {
  using format = log_format<V>;
  using bits = unsigned_bits<V>;
  bits const moved = bit_cast<bits>(x) - format::root_half;
  bits const m = (moved & format::mantissa_mask) + format::root_half;
  // An integer in the mantissa of 2^52 is their sum: this avoids conversions of 64-bit integers, which few
  // targets have.
  bits const sum = ((moved + format::bias) >> format::mantissa) | format::shifter;
  return {rounded(bit_cast<V>(sum) - offset), bit_cast<V>(m), moved & ~format::mantissa_mask};
}

// log(1 + f) + k ln 2 for 1 + f in [sqrt(1/2), sqrt(2)): with s = f / (2 + f),
// log(1 + f) = 2 atanh(s) = f - f^2 / 2 + s (f^2 / 2 + R(s^2)).
template <class V>
COTANGENT_FORMULA constexpr V log_of_parts(V const& k, V const& fraction) {
  V const f = rounded(fraction);
  V const s = f / (constant<V>(2) + f);
  V const z = s * s;
  V r{};
  if constexpr (single<V>) r = horner(z, 0x1.31e1c4p-2, 0x1.995ed0p-2, 0x1.55557ap-1);
  else {
    V const z2 = z * z;
    V const even =
        horner(z2, 0x1.2f0ffcc7802f3p-3, 0x1.746648ff04324p-3, 0x1.24924942290afp-2, 0x1.5555555555593p-1);
    V const odd = horner(z2, 0x1.39a0b086ba093p-3, 0x1.c71c51d9d0a65p-3, 0x1.999999997f9ffp-2);
    r = fma(odd, z, even);
  }
  V const half_square = mul(f * constant<V>(0.5), f);
  V const low = constant<V>(single<V> ? 0x1.7f7d1cp-20 : 0x1.ef35793c76730p-45);
  V const high = constant<V>(single<V> ? 0x1.62e4p-1 : 0x1.62e42fefa3800p-1);
  V const tail = fma(s, fma(z, r, half_square), mul(k, low));
  return fma(k, high, f - (half_square - tail));
}

// log(x) if it is not a finite number: -inf at 0, NaN below, infinity and NaN themselves.
template <class V>
COTANGENT_FORMULA constexpr V log_outside(V const& x) {
  V const not_positive = select(x == V{}, broadcast_bits<V>(-infinity<V>), broadcast_bits<V>(nan<V>));
  return select(logical_or<mask_t<V>>(x > V{}, is_nan(x)), x, not_positive);
}

// Tests for positive normal numbers by one comparison of bits; true for all others.
template <class V>
COTANGENT_FORMULA constexpr auto log_special(V const& x) {
  using format = log_format<V>;
  using bits = unsigned_bits<V>;
  using integer = typename format::integer;
  constexpr integer range = format::infinity - format::lowest_normal;
  bits const above = bit_cast<bits>(x) - static_cast<integer>(format::lowest_normal + format::sign);
  return bit_cast<bits_t<V>>(above) >= static_cast<lane_t<bits_t<V>>>(range - format::sign);
}

} // namespace detail

namespace detail {

// of(k, f) for x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); the values of a logarithm for all other x.
template <class V, class Of>
COTANGENT_FORMULA constexpr V logarithm(V const& x, Of const& of) {
  constexpr double up = single<V> ? 23 : 52;
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && (!(x > V{}) || x > broadcast<V>(largest<V>))) return log_outside(x);
  V offset = constant<V>(log_format<V>::exponent_offset), a = x;
  bool const special = any(log_special(x));
  if (special) [[unlikely]] {
    auto const subnormal = x < broadcast<V>(std::numeric_limits<lane_t<V>>::min());
    a = select(subnormal, x * constant<V>(single<V> ? 0x1p23 : 0x1p52), x);
    offset = select(subnormal, constant<V>(log_format<V>::exponent_offset + up), offset);
  }
  auto const parts = split_exponent(a, offset);
  V r = of(parts.k, V(parts.m - constant<V>(1)));
  if (special) [[unlikely]] {
    auto const inside = logical_and<mask_t<V>>(x > V{}, x <= broadcast<V>(largest<V>));
    r = select(inside, r, log_outside(x));
  }
  return r;
}

} // namespace detail

/// The natural logarithm.
///
/// Value: within 1 ulp; -infinity at 0, NaN below.
template <class V>
COTANGENT_FORMULA constexpr V log(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::log(split(x).low), math::log(split(x).high));
  else
    return logarithm(x, [](V const& k, V const& f) __attribute__((always_inline)) { return log_of_parts(k, f); });
}

/// The logarithm to the base 2.
///
/// Value: within 2 ulp; exact for powers of 2; -infinity at 0, NaN below.
template <class V>
COTANGENT_FORMULA constexpr V log2(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::log2(split(x).low), math::log2(split(x).high));
  else
    return logarithm(x, [](V const& k, V const& f) __attribute__((always_inline)) {
      constexpr double high = single<V> ? 0x1.715476p+0 : 0x1.71547652b82fep+0, low = single<V> ? 0x1.4ae0c0p-26 : 0x1.777d0ffda0d24p-56;
      V const part = log_of_parts(V{}, f);
      return V(k + fma(part, constant<V>(high), mul(part, constant<V>(low))));
    });
}

/// The logarithm to the base 10.
///
/// Value: within 2 ulp; exact for those powers of 10 that are numbers of the type; -infinity at 0, NaN below.
template <class V>
COTANGENT_FORMULA constexpr V log10(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::log10(split(x).low), math::log10(split(x).high));
  else
    return logarithm(x, [](V const& k, V const& f) __attribute__((always_inline)) {
      constexpr double high = single<V> ? 0x1.bcb7b2p-2 : 0x1.bcb7b1526e50ep-2, low = single<V> ? -0x1.5b235ep-27 : 0x1.95355baaafad3p-57;
      V const part = log_of_parts(V{}, f);
      V const small = fma(part, constant<V>(high), mul(part, constant<V>(low)));
      // log10(2), in a part whose products with k are exact, and the rest
      V const of_two = mul(k, constant<V>(single<V> ? 0x1.3440p-2 : 0x1.34413509f4000p-2));
      return V(of_two + fma(k, constant<V>(single<V> ? 0x1.3509f8p-18 : 0x1.cff7988f8959bp-41), small));
    });
}

/// log(1 + x), without the cancellation near zero.
///
/// Value: within 2 ulp; -infinity at -1, NaN below.
template <class V>
COTANGENT_FORMULA constexpr V log1p(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::log1p(split(x).low), math::log1p(split(x).high));
  using format = log_format<V>;
  V const one = constant<V>(1);
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && (!(x > -one) || x > broadcast<V>(largest<V>)))
      return x == -one ? log_outside(V{}) : log_outside(x);
  V const u = rounded(one + x), part = rounded(u - x);
  V const rest = rounded(one - part) + rounded(x - rounded(u - part)); // 1 + x - u
  auto const parts = split_exponent(u, constant<V>(format::exponent_offset));
  V const scale = select(x < constant<V>(0x1p100), bit_cast<V>(format::one - parts.exponent), V{}); // 2^-k
  V r = log_of_parts(parts.k, fma(rest, scale, parts.m - one));
  auto const inside = logical_and<mask_t<V>>(x > -one, x <= broadcast<V>(largest<V>));
  if (!all(inside)) [[unlikely]]
    r = select(inside, r, log_outside(select(x == -one, V{}, x)));
  return copysign(r, x);
}

} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
