// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_UPDATE_HPP
#define COTANGENT_TRACE_UPDATE_HPP

#include <cotangent/trace/lift.hpp>

#include <source_location>
#include <type_traits>
#include <utility>

namespace cotangent::detail {

// Stands where the compiler looks at once, not when the body is made.
template <class X, class Y> constexpr bool update_fits() {
  if constexpr (is_expr<Y> || literal<Y>) {
    using E = decltype(as_expr<typename X::value_type>(std::declval<Y const&>()));
    using trial = inferred<apply_fn<op::add>, X, E>;
    if constexpr (trial::refuses) {
      using why = refusal_behind<trial::value.why>;
      if constexpr (says_extents<why>) why::template report<trial::value.left, trial::value.right>();
      else why::template report<typename sides<why, X, E>::left, typename sides<why, X, E>::right>();
    } else if constexpr (!std::is_same_v<typename trial::type, X>)
      refusals::update_type::report<X::extents, trial::type::extents>();
  } else detail::refuse_operands<X, Y>();
  return true;
}

/// The right operand of `x += y` with x of type X. Its own type is forgotten after it was checked, since the conversion
/// that notes the place in the source cannot be deduced.
template <class X> struct update {
  detail::standing at;
  symbol (*attach)(detail::standing const&, builder&) = nullptr; // null: refused
  std::source_location where;

  template <class Y>
  constexpr update(Y const& y,
                   std::source_location w = std::source_location::current()) noexcept(update_fits<X, Y>())
      : where(w) {
    using T = typename X::value_type;
    if constexpr (is_expr<Y> || literal<Y>) {
      using E = decltype(as_expr<T>(y));
      if constexpr (std::is_same_v<typename inferred<apply_fn<op::add>, X, E>::type, X>) {
        at = as_expr<T>(y).standing();
        attach = [](detail::standing const& s, builder& b) { return E(s).attach(b); };
      }
    }
  }
};

template <class Op, class X> constexpr X updated(X const& a, update<X> const& b) {
  if (b.attach == nullptr) return a;
  builder* g = a.standing().b != nullptr ? a.standing().b : b.at.b;
  builder trial;
  if (g == nullptr) g = &trial;
  g->place = b.where;
  term const y = extend::apply<Op>(term{g, a.attach(*g)}, term{g, b.attach(b.at, *g)});
  if (g != &trial) return X(*g, y.id);
  uniform_number const n = detail::uniform_value(trial, y.id);
  return X(standing{nullptr, n.known ? standing::uniform : standing::broken, bits_of(n.value)});
}

} // namespace cotangent::detail

#endif
