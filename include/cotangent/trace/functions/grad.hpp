// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_FUNCTIONS_GRAD_HPP
#define COTANGENT_TRACE_FUNCTIONS_GRAD_HPP

#include <cotangent/trace/functions/function.hpp>
#include <cotangent/transform/differentiate/backward.hpp>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

template <int I, class... Args> consteval auto find_argument() {
  if constexpr (I < 0 || static_cast<std::size_t>(I) >= sizeof...(Args)) return std::type_identity<refused>{};
  else return std::type_identity<std::tuple_element_t<I, std::tuple<Args...>>>{};
}
template <int I, class... Args> using argument_at = typename decltype(find_argument<I, Args...>())::type;

/// The first element type in a tree that is not floating, or void.
template <class A> struct integer_in {
  using type = void;
};
template <class... A> struct integer_among {
  using type = void;
};
template <class First, class... Rest>
struct integer_among<First, Rest...> : std::conditional_t<std::is_void_v<typename integer_in<First>::type>,
                                                          integer_among<Rest...>, integer_in<First>> {};
template <class... Part> struct integer_among<parts<Part...>> : integer_among<Part...> {};
template <class T> using unless_floating = std::conditional_t<is_floating_type<T>, void, T>;
template <class A>
  requires is_inner<A>
struct integer_in<A> : integer_among<typename parts_of<A>::type> {};
template <class T, extent... E> struct integer_in<expr<T, E...>> {
  using type = unless_floating<T>;
};
template <graph_expr A> struct integer_in<A> {
  using type = unless_floating<typename A::value_type>;
};
template <class A>
  requires(tree_kind_of<A> == tree_kind::memory)
struct integer_in<A> {
  using type = unless_floating<typename memory_traits<A>::element>;
};

/// One gradient alone, several as a tuple.
template <class... G> struct packed {
  using type = std::tuple<G...>;
};
template <class G> struct packed<G> {
  using type = G;
};
template <int> using refused_part = refused;
/// Paired with the value if requested.
template <bool WithValue, class V, class G> struct paired {
  using type = G;
};
template <class V, class G> struct paired<true, V, G> {
  using type = std::pair<V, G>;
};

/// Gives each differentiated argument a new symbol: derivatives ignore other uses of the same expression.
struct renamed_leaves {
  builder& b;
  array<symbol> ids{};
  template <class X> constexpr void operator()(X& x) {
    if constexpr (is_expr<X> || graph_expr<X>) {
      symbol const from = x.attach(b);
      std::int64_t const unique = b.get().nodes.size(); // never merges with another renaming
      x = X(b, b.push(info_of<op::identity>(), &from, 1, &unique, 1, b.place));
      ids.push(x.standing().id);
    }
  }
};
struct broken_leaf {
  symbol id = standing::broken;
  template <class X> constexpr X leaf() {
    if constexpr (is_expr<X>) return X(standing{nullptr, id});
    else return X();
  }
};

/// Constants of a graph, in place of the values that a trial call lacks.
struct trial_leaf {
  builder& b;
  template <class X> constexpr X leaf() {
    if constexpr (is_expr<X>) return X(b, X(standing{nullptr, standing::refused}).attach(b));
    else return X();
  }
};

/// Appends the gradient of a function of X....
template <class... X> constexpr void append_gradient(builder& b, gradient_request const& r, symbol* result) {
  if constexpr (in_graph<X...>) front_end_of<X...>::gradient(b, r, result);
  else gradient(b, r, result);
}

/// The result of a transformation of which no argument has a graph. In a trial call (see `graph_search`) the graph is
/// that of the expressions that the function uses: `call` calls it.
template <class Tree, class Call> constexpr Tree without_graph(found_builder& found, Call const& call) {
  if (found.without == standing::refused) {
    auto const r = call();
    visit_leaves(r, found);
    if (found.b != nullptr) {
      trial_leaf make{*found.b};
      return build_tree<Tree>(make);
    }
  }
  broken_leaf make{found.without};
  return build_tree<Tree>(make);
}

template <class F, bool WithValue, int... I>
struct gradient_function : transformation<gradient_function<F, WithValue, I...>> {
  using function = F;
  [[no_unique_address]] F f;

  constexpr gradient_function() : f(remade<F>()) {}
  constexpr explicit gradient_function(F const& g) : f(g) {}

  template <class Result, class... Args> static consteval bool refuses() {
    if constexpr (((I < 0 || I >= static_cast<int>(sizeof...(Args))) || ...)) return true;
    else if constexpr (!std::is_void_v<typename integer_among<argument_at<I, Args...>...>::type>) return true;
    else if constexpr (is_inner<Result>) return true;
    else if constexpr (in_graph<Result>)
      return !is_floating(Result::type); // the shape is known at run time only
    else return result_tree<Result>::rank != 0 || !is_floating(result_tree<Result>::type);
  }
  template <class Result, class... Args> static constexpr auto report() {
    if constexpr (((I < 0 || I >= static_cast<int>(sizeof...(Args))) || ...))
      refusals::position_out_of_range::report<extent::of(misplaced(sizeof...(Args))),
                                              extent::of(sizeof...(Args))>();
    else if constexpr (!std::is_void_v<typename integer_among<argument_at<I, Args...>...>::type>)
      refusals::integer_wrt::report<typename integer_among<argument_at<I, Args...>...>::type,
                                    refusals::wanted>();
    else if constexpr (is_inner<Result>) refusals::output_of_kind::report<Result>();
    else if constexpr (in_graph<Result>)
      refusals::output_not_floating::report<typename Result::value_type, refusals::wanted>();
    else if constexpr (result_tree<Result>::rank != 0)
      refusals::output_not_scalar::report<result_tree<Result>::extents, shape_of<>>();
    else refusals::output_not_floating::report<typename result_tree<Result>::value_type, refusals::wanted>();
    return true;
  }
  static consteval int misplaced(int given) {
    int bad = 0;
    ((bad = I < 0 || I >= given ? I : bad), ...);
    return bad;
  }

  // (The gradient of a type that is not a tree is the type itself, so that errors do not hide its members.)
  template <class A> using refused_gradient =
      std::conditional_t<is_argument<A>() || !std::is_default_constructible_v<A>, gradient_tree<A, 0>, A>;
  template <class Result, class... Args>
  using refused_result =
      typename paired<WithValue, refused_tree<Result, tensor>,
                      typename packed<refused_gradient<argument_at<I, Args...>>...>::type>::type;

  // Inside a traced function, where later operations must be silent too.
  template <class Result>
  using refused_expressions =
      typename paired<WithValue, refused_tree<Result, expr>, typename packed<refused_part<I>...>::type>::type;

  template <class Result, class... X> constexpr auto trace(X const&... x) const {
    return trace_on<Result>(std::index_sequence_for<X...>{}, x...);
  }

private:
  template <class Result, std::size_t... K, class... X>
  constexpr auto trace_on(std::index_sequence<K...>, X const&... x) const {
    using gradients = typename packed<argument_at<I, X...>...>::type;
    using all = typename paired<WithValue, result_tree<Result>, gradients>::type;
    found_builder found;
    (visit_leaves(x, found), ...);
    if (found.b == nullptr) return detail::without_graph<all>(found, [&] { return f(x...); });
    builder& b = *found.b;
    argument_list<std::index_sequence<K...>, X...> own{{x}...};
    renamed_leaves wrt{b};
    (visit_leaves(static_cast<held<I, argument_at<I, X...>>&>(own).value, wrt), ...);
    result_tree<Result> const y = detail::called(f, static_cast<held<K, X> const&>(own).value...);
    symbol const out = y.attach(b);
    array<symbol> results(wrt.ids.size() + 1, b.refused());
    results[0] = out;
    if constexpr (in_graph<X...>)
      if (int const rank = b.dims(out).rank; rank != 0)
        b.refuse<refusals::output_not_scalar>(rank, 0, b.place);
    if (b.failed().why == nullptr)
      detail::append_gradient<X...>(b, {&out, nullptr, 1, wrt.ids.data(), wrt.ids.size()},
                                    results.data() + 1);
    leaf_from_symbols make{b, results.data() + (WithValue ? 0 : 1)};
    return build_tree<all>(make);
  }
};

template <bool WithValue, int... I, class F> constexpr auto gradient_of(F const& f) {
  if constexpr (sizeof...(I) == 0) return gradient_function<F, WithValue, 0>(f);
  else return gradient_function<F, WithValue, I...>(f);
}

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// The gradient of a function that returns a scalar, with respect to the arguments at positions I (0 if
/// omitted): for one position a tree like that argument, for several a `std::tuple`.
///
/// Refuses: a position without an argument; integer arguments; an output that is not a scalar.
template <int... I, class F> constexpr auto grad(F f) { return detail::gradient_of<false, I...>(f); }

/// Value and gradient as a pair: `auto [loss, gradient] = ct::value_and_grad(f)(parameters, x);`
template <int... I, class F> constexpr auto value_and_grad(F f) { return detail::gradient_of<true, I...>(f); }

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
