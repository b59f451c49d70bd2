// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_EXACT_HPP
#define COTANGENT_CORE_EXACT_HPP

#include <cfloat>
#include <type_traits>

// fma and sqrt with one rounding, for constant evaluations. clang does not evaluate its builtins there; g++
// does not if the result is subnormal.

namespace cotangent::math::exact {

#if defined(__SIZEOF_FLOAT128__)
#  define COTANGENT_HAS_QUAD 1
__extension__ typedef __float128 quad;
#elif LDBL_MANT_DIG == 113
#  define COTANGENT_HAS_QUAD 1
using quad = long double;
#else
#  define COTANGENT_HAS_QUAD 0
using quad = double;
#endif

template <class T>
using twice_as_wide = std::conditional_t<std::is_same_v<T, float>, double, quad>;

/// The sum p + c of wide values, where p is an exact product, rounded once to T.
///
/// Value: s = p + c is rounded in the wide type, so converting s rounds twice. That matters only if s lies
/// midway between two values of T and s itself was inexact: then the error of s decides.
template <class T, class Wide>
constexpr T round_sum_once(Wide p, Wide c) {
  Wide const s = p + c, part = s - p, error = (p - (s - part)) + (c - part);
  T const r = static_cast<T>(s);
  Wide const rest = s - static_cast<Wide>(r), other = static_cast<Wide>(r) + 2 * rest;
  return ((error > 0 && rest > 0) || (error < 0 && rest < 0)) &&
                 static_cast<Wide>(static_cast<T>(other)) == other
             ? static_cast<T>(other)
             : r;
}

/// a * b + c, rounded once.
template <class T>
constexpr T fma(T a, T b, T c) {
  using wide = twice_as_wide<T>;
  if constexpr (sizeof(wide) > sizeof(T))
    return round_sum_once<T>(static_cast<wide>(a) * static_cast<wide>(b), static_cast<wide>(c));
  else { // no wide type: Dekker's product (exact unless it over- or underflows), then a compensated sum
    T const p = a * b;
    if (!(p - p == 0) || !(c - c == 0)) return p + c;
    T const as = a * 134217729.0, bs = b * 134217729.0;
    T const ah = as - (as - a), bh = bs - (bs - b), al = a - ah, bl = b - bh;
    T const low = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
    T const s = p + c, part = s - p;
    return s + (((p - (s - part)) + (c - part)) + low);
  }
}

/// The square root, rounded once (x > 0, finite): Newton's iteration from a scaled start, finished in the
/// wide type.
template <class T>
constexpr T sqrt(T x) {
  using wide = twice_as_wide<T>;
  wide scaled = static_cast<wide>(x), scale = 1;
  while (scaled >= 4) scaled /= 4, scale *= 2;
  while (scaled < 1) scaled *= 4, scale /= 2;
  wide y = (1 + scaled) / 2;
  for (int i = 0; i < 8; ++i) y = (y + scaled / y) / 2;
  return static_cast<T>(y * scale);
}

} // namespace cotangent::math::exact

#endif
