// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_FUNCTIONS_CALLABLE_HPP
#define COTANGENT_TRACE_FUNCTIONS_CALLABLE_HPP

#include <cotangent/trace/functions/tree.hpp>

#include <bit>
#include <cstddef>
#include <type_traits>
#include <utility>

// Properties of the user's function: whether it can be created in a constant evaluation, and which arguments
// it takes.

namespace cotangent::detail {

template <class F> inline constexpr bool is_function = std::is_class_v<F> && !std::is_final_v<F>;

/// True if nothing is captured, or no capture is used (`[&]`): the object is one byte without meaning.
template <class F> inline constexpr bool is_captureless =
    std::is_empty_v<F> && (std::is_default_constructible_v<F> || std::is_trivially_copyable_v<F>);

template <class F> constexpr F remade() {
  if constexpr (std::is_default_constructible_v<F>) return F{};
  else return std::bit_cast<F>(char{});
}

struct no_such_call {};

/// The function F with a fallback overload for all other arguments. Testing a call thus instantiates the body
/// of F only if the arguments fit, and at the user's call.
template <class F> struct callable : F {
  using F::operator();
  no_such_call operator()(...) const;
};

/// `callable` for calls without arguments, where an ellipsis matches as well as F.
template <class F> struct callable_alone : F {
  using F::operator();
  template <class = void>
    requires(!std::is_invocable_v<F const&>)
  no_such_call operator()() const;
};
template <class F, class... Args> using callable_with =
    std::conditional_t<sizeof...(Args) == 0, callable_alone<F>, callable<F>>;

/// The type of a call of an object with a fallback; `refused` after an error in the body of the function, for which clang finds no
/// call any more: the first error is enough. (For bodies and functions of rows. Elsewhere the question adds lines to other errors.)
template <class Callable, class... X> consteval auto find_call_type() {
  if constexpr (requires(Callable const& f, X const&... x) { f(x...); })
    return std::type_identity<decltype(std::declval<Callable const&>()(std::declval<X const&>()...))>{};
  else return std::type_identity<refused>{};
}
template <class Callable, class... X> using call_type = typename decltype(find_call_type<Callable, X...>())::type;

struct anything {};
template <std::size_t> struct anything_at : anything {};

// An equally good overload makes a call ambiguous: this tells whether F takes N arguments without
// instantiating its body.
template <std::size_t N> struct rival;
template <> struct rival<1> {
  template <class A> no_such_call operator()(A) const;
};
template <> struct rival<2> {
  template <class A, class B> no_such_call operator()(A, B) const;
};
template <> struct rival<3> {
  template <class A, class B, class C> no_such_call operator()(A, B, C) const;
};
template <> struct rival<4> {
  template <class A, class B, class C, class D> no_such_call operator()(A, B, C, D) const;
};
template <class F, std::size_t N> struct rivalled : F, rival<N> {
  using F::operator();
  using rival<N>::operator();
};
template <class F, std::size_t N> consteval bool takes_as_many() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return !requires(rivalled<F, N> const& f) { f(anything_at<I>{}...); };
  }(std::make_index_sequence<N>{});
}

/// The number of parameters of F if it is a template and they are at most four, else -1. Precondition: F does
/// not take the given arguments.
template <class F> consteval int count_parameters() {
  if constexpr (takes_as_many<F, 1>()) return 1;
  else if constexpr (takes_as_many<F, 2>()) return 2;
  else if constexpr (takes_as_many<F, 3>()) return 3;
  else if constexpr (takes_as_many<F, 4>()) return 4;
  else return -1;
}

} // namespace cotangent::detail

#endif
