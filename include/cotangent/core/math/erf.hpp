// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_ERF_HPP
#define COTANGENT_CORE_MATH_ERF_HPP

#include <cotangent/core/math/exp.hpp>

namespace cotangent::math {
inline namespace COTANGENT_ABI {

/// The error function, 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x.
///
/// Value: within 2 ulp.
template <class V>
COTANGENT_FORMULA constexpr V erf(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::erf(split(x).low), math::erf(split(x).high));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && is_nan(x)) return x;
  V const a = at_most(abs(x), constant<V>(single<V> ? 4 : 5.95)), z = a * a; // from here on it rounds to 1
  // Below 1/2: a + a q(a^2). Above: 1 - e^-p(a - 1/2), since p, the negative logarithm of 1 - erf, is smooth.
  V const u = a - constant<V>(0.5);
  V q{}, p{};
  if constexpr (single<V>) {
    q = horner(z, 0x1.354cc0p-8, -0x1.b66720p-6, 0x1.ce251cp-4, -0x1.812732p-2, 0x1.06eba8p-3);
    p = horner(u, 0x1.819eeep-18, -0x1.0ce740p-12, 0x1.61775ep-9, -0x1.037636p-6, 0x1.12f10ep-4,
               0x1.86ad42p-1, 0x1.d52c3ep+0, 0x1.785360p-1);
  } else {
    q = horner(z, 0x1.8b4967fd68d46p-20, -0x1.f224b2b439a21p-17, 0x1.f98db1eeff8fdp-14,
               -0x1.c02d4f6b32519p-11, 0x1.565bcbf8ebf23p-8, -0x1.b82ce30f2bb7fp-6, 0x1.ce2f21a03d832p-4,
               -0x1.812746b0379b5p-2, 0x1.06eba8214db68p-3);
    V const u2 = u * u;
    V const even =
        horner(u2, 0x1.11c7c47fd43bdp-43, 0x1.b4943091906a7p-35, 0x1.8160ce3c5df20p-30,
               -0x1.6968aa30e1d37p-25, -0x1.3fe7f2afc91fap-20, -0x1.c280370ed4e0bp-19, 0x1.6f022550fa522p-14,
               0x1.64f91587bf450p-13, -0x1.fedfab94009bcp-7, 0x1.86aec5ebf343ep-1, 0x1.785360f9b14c9p-1);
    V const odd =
        horner(u2, -0x1.04e1f9d9342f5p-38, -0x1.93daee786b0c8p-32, 0x1.197b11ed4dd91p-31,
               0x1.38c4994601663p-22, 0x1.a0dbd8111b716p-19, -0x1.bc7c605136395p-17, -0x1.0409ae5f0c08cp-12,
               0x1.29ad3826c5d6ap-9, 0x1.12a04bb8be22bp-4, 0x1.d52c326892993p+0);
    p = fma(odd, u, even);
  }
  V const tail = constant<V>(1) - exp_of_sum(V(-p));
  return copysign(select(a < constant<V>(0.5), fma(a, q, a), tail), x);
}

} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
