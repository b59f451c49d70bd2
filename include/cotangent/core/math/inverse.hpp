// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_INVERSE_HPP
#define COTANGENT_CORE_MATH_INVERSE_HPP

#include <cotangent/core/math/polynomial.hpp>

namespace cotangent::math {
inline namespace COTANGENT_ABI {

/// The angle in (-pi/2, pi/2) that has this tangent.
///
/// Value: within 2 ulp.
template <class V>
COTANGENT_INLINE constexpr V atan(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::atan(split(x).low), math::atan(split(x).high));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && !is_finite(x))
      return is_nan(x) ? x
             : x > 0   ? static_cast<V>(0x1.921fb54442d18p+0)
                       : static_cast<V>(-0x1.921fb54442d18p+0);
  // atan(a) is atan(a), pi/4 + atan((a - 1) / (a + 1)), or pi/2 + atan(-1 / a): the argument is below sqrt(2)
  // - 1.
  V const a = abs(x), one = constant<V>(1), zero{};
  auto const middle = a > constant<V>(0x1.a827999fcef32p-2), upper = a > constant<V>(0x1.3504f333f9de6p+1);
  V const above = select(upper, -one, select(middle, a - one, a));
  V const below = select(upper, a, select(middle, a + one, one));
  constexpr double quarter = single<V> ? 0x1.921fb6p-1 : 0x1.921fb54442d18p-1;
  constexpr double quarter_rest = single<V> ? -0x1.777a5cp-26 : 0x1.1a62633145c07p-55;
  V const base = select(upper, constant<V>(2 * quarter), select(middle, constant<V>(quarter), zero));
  V const base_rest =
      select(upper, constant<V>(2 * quarter_rest), select(middle, constant<V>(quarter_rest), zero));
  V const t = above / below, z = t * t;
  V p{};
  if constexpr (single<V>)
    p = horner(z, -0x1.f3070ep-5, 0x1.b22adep-4, -0x1.23ba0ap-3, 0x1.9991e6p-3, -0x1.55554ap-2);
  else {
    V const z2 = z * z;
    V const even = horner(z2, -0x1.25839741a756ep-6, -0x1.9cd79b373e460p-5, -0x1.10ebcc193e903p-4,
                          -0x1.745cf8f51583fp-4, -0x1.24924922af2b0p-3, -0x1.555555555553dp-2);
    V const odd = horner(z2, 0x1.37e19d2b4b2a0p-5, 0x1.df10670635c52p-5, 0x1.3b111adbc1fddp-4,
                         0x1.c71c70e6de685p-4, 0x1.999999999589cp-3);
    p = fma(odd, z, even);
  }
  return copysign(base + (t + fma(t * z, p, base_rest)), x);
}

} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
