// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_FUNCTIONS_ARGUMENTS_HPP
#define COTANGENT_TRACE_FUNCTIONS_ARGUMENTS_HPP

#include <cotangent/trace/expressions/lift.hpp>
#include <cotangent/trace/functions/callable.hpp>
#include <cotangent/trace/functions/tree.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

// The arguments of a traced function: trees of expressions, whose types follow from the argument types of the
// program.

namespace cotangent::detail {

template <std::size_t I, class... Args> consteval int first_leaf_of() {
  int const counts[]{leaf_count<Args>..., 0};
  int first = 0;
  for (std::size_t k = 0; k < I; ++k) first += counts[k];
  return first;
}
/// The index of the first leaf of argument I.
template <std::size_t I, class... Args> inline constexpr int first_leaf = first_leaf_of<I, Args...>();
template <class... Args> inline constexpr int all_leaves = (0 + ... + leaf_count<Args>);

template <std::size_t I, class Tree> struct held {
  Tree value;
};
/// The trees of all arguments, in order.
template <class Indices, class... Trees> struct argument_list;
template <std::size_t... I, class... Trees>
struct argument_list<std::index_sequence<I...>, Trees...> : held<I, Trees>... {};

/// Element types and extents of the leaves of a tree, from its type.
struct leaf_kind {
  element type = element::float32;
  shape extents{};
};
template <class A> struct note_leaves {
  static constexpr leaf_kind* into(leaf_kind* next) {
    if constexpr (is_expr<A>) *next = {A::type, A::extents};
    else if constexpr (graph_expr<A>) *next = {A::type, {}};
    else *next = {element_of<typename memory_traits<A>::element>, memory_traits<A>::extents};
    return next + 1;
  }
};
template <class... Part> struct note_leaves<parts<Part...>> {
  static constexpr leaf_kind* into(leaf_kind* next) {
    ((next = note_leaves<Part>::into(next)), ...);
    return next;
  }
};
template <class A>
  requires is_inner<A>
struct note_leaves<A> : note_leaves<typename parts_of<A>::type> {};
template <class... A> struct kinds_of_leaves {
  static constexpr int count = all_leaves<A...>;
  leaf_kind of[count + 1]{};
  consteval kinds_of_leaves() {
    [[maybe_unused]] leaf_kind* next = of; // (a function may have no arguments)
    ((next = note_leaves<A>::into(next)), ...);
  }
};

/// Declares the leaves of argument trees as inputs, in order. Leaves of half precision are read as float.
struct leaf_declarer {
  builder& b;
  leaf_kind const* next;
  array<symbol> inputs{};
  template <class X> constexpr X leaf() {
    dimensions d;
    for (int k = 0; k < X::rank; ++k) d.size[d.rank++] = b.size(X::extents[k]);
    symbol y = b.symbol_of((next++)->type, b.shape(d));
    inputs.push(y);
    return X(b, extend::convert({&b, y}, X::type).id);
  }
};

/// Collects the symbols of the leaves of a result; literals and detached values join the graph.
struct symbols_of_leaves {
  builder& b;
  array<symbol> ids{};
  template <class X> constexpr void operator()(X const& x) {
    if constexpr (is_expr<X> || graph_expr<X>) ids.push(x.attach(b));
    else ids.push(expr<X>(x).attach(b));
  }
};

/// A function's result as expressions: literals become expressions of their element type.
template <class R, int> struct leaf_as_result {
  using type = R;
};
template <class R, int K>
  requires(!is_expr<R> && !graph_expr<R>)
struct leaf_as_result<R, K> : made_of<expr, R, shape_of<>, std::index_sequence<>> {};
template <class R> using result_tree = typename mapped_tree<R, leaf_as_result, expr, 0>::type;

template <class R> consteval bool is_result() {
  if constexpr (is_inner<R>)
    return []<class... Part>(parts<Part...>) {
      return (true && ... && is_result<Part>());
    }(typename parts_of<R>::type{});
  else return is_expr<R> || graph_expr<R> || element_type<R>;
}

// A struct with members that are not tensors of its parameter has no counterpart with expressions.
template <class A> consteval bool is_argument() {
  if constexpr (tree_kind_of<A> == tree_kind::structure)
    return !tree_has<typename rebound<A, expr>::type, tree_kind::memory> &&
           !std::is_same_v<typename rebound<A, expr>::type, refused>;
  else if constexpr (is_inner<A>)
    return []<class... Part>(parts<Part...>) {
      return (true && ... && is_argument<Part>());
    }(typename parts_of<A>::type{});
  else return tree_kind_of<A> != tree_kind::other;
}

/// The reason that a call has no program. `said`: it was refused before.
enum class unfit : unsigned char {
  nothing,
  said,
  no_function,
  argument,
  structure,
  capture,
  parameters,
  kinds,
  result,
  result_structure
};

template <class F, class... Args> consteval unfit unfit_arguments() {
  if ((std::is_same_v<Args, refused> || ... || false)) return unfit::said;
  if (!is_function<F>) return unfit::no_function;
  if (!(is_argument<Args>() && ... && true))
    return (tree_has<Args, tree_kind::other> || ... || false) ? unfit::argument : unfit::structure;
  if (!(holds_expressions<Args> || ... || false) && !is_captureless<F>) return unfit::capture;
  return unfit::nothing;
}

template <class F, class Result, int Given> consteval unfit unfit_result() {
  if constexpr (std::is_same_v<Result, no_such_call>) {
    constexpr int parameters = count_parameters<F>();
    return parameters >= 0 && parameters != Given ? unfit::parameters : unfit::kinds;
  } else if constexpr (std::is_void_v<Result>) return unfit::result;
  else if constexpr (tree_has<Result, tree_kind::refusal>) return unfit::said;
  else if constexpr (!is_result<Result>()) return unfit::result;
  else return tree_has<result_tree<Result>, tree_kind::refusal> ? unfit::result_structure : unfit::nothing;
}

/// The first part of a tree that looks like memory but does not tell how its elements lie; or void.
template <class... None>
  requires(sizeof...(None) == 0)
consteval auto first_unread() {
  return std::type_identity<void>{};
}
template <class First, class... Rest> consteval auto first_unread() {
  if constexpr (unread_memory<First>) return std::type_identity<First>{};
  else if constexpr (is_inner<First>)
    return []<class... Part>(parts<Part...>) {
      return first_unread<Part..., Rest...>();
    }(typename parts_of<First>::type{});
  else if constexpr (contiguous<First>)
    return first_unread<std::remove_cvref_t<decltype(*std::declval<First&>().data())>, Rest...>();
  else return first_unread<Rest...>();
}

/// Reports the reason.
template <unfit Why, class F, class... About> constexpr void report_unfit() {
  if constexpr (Why == unfit::no_function) refusals::not_a_function::report<F>();
  else if constexpr (Why == unfit::argument) {
    using unread = typename decltype(first_unread<About...>())::type;
    if constexpr (!std::is_void_v<unread>) memory_traits<unread>::refuse();
    else if constexpr ((open_expr<std::remove_cvref_t<About>> || ...)) refusals::argument_of_eager::report<About...>();
    else refusals::argument_of_kind::report<About...>();
  }
  else if constexpr (Why == unfit::structure) refusals::struct_of_kind::report<About...>();
  else if constexpr (Why == unfit::capture) refusals::used_capture::report<F>();
  else if constexpr (Why == unfit::parameters)
    refusals::number_of_arguments::report<extent::of(sizeof...(About)), extent::of(count_parameters<F>())>();
  else if constexpr (Why == unfit::kinds) refusals::argument_types::report<F>();
  else if constexpr (Why == unfit::result) refusals::result_of_kind::report<F>();
  else if constexpr (Why == unfit::result_structure) refusals::struct_of_kind::report<F>();
}

} // namespace cotangent::detail

#endif
