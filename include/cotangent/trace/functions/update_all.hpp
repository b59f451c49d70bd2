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

} // namespace detail

/// `optimizer.update` for every leaf of parameters, structs, tuples and arrays of tensors: `ct::update_all(ct::adam{}, p, gradient, m, v, step)`.
/// Gradients and states are trees like the parameters. The number of the step, for the optimizers that count steps, and then a
/// learning rate in place of the optimizer's own are those of every leaf.
template <class Optimizer, class Parameters, class Gradients, class... States>
constexpr void update_all(Optimizer const& optimizer, Parameters& p, Gradients const& gradient, States&&... states) {
  constexpr std::size_t most = Optimizer::states, trees = sizeof...(states) < most ? sizeof...(states) : most;
  constexpr std::size_t numbers = sizeof...(states) - trees, needed = Optimizer::counts ? 1 : 0;
  if constexpr (numbers < needed || numbers > needed + 1) static_assert(refusals::update_states::report<Optimizer>());
  else {
    auto const given = std::tie(states...);
    [&]<std::size_t... I, std::size_t... K>(std::index_sequence<I...>, std::index_sequence<K...>) {
      auto const one = [&](auto&... leaf) { optimizer.update(leaf..., std::get<trees + K>(given)...); };
      detail::visit_together(one, p, gradient, std::get<I>(given)...);
    }(std::make_index_sequence<trees>{}, std::make_index_sequence<numbers>{});
  }
}

} // namespace cotangent

#endif
