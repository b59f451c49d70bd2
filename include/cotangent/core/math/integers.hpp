// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_INTEGERS_HPP
#define COTANGENT_CORE_MATH_INTEGERS_HPP

#include <cotangent/core/math/arithmetic.hpp>

// Division of integers, defined for all of them: by 0, and of the lowest one by -1.

namespace cotangent::math {
inline namespace COTANGENT_ABI {

namespace detail {
struct do_quotient {
  template <class V> COTANGENT_FORMULA V operator()(V const& a, V const& b) const;
};
struct do_remainder {
  template <class V> COTANGENT_FORMULA V operator()(V const& a, V const& b) const;
};
} // namespace detail

/// a / b without its fraction; -1 for b = 0. The lowest integer divided by -1 is itself.
template <class V>
COTANGENT_FORMULA constexpr V quotient(V const& a, V const& b) {
  if constexpr (is_vector<V>) return detail::lane_by_lane<V>(detail::do_quotient{}, a, b);
  else return b == 0 ? V{-1} : b == -1 ? math::neg(a) : static_cast<V>(a / b);
}

/// a - quotient(a, b) * b, with the sign of a; a for b = 0.
template <class V>
COTANGENT_FORMULA constexpr V remainder(V const& a, V const& b) {
  if constexpr (is_vector<V>) return detail::lane_by_lane<V>(detail::do_remainder{}, a, b);
  else return b == 0 ? a : b == -1 ? V{} : static_cast<V>(a % b);
}

template <class V> COTANGENT_FORMULA V detail::do_quotient::operator()(V const& a, V const& b) const { return math::quotient(a, b); }
template <class V> COTANGENT_FORMULA V detail::do_remainder::operator()(V const& a, V const& b) const { return math::remainder(a, b); }

} // namespace COTANGENT_ABI
} // namespace cotangent::math

#endif
