// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EXPRESSIONS_BRANCHES_HPP
#define COTANGENT_DYNAMIC_EXPRESSIONS_BRANCHES_HPP

#include <cotangent/dynamic/expressions/control.hpp>
#include <cotangent/ops/control/case_builder.hpp>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// Branches of dynamic expressions. Each is called once; outer expressions that it uses are captured automatically.

COTANGENT_COLD_BEGIN
namespace cotangent {
namespace dynamic::inline COTANGENT_ABI::detail {

/// True if values that an index without a branch passes through have the elements of the results; else a report.
template <bool Passes, class Out, class Values, std::size_t... K> constexpr bool all_pass(std::index_sequence<K...>) {
  constexpr auto fits = []<class R, class V>(std::type_identity<R>, std::type_identity<V>) {
    if constexpr (std::is_same_v<R, V>) return true;
    else return refusals::passed_type::report<expr<V>, expr<R>>();
  };
  if constexpr (Passes)
    return (fits(std::type_identity<typename std::tuple_element_t<K, Out>::value_type>{},
                 std::type_identity<typename element_or<K, typename std::tuple_element_t<K, Out>::value_type, Values>::type>{}) && ...);
  else return true;
}

/// True if no part of the argument or result A is a tree.
template <class A> inline constexpr bool is_plain = cotangent::detail::graph_expr<A> || is_expr<A> || literal<A>;
template <class R> inline constexpr bool gives_plain = is_plain<R>;
template <class... R> inline constexpr bool gives_plain<std::tuple<R...>> = (is_plain<R> && ...);
template <class A, class B> inline constexpr bool gives_plain<std::pair<A, B>> = is_plain<A> && is_plain<B>;

/// True if neither the arguments A... nor the results of branches are trees. (Trees are in trace/functions/branches.hpp.)
template <class... Branch> struct plain_among {
  template <class F, class... X> static consteval bool find_result() {
    if constexpr (std::is_invocable_v<F const&, X...>)
      return gives_plain<std::remove_cvref_t<std::invoke_result_t<F const&, X...>>>;
    else return false;
  }
  template <class... A> static consteval bool with() {
    if constexpr ((is_plain<A> && ...)) return (find_result<Branch, typename expression_of<A>::type...>() && ...);
    else return false;
  }
};

template <class Header>
concept is_declared = requires(Header header) { is_included(header); };

template <bool Passes, class Index, class... Branch> struct branches {
  Index index;
  std::tuple<Branch...> all_of_them;
  char const* name;
  std::source_location where;

  template <class... A> auto operator()(A const&... args) const {
    if constexpr (plain_among<Branch...>::template with<A...>()) return call_plain(args...);
    else if constexpr (is_declared<refusals::trees_of_branches>)
      return branches_in_graph(std::bool_constant<Passes>{}, where, index, all_of_them, args...);
    else refusals::trees_of_branches::report<A...>();
  }

private:
  template <class... A> auto call_plain(A const&... args) const {
    using values = std::tuple<typename expression_of<A>::type...>;
    using all = settled_values<returned_by<Branch, values>...>;
    using out = std::conditional_t<Passes, settled_values<all, values>, all>;
    using passed = std::conditional_t<Passes, settled_values<values, out>, values>;
    if constexpr (!std::is_same_v<passed, values>) return call_plain(as_wide(where, args)...);
    else {
      detail::all_pass<Passes, out, values>(std::make_index_sequence<std::tuple_size_v<out>>{});
      return call<values, out>(std::index_sequence_for<Branch...>{}, args...);
    }
  }
  template <class values, class out, std::size_t... K, class... A>
  auto call(std::index_sequence<K...>, A const&... args) const {
    constexpr int count = static_cast<int>(std::tuple_size_v<out>);
    request r{name, static_cast<int>(std::string_view(name).size()), nullptr, 0, where};
    graph_state* const found = state_among(index, args...);
    if (found == nullptr) {
      static builder const nothing;
      raise<refusals::dynamic_detached>(nothing, r);
    }
    graph_state& s = *found;
    same_region const region{s};
    undo back(s);
    std::vector<symbol> in;
    (in.push_back(symbol_of<typename element_taken<A>::type>(s, args, r)), ...);
    symbol const at = symbol_of<typename Index::value_type>(s, index, r);
    s.b.place = where;
    case_builder choice(s.b, at, in.data(), static_cast<int>(in.size()));
    back.check(r);
    std::int32_t const before = s.b.get().nodes.size();
    auto const one = [&](auto const& branch) {
      symbol const* const given = choice.open_branch();
      open_body const here(s, choice, region.region);
      auto const made = std::apply(branch, expressions<values>(s, given));
      using likes = elements_in_tuple<out>;
      s.b.place = r.where = place_among(s, before, where);
      std::vector<symbol> results = results_of<refusals::branch_type, likes>(s, made, r);
      hold_prints(s.b, results);
      fill_unwritten(s, r.where);
      choice.close_branch(results.data(), static_cast<int>(results.size()));
      return 0;
    };
    int const done[]{(one(std::get<K>(all_of_them)), back.check(r), 0)...};
    (void)done;
    s.b.region = region.region;
    int bypass[count + 1]{};
    for (int k = 0; k < count; ++k) bypass[k] = Passes && k < static_cast<int>(sizeof...(A)) ? k : -1;
    (void)choice.finish(bypass, r.where);
    back.check(r);
    symbol results[count + 1]{};
    for (int k = 0; k < count; ++k) results[k] = choice.result(k);
    back.keep();
    tell_made(s);
    return one_or_several(expressions<out>(s, results));
  }
};

} // namespace dynamic::detail

/// `case_of(index, f0, f1, ...)(x...)` is the result of branch number `index` for x...; for any other index
/// (-1) it is x... itself. Only the selected branch is computed. The index is not differentiated.
template <class I, class... Branch>
  requires(detail::graph_expr<I> && std::is_integral_v<typename I::value_type> &&
           sizeof...(Branch) != 0)
auto case_of(I const& index, Branch const&... branch) {
  return dynamic::detail::branches<true, I, Branch...>{
      index, std::tuple<Branch...>(branch...), "case_of", {}};
}
template <class I, class F0>
  requires(detail::graph_expr<I> && std::is_integral_v<typename I::value_type>)
auto case_of(I const& index, F0 const& f0, std::source_location where = std::source_location::current()) {
  return dynamic::detail::branches<true, I, F0>{index, std::tuple<F0>(f0), "case_of", where};
}
template <class I, class F0, class F1>
  requires(detail::graph_expr<I> && std::is_integral_v<typename I::value_type>)
auto case_of(I const& index, F0 const& f0, F1 const& f1,
             std::source_location where = std::source_location::current()) {
  return dynamic::detail::branches<true, I, F0, F1>{index, std::tuple<F0, F1>(f0, f1), "case_of", where};
}
template <class I, class F0, class F1, class F2>
  requires(detail::graph_expr<I> && std::is_integral_v<typename I::value_type>)
auto case_of(I const& index, F0 const& f0, F1 const& f1, F2 const& f2,
             std::source_location where = std::source_location::current()) {
  return dynamic::detail::branches<true, I, F0, F1, F2>{index, std::tuple<F0, F1, F2>(f0, f1, f2), "case_of",
                                                  where};
}
template <class I, class F0, class F1, class F2, class F3>
  requires(detail::graph_expr<I> && std::is_integral_v<typename I::value_type>)
auto case_of(I const& index, F0 const& f0, F1 const& f1, F2 const& f2, F3 const& f3,
             std::source_location where = std::source_location::current()) {
  return dynamic::detail::branches<true, I, F0, F1, F2, F3>{index, std::tuple<F0, F1, F2, F3>(f0, f1, f2, f3), "case_of", where};
}

/// `cond(predicate, f, g)(x...)` is f(x...) if the predicate, one bool, is true, else g(x...).
template <class P, class Then, class Otherwise>
  requires(detail::graph_expr<P> && std::is_same_v<typename P::value_type, bool>)
auto cond(P const& predicate, Then const& then, Otherwise const& otherwise,
          std::source_location where = std::source_location::current()) {
  auto const index =
      cotangent::select(predicate, dynamic::expr<std::int32_t>(0), dynamic::expr<std::int32_t>(1), where);
  return dynamic::detail::branches<false, dynamic::expr<std::int32_t>, Then, Otherwise>{
      index, std::tuple<Then, Otherwise>(then, otherwise), "cond", where};
}

} // namespace cotangent
COTANGENT_COLD_END

#endif
