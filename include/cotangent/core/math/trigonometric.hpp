// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_TRIGONOMETRIC_HPP
#define COTANGENT_CORE_MATH_TRIGONOMETRIC_HPP

#include <cotangent/core/math/large_angle.hpp>
#include <cotangent/core/math/polynomial.hpp>

namespace cotangent::math {
inline namespace COTANGENT_ABI {
namespace detail {

// The remainder of an angle after subtracting the nearest multiple of pi/2, and that multiple (plus Turns) in
// the lowest two bits.
template <class V>
struct angle {
  V r;
  bits_t<V> quadrant;
};

// Up to this limit pi/2, split in parts, leaves an exact remainder.
template <class V>
inline constexpr double angle_limit = !has_fma    ? 0x1p20
                                      : single<V> ? 0x1p18
                                                  : 0x1p30;

// x - n pi/2.
template <class V>
COTANGENT_FORMULA constexpr V subtract_right_angles(V const& x, V const& n) {
  if constexpr (has_fma && single<V>) {
    V const r = fma(n, constant<V>(-0x1.4442d0p-24), fma(n, constant<V>(-0x1.921fb4p+0), x));
    return fma(n, constant<V>(-0x1.84698ap-48), r);
  } else if constexpr (has_fma) {
    V const r = fma(n, constant<V>(-0x1.1a62633145c06p-54), fma(n, constant<V>(-0x1.921fb54442d18p+0), x));
    return fma(n, constant<V>(-0x1.c1cd129024e09p-107), r);
  } else { // products of 20 and 33 bits are exact, and so is the first difference
    V const first = rounded(x - n * constant<V>(0x1.921fb544p+0)), part = n * constant<V>(0x1.0b4611a6p-34);
    V const high = rounded(first - part), lost = rounded(first - high) - part;
    return high + (lost - n * constant<V>(0x1.3198a2e037073p-69));
  }
}

template <class V>
struct right_angles {
  V n, r;
};

// x = n pi/2 + r. Without FMA a float is reduced in double, since pi/2 would need many parts.
template <class V>
COTANGENT_FORMULA constexpr right_angles<V> count_right_angles(V const& x) {
  if constexpr (!has_fma && single<V>) {
    using wide = with_lane<V, double>;
    if constexpr (is_wide<wide> && lanes<V> > 1) {
      auto const low = count_right_angles(split(x).low), high = count_right_angles(split(x).high);
      return {join<V>(low.n, high.n), join<V>(low.r, high.r)};
    } else {
      auto const [n, r] = count_right_angles(convert<wide>(x));
      return {convert<V>(n), convert<V>(r)};
    }
  } else {
    V const magic = constant<V>(single<V> ? 0x1.8p23 : 0x1.8p52);
    V const n = rounded(rounded(fma(x, constant<V>(0x1.45f306dc9c883p-1), magic)) - magic);
    return {n, subtract_right_angles(x, n)};
  }
}

template <int Turns, class V>
COTANGENT_FORMULA constexpr angle<V> reduce_small_angle(V const& x) {
  auto const [n, r] = count_right_angles(x);
  V const sum = rounded(n + constant<V>((single<V> ? 0x1.8p23 : 0x1.8p52) + Turns));
  return {r, bit_cast<bits_t<V>>(sum)};
}

template <int Turns, class V>
COTANGENT_FORMULA constexpr angle<V> reduce_angle(V const& magnitude) {
  using integer = lane_t<bits_t<V>>;
  angle<V> a = reduce_small_angle<Turns>(magnitude);
  auto const large = magnitude > constant<V>(angle_limit<V>);
  if (any(large)) [[unlikely]] {
    if constexpr (is_vector<V>) {
      for (int i = 0; i < lanes<V>; ++i)
        if (large[i]) {
          auto const one = reduce_large_angle(static_cast<double>(magnitude[i]));
          a.r[i] = static_cast<lane_t<V>>(one.r);
          a.quadrant[i] = static_cast<integer>(one.quadrant + Turns);
        }
    } else {
      auto const one = reduce_large_angle(static_cast<double>(magnitude));
      a = {static_cast<V>(one.r), static_cast<integer>(one.quadrant + Turns)};
    }
  }
  return a;
}

// The sine and the cosine of an angle up to pi/4.
template <class V>
COTANGENT_FORMULA constexpr V sin_of_reduced(V const& r, V const& z) {
  V p{};
  if constexpr (single<V>) p = horner(z, -0x1.9955b0p-13, 0x1.11077cp-7, -0x1.555546p-3);
  else
    p = horner(z, 0x1.5d934f8cd30dfp-33, -0x1.ae5e679835750p-26, 0x1.71de3579fbb0ap-19,
               -0x1.a01a019c1514dp-13, 0x1.111111110f8a1p-7, -0x1.5555555555549p-3);
  return fma(r * z, p, r);
}

template <class V>
COTANGENT_FORMULA constexpr V cos_of_reduced(V const& z) {
  V p{};
  if constexpr (single<V>) p = horner(z, 0x1.99e0e0p-16, -0x1.6c0c1ap-10, 0x1.55554ap-5);
  else
    p = horner(z, -0x1.8fb0f168013a2p-37, 0x1.1ee9f0e89d34ep-29, -0x1.27e4f81236b2ep-22,
               0x1.a01a019cbedf7p-16, -0x1.6c16c16c1521cp-10, 0x1.555555555554cp-5);
  return fma(z * z, p, fma(z, constant<V>(-0.5), constant<V>(1)));
}

template <class V>
COTANGENT_FORMULA constexpr auto is_odd(V const& quadrant) {
  return (quadrant << (static_cast<int>(sizeof(lane_t<V>)) * 8 - 1)) < V{};
}

// The sine of a reduced angle, with the sign of its quadrant and of `sign`.
template <class V>
COTANGENT_FORMULA constexpr V sin_of_angle(angle<V> const& a, V const& sign) {
  using integer = lane_t<bits_t<V>>;
  V const z = a.r * a.r;
  V const s = select(is_odd(a.quadrant), cos_of_reduced(z), sin_of_reduced(a.r, z));
  auto const turned = (a.quadrant << (static_cast<int>(sizeof(integer)) * 8 - 2)) ^ bit_cast<bits_t<V>>(sign);
  return bit_cast<V>(bit_cast<bits_t<V>>(s) ^ (turned & std::numeric_limits<integer>::min()));
}

} // namespace detail

/// The sine of an angle in radians.
///
/// Value: within 1.6 ulp for every finite angle; NaN for an infinite one.
template <class V>
COTANGENT_FORMULA constexpr V sin(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::sin(split(x).low), math::sin(split(x).high));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && !is_finite(x)) return nan<V>;
  return sin_of_angle(reduce_angle<0>(abs(x)), x);
}

/// The cosine of an angle in radians.
///
/// Value: within 1.6 ulp for every finite angle; NaN for an infinite one.
template <class V>
COTANGENT_FORMULA constexpr V cos(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::cos(split(x).low), math::cos(split(x).high));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && !is_finite(x)) return nan<V>;
  return sin_of_angle(reduce_angle<1>(abs(x)), V{});
}

/// The tangent of an angle in radians.
///
/// Value: within 3.8 ulp for every finite angle; NaN for an infinite one.
template <class V>
COTANGENT_FORMULA constexpr V tan(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::tan(split(x).low), math::tan(split(x).high));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && !is_finite(x)) return nan<V>;
  auto const [r, quadrant] = reduce_angle<0>(abs(x));
  V const z = r * r, s = sin_of_reduced(r, z), c = cos_of_reduced(z);
  auto const odd = is_odd(quadrant);
  V const t = select(odd, -c, s) / select(odd, s, c);
  using integer = lane_t<bits_t<V>>;
  return bit_cast<V>(bit_cast<bits_t<V>>(t) ^ (bit_cast<bits_t<V>>(x) & std::numeric_limits<integer>::min()));
}

} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
