// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_INTEGERS_HPP
#define COTANGENT_OPS_INTEGERS_HPP

#include <cotangent/core/math/integers.hpp>
#include <cotangent/ops/arithmetic.hpp>

#include <concepts>
#include <type_traits>

// Division of integers.

namespace cotangent {
namespace op {

struct integer_division : extend::elementwise<2> {
  static constexpr extend::takes operands = extend::takes::integers;
  static constexpr derivative_kind derivative = derivative_kind::zero;
  static constexpr float cost = 20;
};
/// x / y of integers without its fraction; x / 0 is -1.
struct quotient : integer_division {
  static constexpr char const* name = "quotient";
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x, V const& y) { return math::quotient(x, y); }
};
/// The remainder of x / y of integers, with the sign of x; x if y is 0.
struct remainder : integer_division {
  static constexpr char const* name = "remainder";
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& x, V const& y) { return math::remainder(x, y); }
};

} // namespace op

namespace detail {

using integer_operations = operations<op::quotient, op::remainder>;

template <class> inline constexpr bool has_integers = false;
template <class X>
  requires(is_expr<X> || open_expr<X>)
inline constexpr bool has_integers<X> = std::integral<typename X::value_type> && !std::is_same_v<typename X::value_type, bool>;

/// True if an operand has integers, or both are literals without a fraction.
template <class X, class Y> inline constexpr bool divides_integers =
    has_integers<X> || has_integers<Y> || (std::integral<X> && std::integral<Y>);
/// The operation of `/` on expressions of type X.
template <class X> using division = std::conditional_t<has_integers<X>, op::quotient, op::divide>;

} // namespace detail
} // namespace cotangent

#endif
