// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_LOGISTIC_HPP
#define COTANGENT_CORE_MATH_LOGISTIC_HPP

#include <cotangent/core/math/exp.hpp>
#include <cotangent/core/math/log.hpp>

namespace cotangent::math {
inline namespace COTANGENT_ABI {

/// 1 / (1 + e^-x).
///
/// Value: within 2.6 ulp, in both tails.
template <class V>
COTANGENT_FORMULA constexpr V sigmoid(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::sigmoid(split(x).low), math::sigmoid(split(x).high));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && is_nan(x)) return x;
  V const one = constant<V>(1), e = math::exp(-abs(x));
  return select(x < V{}, e, one) / (one + e);
}

/// log(1 + e^x), without overflow, and accurate for small results.
///
/// Value: within 3 ulp.
template <class V>
COTANGENT_FORMULA constexpr V softplus(V const& x) {
  using namespace detail;
  if constexpr (is_wide<V>) return join<V>(math::softplus(split(x).low), math::softplus(split(x).high));
  if constexpr (!is_vector<V>)
    if (std::is_constant_evaluated() && is_nan(x)) return x;
  V const one = constant<V>(1), e = math::exp(-abs(x));
  // log(1 + e) for e in [0, 1], with 1 + e = 2^k (1 + f)
  auto const upper = e > constant<V>(0x1.a8279ap-2);
  V const f = select(upper, mul(e - one, constant<V>(0.5)), e);
  return select(x < V{}, V{}, x) + log_of_parts(select(upper, one, V{}), f);
}

} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
