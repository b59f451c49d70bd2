// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_FUNCTIONS_CONTROL_HPP
#define COTANGENT_TRACE_FUNCTIONS_CONTROL_HPP

#include <cotangent/trace/functions/control_refusals.hpp>

#include <cotangent/ops/control/builder.hpp>
#include <cotangent/trace/functions/grad.hpp>
#include <cotangent/trace/functions/held_prints.hpp>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <tuple>
#include <type_traits>

// Arguments and results of the bodies of loops and branches in traced functions.

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

/// True if a loop or branch of these is not one of a run-time graph.
template <class... A>
concept for_traced = (!open_expr<A> && ...);
/// True for trees of expressions of run-time graphs, too.
template <class... A>
concept for_trees = for_traced<A...> || (((!open_expr<A> || graph_expr<A>) && ...) && (is_inner<A> || ...));
/// True if they are not variables of eager mode.
template <class... A>
concept for_transformations = ((!open_expr<A> || graph_expr<A>) && ...);

// ---- trees of values, compared with those of results

template <class X> inline constexpr bool is_scalar_expr = false;
template <class T> inline constexpr bool is_scalar_expr<expr<T>> = true;

/// Values without a graph, as `ct::zeros<3>()`; shapes are compared when the graph is built.
template <class Like, class R> inline constexpr bool is_detached_like = false;
template <graph_expr Like, class T, extent... E>
inline constexpr bool is_detached_like<Like, expr<T, E...>> = std::is_same_v<typename Like::value_type, T>;

/// Half precision where a run-time graph wants float.
template <class Like, class R> inline constexpr bool is_narrower = false;
template <graph_expr Like, graph_expr R>
inline constexpr bool is_narrower<Like, R> = is_half_for<typename Like::value_type, R>;

template <class Like, class Given> struct misfit {
  using like = Like;
  using given = Given;
};

/// The first part of a result that is not like the part of `Like` there, as a `misfit`; or void.
template <class Like, class R> consteval auto find_misfit();
template <class... R> consteval auto first_misfit(parts<>, parts<R...>) { return std::type_identity<void>{}; }
template <class Like, class... Likes> consteval auto first_misfit(parts<Like, Likes...>, parts<>) {
  return std::type_identity<void>{};
}
template <class Like, class... Likes, class R, class... Rest>
consteval auto first_misfit(parts<Like, Likes...>, parts<R, Rest...>) {
  if constexpr (std::is_void_v<typename decltype(find_misfit<Like, R>())::type>)
    return detail::first_misfit(parts<Likes...>{}, parts<Rest...>{});
  else return find_misfit<Like, R>();
}
template <class... Like, class... R> consteval bool as_many(parts<Like...>, parts<R...>) {
  return sizeof...(Like) == sizeof...(R);
}
template <class Like, class R> consteval auto find_misfit() {
  if constexpr (std::is_same_v<Like, R> || (is_scalar_expr<Like> && literal<R>)) return std::type_identity<void>{};
  else if constexpr (graph_expr<Like> && (literal<R> || is_detached_like<Like, R>))
    return std::type_identity<void>{};
  else if constexpr (is_narrower<Like, R>) return std::type_identity<void>{};
  else if constexpr (is_inner<Like> && tree_kind_of<Like> == tree_kind_of<R> &&
                     as_many(typename parts_of<Like>::type{}, typename parts_of<R>::type{}))
    return detail::first_misfit(typename parts_of<Like>::type{}, typename parts_of<R>::type{});
  else return std::type_identity<misfit<Like, R>>{};
}
template <class Like, class R> using misfit_of = typename decltype(find_misfit<Like, R>())::type;
template <class Like, class R> inline constexpr bool is_like = std::is_void_v<misfit_of<Like, R>>;

/// Adds the symbols of the leaves of a tree that is like `Like`, in order; literals take the elements there, and half precision is widened to float.
template <class Like, class R> constexpr void attach_leaves(builder& b, R const& r, array<symbol>& to) {
  if constexpr (is_narrower<Like, R>) to.push(detail::widened(b.place, r).attach(b));
  else if constexpr (is_expr<Like> || graph_expr<Like>) to.push(as_expr<typename Like::value_type>(r).attach(b));
  else
    [&]<class... Part>(parts<Part...>) {
      if constexpr (tree_kind_of<R> == tree_kind::structure)
        with_members<R>([&](auto const&... accessor) {
          (attach_leaves<Part>(b, boost::hana::second(accessor)(r), to), ...);
        });
      else
        [&]<std::size_t... I>(std::index_sequence<I...>) {
          using std::get;
          (attach_leaves<Part>(b, get<I>(r), to), ...);
        }(std::index_sequence_for<Part...>{});
    }(typename parts_of<Like>::type{});
}

// ---- values that are carried or passed

/// One value as it is, several as a tuple.
template <class... X> struct one_or_tuple {
  using type = std::tuple<X...>;
};
template <class X> struct one_or_tuple<X> {
  using type = X;
};

/// The expressions that a body receives for values: literals become expressions of their elements.
template <class... X> struct values_passed {
  using type = std::tuple<result_tree<X>...>;
  using returned = typename one_or_tuple<result_tree<X>...>::type;
  static constexpr bool said = (tree_has<X, tree_kind::refusal> || ...);
  static constexpr bool are_trees = (is_result<X>() && ...);
  static constexpr bool known = [] { // else structs that cannot be rebuilt, or no trees
    if constexpr (are_trees) return !tree_has<type, tree_kind::refusal>;
    else return false;
  }();
  static constexpr int leaves = leaf_count<type>;
};

/// Calls f with `before`, and with the values of a tuple.
template <class F, class Values, class... Before>
constexpr auto call_with(F const& f, Values const& values, Before const&... before) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return f(before..., std::get<I>(values)...);
  }(std::make_index_sequence<std::tuple_size_v<Values>>{});
}

/// The result type of a body, for the values of a tuple after `Before`; and why it cannot be one.
template <class F, class Values, class... Before> struct body_result;
template <class F, class... X, class... Before> struct body_result<F, std::tuple<X...>, Before...> {
  static consteval auto find() {
    if constexpr (!is_function<F>) return std::type_identity<refused>{};
    else return std::type_identity<std::remove_cvref_t<call_type<callable_with<F, Before..., X...>, Before..., X...>>>{};
  }
  using type = typename decltype(find())::type;
  static constexpr unfit find_reason() {
    if constexpr (!is_function<F>) return unfit::no_function;
    else return unfit_result<F, type, static_cast<int>(sizeof...(X) + sizeof...(Before))>();
  }
  static constexpr unfit why = find_reason();
};

/// Calls a body in the open region, with its inputs after `before`; gives the symbols of its results.
template <class Like, class Values, class F, class... Before>
constexpr array<symbol> run_body(builder& b, symbol const* inputs, F const& f, Before const&... before) {
  leaf_from_symbols make{b, inputs};
  auto const r = call_with(f, build_tree<Values>(make), before...);
  array<symbol> ids;
  attach_leaves<Like>(b, r, ids);
  return ids;
}

/// While it lives, the body `made` of a loop over X... is under construction.
struct traced_body {
  template <class Maker> constexpr traced_body(builder&, Maker&) {}
  constexpr void finish() const {}
};
template <class... X> consteval auto find_body_scope() {
  if constexpr (in_graph<X...>) return std::type_identity<typename front_end_of<X...>::body>{};
  else return std::type_identity<traced_body>{};
}
template <class... X> using body_scope = typename decltype(find_body_scope<X...>())::type;

/// The graph of some trees. Where they have none, as in `for_loop(n, body, 0.0)`, it is that of the expressions that a
/// body uses: `search` calls it on trial, with values that no operation refuses.
struct graph_search : found_builder {
  bool on_trial = false; // the values themselves belong to a trial call

  template <class... X> constexpr explicit graph_search(X const&... x) {
    (visit_leaves(x, *this), ...);
    on_trial = b == nullptr && without == standing::refused;
  }
  template <class Values, class F, class... Before> constexpr void search(F const& f, Before const&... before) {
    if (b != nullptr) return;
    broken_leaf make{standing::refused};
    auto const r = call_with(f, build_tree<Values>(make), before...);
    symbol const own = without; // the trial's result is refused, which the values need not be
    visit_leaves(r, *this);
    without = own;
  }
  /// True if a loop or branch can be built.
  constexpr bool found() const { return b != nullptr && !on_trial; }
  /// The result where none can be built: in a trial call, constants of the graph.
  template <class Tree> constexpr Tree result() const {
    if (b != nullptr) {
      trial_leaf make{*b};
      return build_tree<Tree>(make);
    }
    broken_leaf make{on_trial ? standing::refused : without};
    return build_tree<Tree>(make);
  }
};

/// An integer or an integer expression without axes, with the location of the call that it is passed to.
template <class Refusal> struct located_integer {
  standing at{};
  element type = element::int64;
  std::source_location where{};

  template <class N> static constexpr bool is_number = std::is_integral_v<N> && !std::is_same_v<N, bool>;
  template <class N> static consteval bool find_expression() {
    if constexpr (graph_expr<N>)
      return std::is_integral_v<typename N::value_type> && !std::is_same_v<typename N::value_type, bool>;
    else return std::is_same_v<N, expr<std::int64_t>> || std::is_same_v<N, expr<std::int32_t>>;
  }
  template <class N> static constexpr bool is_expression = find_expression<N>();
  template <class N> static constexpr bool fits() {
    if constexpr (!is_number<N> && !is_expression<N> && !std::is_same_v<N, refused>) Refusal::template report<N>();
    return true;
  }
  template <class N>
    requires(!open_expr<N> || graph_expr<N>)
  constexpr located_integer(N const& n,
                            std::source_location w = std::source_location::current()) noexcept(fits<N>())
      : where(w) {
    if constexpr (is_number<N>) at = standing_of<std::int64_t>(n);
    else if constexpr (is_expression<N>) {
      at = n.standing();
      type = N::type;
    }
  }
  constexpr symbol attach(builder& b) const {
    return at.b != nullptr ? b.inside(at.id, where) : detail::attach(at, b, type, b.shape(dimensions{}));
  }
  template <class Visit> constexpr void tell(Visit& visit) const { visit(expr<std::int64_t>(at)); }
};

} // namespace COTANGENT_ABI
} // namespace detail
} // namespace cotangent

#endif
