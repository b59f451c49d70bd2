// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_FUNCTIONS_BRANCHES_HPP
#define COTANGENT_TRACE_FUNCTIONS_BRANCHES_HPP

#include <cotangent/ops/control/case_builder.hpp>
#include <cotangent/trace/expressions/functions.hpp>
#include <cotangent/trace/functions/control.hpp>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

// Branches of traced functions. Each is called once; expressions of the surrounding function that it uses are captured.

namespace cotangent {
namespace refusals {
void is_included(trees_of_branches); // see dynamic/expressions/branches.hpp
}
namespace detail {
inline namespace COTANGENT_ABI {

using case_index = located_integer<refusals::case_index_of_kind>;

/// The leaves of trees, as one list.
template <class... Lists> struct joined_parts {
  using type = parts<>;
};
template <class... A, class... Rest> struct joined_parts<parts<A...>, Rest...> {
  template <class... B> static parts<A..., B...> with(parts<B...>);
  using type = decltype(with(typename joined_parts<Rest...>::type{}));
};
template <class Tree> struct leaves_of {
  using type = parts<Tree>;
};
template <class... Part> struct leaves_of<parts<Part...>> : joined_parts<typename leaves_of<Part>::type...> {};
template <class Tree>
  requires is_inner<Tree>
struct leaves_of<Tree> : leaves_of<typename parts_of<Tree>::type> {};

/// The type of all results: that of the first one without literals, which take the elements of the others.
template <class First, class... Rest> consteval auto find_common_result() {
  if constexpr (sizeof...(Rest) == 0 || !tree_has<First, tree_kind::memory>) return std::type_identity<result_tree<First>>{};
  else if constexpr ((!tree_has<Rest, tree_kind::memory> || ...)) return detail::find_common_result<Rest...>();
  else return std::type_identity<result_tree<First>>{};
}

/// The first branch that cannot be called with the values of a tuple; void if there is none.
template <class Values, class... Branch> struct unfit_among {
  using type = void;
};
template <class Values, unfit Why, class Branch> struct unfit_branch {
  using type = Branch;
  static constexpr unfit why = Why;
};
template <class Values, class First, class... Rest>
struct unfit_among<Values, First, Rest...>
    : std::conditional_t<body_result<First, Values>::why == unfit::nothing, unfit_among<Values, Rest...>,
                         unfit_branch<Values, body_result<First, Values>::why, First>> {};

/// The types of branches that have the result `Result` for such values: the first misfits among their results, and among the
/// values passed through.
template <bool Passes, class Passed, class Result, class... Returned> struct branch_types {
  using values = typename Passed::type;
  using result = Result;
  template <class> using result_again = result;
  using differs = typename decltype(detail::first_misfit(parts<result_again<Returned>...>{}, parts<Returned...>{}))::type;
  using results = typename leaves_of<result>::type;
  using passed = std::conditional_t<Passes, typename leaves_of<typename parts_of<values>::type>::type, results>;
  using passed_differs = typename decltype(detail::first_misfit(results{}, passed{}))::type;
  static constexpr bool fit = std::is_void_v<differs> && std::is_void_v<passed_differs>;
  /// True if a value of half precision would be passed through where the result is float.
  template <class... R, class... P> static consteval bool find_narrower(parts<R...>, parts<P...>) {
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      return (is_narrower<std::tuple_element_t<K, std::tuple<R...>>, std::tuple_element_t<K, std::tuple<P...>>> || ...);
    }(std::make_index_sequence<(sizeof...(R) < sizeof...(P) ? sizeof...(R) : sizeof...(P))>{});
  }
  static constexpr bool narrower = find_narrower(results{}, passed{});
};
template <bool Passes, class Index, class Passed, class... Returned> consteval auto find_branch_types() {
  using result = result_among<typename decltype(detail::find_common_result<Returned...>())::type, Index>;
  using first = branch_types<Passes, Passed, result, Returned...>;
  if constexpr (!in_graph<Index> || first::fit) return std::type_identity<first>{};
  else return std::type_identity<branch_types<Passes, Passed, wide_tree<result>, Returned...>>{};
}

/// Branches to be called; `Passes`: an index without a branch passes the arguments through. `Index` is an expression.
template <bool Passes, class Index, class... Branch> class traced_branches {
  case_index index_;
  std::tuple<Branch...> all_;

  template <class Result, class Passed, class... A> constexpr Result build(A const&... args) const {
    using values = typename Passed::type;
    graph_search graph(args...);
    index_.tell(graph);
    if constexpr (!in_graph<Index>)
      std::apply([&](Branch const&... f) { (graph.template search<values>(f), ...); }, all_);
    if (!graph.found()) return graph.template result<Result>();
    builder& b = *graph.b;
    b.place = index_.where;
    symbol const index = index_.attach(b);
    array<symbol> given;
    (attach_leaves<result_tree<A>>(b, args, given), ...);
    case_builder choice(b, index, given.data(), given.size());
    std::apply(
        [&](Branch const&... f) {
          auto const one = [&](auto const& branch) {
            symbol const* const in = choice.open_branch();
            body_scope<Index> const here(b, choice);
            array<symbol> results = detail::run_body<Result, values>(b, in, branch);
            hold_prints(b, results);
            here.finish();
            choice.close_branch(results.data(), results.size());
          };
          (one(f), ...);
        },
        all_);
    if (index_.where.line() != 0) b.place = index_.where; // else that of the last operation inside
    array<int> bypass(leaf_count<Result> + 1, -1);
    for (int k = 0; Passes && k < given.size() && k < leaf_count<Result>; ++k) bypass[k] = k;
    (void)choice.finish(bypass.data(), b.place);
    array<symbol> results(leaf_count<Result> + 1, b.refused());
    for (int k = 0; k < leaf_count<Result>; ++k) results[k] = choice.result(k);
    leaf_from_symbols make{b, results.data()};
    return build_tree<Result>(make);
  }

public:
  constexpr traced_branches(case_index const& index, std::tuple<Branch...> const& all) : index_(index), all_(all) {}

  template <class... A> constexpr auto operator()(A const&... args) const {
    using passed = values_passed<A...>;
    using values = typename passed::type;
    // (All reports are here, close to the user's call, so that errors are short.)
    if constexpr (passed::said) return refused{};
    else if constexpr (!passed::known) {
      if constexpr (passed::are_trees) refusals::struct_of_kind::report<A...>();
      else refusals::passed_of_kind::report<A...>();
      return refused{};
    } else if constexpr (!std::is_void_v<typename unfit_among<values, Branch...>::type>) {
      using unfit = unfit_among<values, Branch...>;
      detail::report_unfit<unfit::why, typename unfit::type, result_tree<A>...>();
      return refused{};
    } else {
      using types = typename decltype(
          detail::find_branch_types<Passes, Index, passed, typename body_result<Branch, values>::type...>())::type;
      if constexpr (types::narrower && can_widen<A...>) return (*this)(detail::widened_tree(args)...);
      else if constexpr (!std::is_void_v<typename types::differs>) {
        refusals::branch_type::report<typename types::differs::given, typename types::differs::like>();
        return refused_tree<typename types::result, expr>();
      } else if constexpr (!std::is_void_v<typename types::passed_differs>) {
        refusals::passed_type::report<typename types::passed_differs::given, typename types::passed_differs::like>();
        return refused_tree<typename types::result, expr>();
      } else return this->template build<typename types::result, passed>(args...);
    }
  }
};

/// Branches of a run-time graph, called at `where` with trees.
template <bool Passes, class Index, class... Branch, class... A>
auto branches_in_graph(std::bool_constant<Passes>, std::source_location where, Index const& index,
                       std::tuple<Branch...> const& all, A const&... args) {
  return Index::front_end::transformed(
      where,
      [&](Index const& at, auto const&... x) {
        return traced_branches<Passes, Index, Branch...>(case_index(at, at.standing().b->place), all)(x...);
      },
      index, args...);
}

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// `case_of(index, f0, f1, ...)(x...)` is the result of branch number `index` for x...; for any other index it is x... itself.
/// Only that branch is computed. The index is an integer or an integer expression, and is not differentiated.
///
/// The arguments and results are numbers, expressions, or trees of expressions. Each branch is called once, when the function is
/// traced, and may use expressions of the surrounding function.
///
/// Refuses: branches whose results differ in type; results of other types than the arguments, which are passed through.
/// Checked: tests/static/branches.cpp.
template <class... Branch>
  requires(sizeof...(Branch) != 0)
constexpr auto case_of(detail::case_index index, Branch const&... branch) {
  return detail::traced_branches<true, expr<std::int64_t>, Branch...>(index, std::tuple<Branch...>(branch...));
}

/// `cond(predicate, f, g)(x...)` is f(x...) if the predicate, one bool, is true, else g(x...); only one of them is computed.
template <class P, class Then, class Otherwise>
  requires detail::for_traced<P>
constexpr auto cond(P const& predicate, Then const& then, Otherwise const& otherwise,
                    std::source_location where = std::source_location::current()) {
  using branches = detail::traced_branches<false, expr<std::int32_t>, Then, Otherwise>;
  if constexpr (std::is_same_v<P, expr<bool>> || std::is_same_v<P, bool>)
    return branches({cotangent::select(expr<bool>(predicate), expr<std::int32_t>(0), expr<std::int32_t>(1), where), where},
                    std::tuple<Then, Otherwise>(then, otherwise));
  else {
    if constexpr (!std::is_same_v<P, refused>) refusals::predicate_of_kind::report<P>();
    return refused{};
  }
}

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
