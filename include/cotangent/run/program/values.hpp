// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_VALUES_HPP
#define COTANGENT_RUN_PROGRAM_VALUES_HPP

#include <cotangent/kernels/half.hpp>
#include <cotangent/ops/compare.hpp>
#include <cotangent/run/program/registers.hpp>

#include <bit>

// Applies an operation to values: masks are widened or narrowed to the width that each operation expects.

namespace cotangent::run {
inline namespace COTANGENT_ABI {

template <class M> COTANGENT_INLINE constexpr M mask_of(bool b) {
  if constexpr (math::is_vector<M>) return b ? ~M{} : M{};
  else return b;
}

/// A constant, from its bits.
template <element E, class V> COTANGENT_INLINE constexpr V constant_value(std::int64_t bits) {
  if constexpr (E == element::boolean) return mask_of<V>(bits != 0);
  else if constexpr (is_floating(E)) return math::broadcast<V>(static_cast<cotangent::detail::arithmetic_t<E>>(std::bit_cast<double>(bits)));
  else return math::broadcast<V>(static_cast<element_t<E>>(bits));
}

/// One number in all lanes.
template <element E, class V, class T> COTANGENT_INLINE constexpr V spread(T x) {
  if constexpr (E == element::boolean) return mask_of<V>(x);
  else return math::broadcast<V>(x);
}

template <class Op, class V, class M, class A> COTANGENT_INLINE constexpr V choose(M const& m, A const& a, A const& c) {
  return Op::apply(math::mask_cast<math::mask_t<A>>(m), a, c);
}

/// Applies `Op` to values with element types `From...`; the result has element type `To` and is held as a V.
template <class Op, element To, class V, element... From, class... X>
COTANGENT_INLINE constexpr V apply_to(X const&... x) {
  if constexpr (std::is_same_v<Op, op::convert>) {
    constexpr element from[]{From...};
    auto const& a = (x, ...);
    if constexpr (from[0] == To || cotangent::detail::is_half(from[0])) return a;
    else if constexpr (cotangent::detail::is_half(To)) return simd::rounded_to_half<element_t<To>>(V(a));
    else if constexpr (from[0] == element::boolean)
      return math::select(math::mask_cast<math::mask_t<V>>(a), math::broadcast<V>(1), V{});
    else if constexpr (To == element::boolean)
      return math::mask_cast<V>(a != std::remove_cvref_t<decltype(a)>{});
    else if constexpr (is_floating(from[0]) && !is_floating(To)) return math::to_integer<V>(a);
    else return math::convert<V>(a);
  } else if constexpr (requires { requires Op::condition_first; } && sizeof...(X) == 3) {
    return choose<Op, V>(x...);
  } else if constexpr (To == element::boolean && ((From != element::boolean) && ...))
    return math::mask_cast<V>(Op::apply(x...));
  else
    return Op::apply(x...);
}

} // inline namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
