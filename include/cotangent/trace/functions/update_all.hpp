// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_FUNCTIONS_UPDATE_ALL_HPP
#define COTANGENT_TRACE_FUNCTIONS_UPDATE_ALL_HPP

#include <cotangent/trace/functions/tree.hpp>

#include <boost/hana/at.hpp>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cotangent {

namespace refusals {
COTANGENT_REFUSAL_OF(update_states, allowed, "cotangent: update_all: this optimizer takes its trees of states, then the number of the step if it counts steps; a learning rate may follow")
COTANGENT_REFUSAL_OF(update_trees, allowed, "cotangent: update_all: the trees of gradients and states must have the structure of the parameters: the same parts in the same order")
} // namespace refusals

namespace detail {

/// Part I of an inner node.
template <std::size_t I, class Tree> constexpr auto& part_at(Tree& tree) {
  using T = std::remove_const_t<Tree>;
  if constexpr (tree_kind_of<T> == tree_kind::structure)
    return boost::hana::second(boost::hana::at_c<I>(boost::hana::accessors<T>()))(tree);
  else {
    using std::get;
    return get<I>(tree);
  }
}
template <class... Part> consteval std::size_t count_parts(parts<Part...>) { return sizeof...(Part); }

template <class F, class First, class... Rest> constexpr void visit_together(F const& f, First& first, Rest&... rest);
template <std::size_t I, class F, class... Tree> constexpr void visit_part(F const& f, Tree&... tree) {
  detail::visit_together(f, detail::part_at<I>(tree)...);
}
/// Calls `f` with the leaves at each position of trees of one structure.
template <class F, class First, class... Rest> constexpr void visit_together(F const& f, First& first, Rest&... rest) {
  using T = std::remove_const_t<First>;
  if constexpr (is_inner<T>)
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (detail::visit_part<I>(f, first, rest...), ...);
    }(std::make_index_sequence<detail::count_parts(typename parts_of<T>::type{})>{});
  else f(first, rest...);
}

/// True if two trees have their leaves at the same positions.
template <class A, class B> consteval bool is_tree_like() {
  if constexpr (!is_inner<A> || !is_inner<B>) return is_inner<A> == is_inner<B>;
  else
    return []<class... P, class... Q>(parts<P...>, parts<Q...>) {
      if constexpr (sizeof...(P) == sizeof...(Q)) return (is_tree_like<P, Q>() && ...);
      else return false;
    }(typename parts_of<A>::type{}, typename parts_of<B>::type{});
}
/// True if the first arguments, of number `Trees`, are states for parameters P, and the others are numbers.
template <std::size_t Trees, class P, class... Given> consteval bool are_states_and_numbers() {
  std::size_t k = 0;
  return ((k++ < Trees ? is_inner<Given> || !is_inner<P> : !is_inner<Given>) && ...);
}
template <std::size_t Trees, class P, class... Given> consteval bool are_states_like() {
  std::size_t k = 0;
  return ((k++ >= Trees || is_tree_like<P, Given>()) && ...);
}

} // namespace detail

/// `optimizer.update` for every leaf of parameters, structs, tuples and arrays of tensors: `ct::update_all(ct::adam{}, p, gradient, m, v, step)`.
/// Gradients and states are trees like the parameters. The number of the step, for the optimizers that count steps, and then a
/// learning rate in place of the optimizer's own are those of every leaf.
template <class Optimizer, class Parameters, class Gradients, class... States>
constexpr void update_all(Optimizer const& optimizer, Parameters& p, Gradients const& gradient, States&&... states) {
  constexpr std::size_t most = Optimizer::states, trees = sizeof...(states) < most ? sizeof...(states) : most;
  constexpr std::size_t numbers = sizeof...(states) - trees, needed = Optimizer::counts ? 1 : 0;
  if constexpr (numbers < needed || numbers > needed + 1 ||
                !detail::are_states_and_numbers<trees, Parameters, std::remove_cvref_t<States>...>())
    static_assert(refusals::update_states::report<Optimizer>());
  else if constexpr (!detail::is_tree_like<Parameters, Gradients>() ||
                     !detail::are_states_like<trees, Parameters, std::remove_cvref_t<States>...>())
    static_assert(refusals::update_trees::report<Parameters, Gradients, std::remove_cvref_t<States>...>());
  else {
    auto const given = std::tie(states...);
    [&]<std::size_t... I, std::size_t... K>(std::index_sequence<I...>, std::index_sequence<K...>) {
      auto const one = [&](auto&... leaf) {
        if constexpr (requires { optimizer.update(leaf..., std::get<trees + K>(given)...); })
          optimizer.update(leaf..., std::get<trees + K>(given)...);
        else if constexpr (numbers == needed &&
                           requires { optimizer.update(leaf..., std::get<trees + K>(given)..., optimizer.learning_rate); })
          optimizer.update(leaf..., std::get<trees + K>(given)..., optimizer.learning_rate); // (of users, without a default)
        else // (a condition that depends on the leaves, so that it is read here only)
          static_assert(refusals::update_states::report<std::conditional_t<sizeof...(leaf) != 0, Optimizer, void>>());
      };
      detail::visit_together(one, p, gradient, std::get<I>(given)...);
    }(std::make_index_sequence<trees>{}, std::make_index_sequence<numbers>{});
  }
}

} // namespace cotangent

#endif
