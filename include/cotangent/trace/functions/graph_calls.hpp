// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_FUNCTIONS_GRAPH_CALLS_HPP
#define COTANGENT_TRACE_FUNCTIONS_GRAPH_CALLS_HPP

#include <cotangent/trace/functions/arguments.hpp>

#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

// Transformations of functions of expressions of run-time graphs. They are those of traced functions; extents are compared when
// the graph is built. `X::front_end` of an expression has the parts that differ:
//   expression<T>           the expressions of element T
//   transformed(where, f, x...)   f(y...), where y... are the arguments as expressions; a failure is an exception, after which
//                           the graph is as before
//   changed(owner, where, call)   call(), likewise
//   mark(where, x...)       refusals and operations without a location have that of this call
//   attached, same_graph    expressions of one graph
//   check, refuse           exceptions for failures that the builder has recorded, and for others
//   gradient, tangents, jacobian, jacobian_diagonal, batch   the passes; the graph records their symbols
//   body                    while it lives, the body of a loop is under construction

namespace cotangent::detail {
inline namespace COTANGENT_ABI {

/// The graph of the expressions found.
struct found_builder {
  builder* b = nullptr;
  symbol without = standing::broken; // the symbol of results if there is no graph
  template <class X> constexpr void operator()(X const& x) {
    if constexpr (is_expr<X> || graph_expr<X>) {
      if (b == nullptr) b = x.standing().b;
      if (x.standing().id == standing::refused) without = standing::refused;
    }
  }
};
struct leaf_from_symbols {
  builder& b;
  symbol const* next;
  template <class X> constexpr X leaf() { return X(b, *next++); }
};

template <class... X> using front_end_of = typename graph_leaf<X...>::front_end;

/// The calls of a function object with expressions of a run-time graph: `Self::call_at(where, a...)`, with the location of the
/// user's call. (Default arguments cannot follow a pack: the first overloads are written out.)
template <class Self> struct calls_in_graph {
  template <class A>
    requires in_graph<A>
  auto operator()(A const& a, std::source_location where = std::source_location::current()) const {
    return static_cast<Self const&>(*this).call_at(where, a);
  }
  template <class A, class B>
    requires in_graph<A, B>
  auto operator()(A const& a, B const& b, std::source_location where = std::source_location::current()) const {
    return static_cast<Self const&>(*this).call_at(where, a, b);
  }
  template <class A, class B, class C>
    requires in_graph<A, B, C>
  auto operator()(A const& a, B const& b, C const& c,
                  std::source_location where = std::source_location::current()) const {
    return static_cast<Self const&>(*this).call_at(where, a, b, c);
  }
  template <class A, class B, class C, class D>
    requires in_graph<A, B, C, D>
  auto operator()(A const& a, B const& b, C const& c, D const& d,
                  std::source_location where = std::source_location::current()) const {
    return static_cast<Self const&>(*this).call_at(where, a, b, c, d);
  }
  template <class A, class B, class C, class D, class E>
    requires in_graph<A, B, C, D, E>
  auto operator()(A const& a, B const& b, C const& c, D const& d, E const& e,
                  std::source_location where = std::source_location::current()) const {
    return static_cast<Self const&>(*this).call_at(where, a, b, c, d, e);
  }
  template <class A, class B, class C, class D, class E, class F>
    requires in_graph<A, B, C, D, E, F>
  auto operator()(A const& a, B const& b, C const& c, D const& d, E const& e, F const& f,
                  std::source_location where = std::source_location::current()) const {
    return static_cast<Self const&>(*this).call_at(where, a, b, c, d, e, f);
  }
  template <class A, class B, class C, class D, class E, class F, class G>
    requires in_graph<A, B, C, D, E, F, G>
  auto operator()(A const& a, B const& b, C const& c, D const& d, E const& e, F const& f, G const& g,
                  std::source_location where = std::source_location::current()) const {
    return static_cast<Self const&>(*this).call_at(where, a, b, c, d, e, f, g);
  }
  template <class A, class B, class C, class D, class E, class F, class G, class H>
    requires in_graph<A, B, C, D, E, F, G, H>
  auto operator()(A const& a, B const& b, C const& c, D const& d, E const& e, F const& f, G const& g, H const& h,
                  std::source_location where = std::source_location::current()) const {
    return static_cast<Self const&>(*this).call_at(where, a, b, c, d, e, f, g, h);
  }
  template <class... A>
    requires(sizeof...(A) > 8 && in_graph<A...>)
  auto operator()(A const&... a) const {
    return static_cast<Self const&>(*this).call_at(std::source_location{}, a...);
  }
};

/// Maps every leaf to an expression of the front end.
template <class Front> struct leaf_in_graph {
  template <class T, extent...> using expression = typename Front::template expression<T>;
  template <class R> static consteval auto find() {
    if constexpr (graph_expr<R>) return std::type_identity<R>{};
    else if constexpr (is_expr<R>) return std::type_identity<expression<typename R::value_type>>{};
    else if constexpr (element_type<R>) return std::type_identity<expression<R>>{};
    else return std::type_identity<refused>{};
  }
  template <class R, int> struct made {
    using type = typename decltype(find<R>())::type;
  };
};

/// The type of the result R of a function of X...: in a run-time graph, all leaves are expressions of it.
template <class R, class... X> consteval auto find_result_among() {
  if constexpr (!in_graph<X...>) return std::type_identity<R>{};
  else if constexpr (std::is_void_v<R>) return std::type_identity<R>{};
  else if constexpr (is_all_in_graph<R>() || !is_result<R>()) return std::type_identity<R>{};
  else {
    using leaves = leaf_in_graph<front_end_of<X...>>;
    using result = mapped_tree<R, leaves::template made, leaves::template expression, 0>;
    if constexpr (tree_has<typename result::type, tree_kind::refusal>) refusals::struct_of_kind::report<R>();
    return result{};
  }
}
template <class R, class... X> using result_among = typename decltype(find_result_among<R, X...>())::type;

/// The result type of the function F with these expressions; `no_such_call` if there is no such call.
template <class F, class... X>
using result_of_call =
    result_among<decltype(std::declval<callable<F> const&>()(std::declval<X const&>()...)), X...>;

/// A tree of expressions, with float for half precision: arguments of half precision are read as float.
template <class X, int> struct leaf_widened {
  using type = X;
};
template <class X, int K>
  requires is_half_expr<X>
struct leaf_widened<X, K> {
  using type = as_element<float, X>;
};
template <class Tree> using wide_tree = typename mapped_tree<Tree, leaf_widened, expr, 0>::type;

/// True for expressions of half precision in a run-time graph. The arguments of a traced function are float there; in a graph
/// they are widened where a body or a rule would otherwise give other elements than it gets.
template <class... X> inline constexpr bool can_widen = in_graph<X...> && !std::is_same_v<std::tuple<X...>, wide_tree<std::tuple<X...>>>;

struct symbols_widened {
  builder& b;
  array<symbol> ids{};
  template <class X> constexpr void operator()(X const& x) { ids.push(detail::widened(b.place, x).attach(b)); }
};
/// The expressions of half precision in a tree of a run-time graph as float.
template <class X> constexpr wide_tree<X> widened_tree(X const& x) {
  if constexpr (std::is_same_v<X, wide_tree<X>>) return x;
  else {
    found_builder found;
    visit_leaves(x, found);
    symbols_widened all{*found.b};
    visit_leaves(x, all);
    leaf_from_symbols make{*found.b, all.ids.data()};
    return build_tree<wide_tree<X>>(make);
  }
}

/// In run-time graphs: false, with a failure, if a value is not like the one that is wanted; `none` is like all.
template <class Refusal> constexpr bool are_like(builder& b, array<symbol> const& given,
                                                 array<symbol> const& wanted) {
  for (int k = 0; k < given.size() && k < wanted.size(); ++k) {
    if (given[k] == none || b.tensor(given[k]).shape == b.tensor(wanted[k]).shape) continue;
    b.refuse<Refusal>(b.count(b.dims(wanted[k])), b.count(b.dims(given[k])), b.place);
    return false;
  }
  return true;
}

/// f(x...), with a result of that type.
template <class F, class... X> constexpr auto called(F const& f, X const&... x) {
  if constexpr (!in_graph<X...>) return f(x...);
  else {
    using given = std::remove_cvref_t<decltype(f(x...))>;
    using result = result_among<given, X...>;
    if constexpr (std::is_same_v<given, result>) return f(x...);
    else {
      given const y = f(x...);
      found_builder found;
      (visit_leaves(x, found), ...);
      symbols_of_leaves all{*found.b};
      visit_leaves(y, all);
      leaf_from_symbols make{*found.b, all.ids.data()};
      return build_tree<result>(make);
    }
  }
}

} // namespace COTANGENT_ABI
} // namespace cotangent::detail

#endif
