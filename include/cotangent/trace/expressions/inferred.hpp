// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_INFERRED_HPP
#define COTANGENT_TRACE_EXPRESSIONS_INFERRED_HPP

#include <cotangent/trace/expressions/expr.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace cotangent::detail {

/// The result type of a function over terms for operands of these types, or the reason that there is none.
struct inference_result {
  element type = element::float64;
  shape extents{};
  refusal const* why = nullptr;
  extent left{}, right{};
};

template <class X> constexpr term operand_on_trial(builder& b) {
  dimensions d;
  for (int k = 0; k < X::rank; ++k) d.size[d.rank++] = b.size(X::extents[k]);
  return {&b, b.symbol_of(X::type, b.shape(d))};
}

template <class Fn, class... X> constexpr inference_result infer() {
  builder b;
  term const y = Fn{}(operand_on_trial<X>(b)...);
  failure const& f = b.failed();
  if (f.why != nullptr) return {element::float64, {}, f.why, f.left, f.right};
  inference_result r{y.type()};
  dimensions const d = y.dims();
  for (int k = 0; k < d.rank; ++k) r.extents.push(b.extent_of(d.size[k]));
  return r;
}

// ---- from a recorded refusal to its static_assert

template <class... X> struct first_of;
template <class First, class... Rest> struct first_of<First, Rest...> {
  using type = First;
};
template <class... X> struct last_of;
template <class Last> struct last_of<Last> {
  using type = Last;
};
template <class First, class Second, class... Rest> struct last_of<First, Second, Rest...>
    : last_of<Second, Rest...> {};

template <class X> struct element_named {
  using type = void;
};
template <class X>
  requires is_expr<X>
struct element_named<X> {
  using type = typename X::value_type;
};

/// The element of the first operand for which `Bad` is true; else that of the last.
template <bool (*Bad)(element), class First, class... Rest> consteval auto element_where() {
  if constexpr (sizeof...(Rest) == 0 || Bad(First::type))
    return std::type_identity<typename First::value_type>{};
  else return element_where<Bad, Rest...>();
}
constexpr bool no_float(element e) { return !is_floating(e); }
constexpr bool no_number(element e) { return e == element::boolean; }
constexpr bool no_integer(element e) { return !is_index(e); }
constexpr bool no_bool(element e) { return e != element::boolean; }

/// The two sides of a refusal about element types.
template <class Refusal, class... X> struct sides {
  using left = typename first_of<X...>::type::value_type;
  using right = typename last_of<X...>::type::value_type;
};
template <class First, class Second, class Third> struct sides<refusals::elements_differ, First, Second,
                                                               Third> {
  using left = typename Second::value_type; // after a condition
  using right = typename Third::value_type;
};
template <bool (*Bad)(element), class... X> struct sides_where {
  using left = typename decltype(element_where<Bad, X...>())::type;
  using right = refusals::wanted;
};
template <class... X> struct sides<refusals::element_not_floating, X...> : sides_where<no_float, X...> {};
template <class... X> struct sides<refusals::element_not_numeric, X...> : sides_where<no_number, X...> {};
template <class... X> struct sides<refusals::element_not_integer, X...> : sides_where<no_integer, X...> {};
template <class... X> struct sides<refusals::element_not_boolean, X...> : sides_where<no_bool, X...> {};
template <class... X> struct sides<refusals::index_not_integer, X...> {
  using left = typename last_of<X...>::type::value_type;
  using right = refusals::wanted;
};

/// True for refusals that report extents. (Naming `report` does not instantiate it.)
template <class Refusal>
concept says_extents = requires { &Refusal::template report<extent{}, extent{}>; };

template <refusal const* Why> using refusal_behind = typename decltype(described_at(behind<Why>{}))::type;

/// The reason that a trial failed; if anonymous sizes caused it, that reason.
template <class Trial> using reason_of =
    std::conditional_t<Trial::value.left.is_anonymous() || Trial::value.right.is_anonymous(),
                       refusals::size_without_name, refusal_behind<Trial::value.why>>;

template <inference_result const& R, class Axes> struct expr_of;
template <inference_result const& R, std::size_t... I> struct expr_of<R, std::index_sequence<I...>> {
  using type = expr<element_t<R.type>, R.extents.extents[I]...>;
};

/// The type of Fn(X...): an expression, or `refused` with the reason.
template <class Fn, class... X> struct inferred {
  static constexpr inference_result value = infer<Fn, X...>();
  static consteval auto find() {
    if constexpr (value.why != nullptr) return std::type_identity<refused>{};
    else return expr_of<value, std::make_index_sequence<value.extents.rank>>{};
  }
  using type = typename decltype(find())::type;
  static constexpr bool refuses = value.why != nullptr;
};

// ---- functions of literals only

/// True for literals whose values an element type has.
template <class A> inline constexpr bool is_element_number = std::signed_integral<A> || element_type<A>;

template <class T, class> using number_operand = expr<T>; // for each literal

/// True if `Fn` of numbers of element T is one number, computed by operations that are constant-folded (see detached.hpp).
template <class T, class Fn, class... A> consteval bool folds_numbers() {
  builder b;
  term const y = Fn{}(operand_on_trial<number_operand<T, A>>(b)...);
  if (y.rank() != 0) return false;
  for (node const& n : b.get().nodes) switch (n.op->kind) {
    case operation_kind::constant:
    case operation_kind::broadcast:
    case operation_kind::reshape:
    case operation_kind::permute:
    case operation_kind::identity: continue;
    case operation_kind::elementwise:
      if (n.op->evaluate != nullptr || n.op == info_of<op::convert>()) continue;
      [[fallthrough]];
    default: return false;
    }
  return true;
}

} // namespace cotangent::detail

#endif
