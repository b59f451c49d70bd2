// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_PRODUCTS_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_PRODUCTS_HPP

#include <cotangent/trace/functions/grad.hpp>
#include <cotangent/transform/differentiate/forward.hpp>

#include <cstddef>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

// Products with the Jacobian: from the left (reverse mode), and from the right (forward mode).

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

/// Appends tangents of a function of X....
template <class... X>
constexpr void append_tangents(builder& b, array<symbol> const& wrt, array<symbol> const& seeds,
                               array<symbol> const& outputs, symbol* result) {
  if constexpr (in_graph<X...>)
    front_end_of<X...>::tangents(b, wrt.data(), seeds.data(), wrt.size(), outputs.data(), outputs.size(),
                                 result);
  else tangents(b, wrt.data(), seeds.data(), wrt.size(), outputs.data(), outputs.size(), result);
}

/// The result type of the function with the first K arguments, among expressions.
template <class F, class Indices, class... X> struct called_with;
template <class F, std::size_t... K, class... X> struct called_with<F, std::index_sequence<K...>, X...> {
  using type = result_among<decltype(std::declval<callable<F> const&>()(
                                std::declval<std::tuple_element_t<K, std::tuple<X...>> const&>()...)),
                            X...>;
};

/// Reports a function or arguments that cannot be differentiated; false if anything was reported.
template <class F, class Result, int... I, class... Args> constexpr bool takes_derivatives(parts<Args...>) {
  constexpr unfit why = unfit_result<F, Result, sizeof...(Args)>();
  if constexpr (why != unfit::nothing) return detail::report_unfit<why, F, Args...>(), false;
  else if constexpr (((I < 0 || I >= static_cast<int>(sizeof...(Args))) || ...))
    return refusals::position_out_of_range::report<
               extent::of(gradient_function<F, false, I...>::misplaced(sizeof...(Args))),
               extent::of(sizeof...(Args))>(),
           false;
  else if constexpr (!std::is_void_v<typename integer_among<argument_at<I, Args...>...>::type>)
    return refusals::integer_wrt::report<typename integer_among<argument_at<I, Args...>...>::type, refusals::wanted>(),
           false;
  else return true;
}

/// The result type of a product, if the function returns `Result`, differentiated with respect to `Wrt`.
template <class Product, class Result, class... Wrt> struct product_result;

/// The common base of vjp and jvp: both trace the function with renamed differentiated arguments, and append
/// products.
template <class Self, class F, int... I> struct product_function : transformation<Self> {
  using function = Self; // the whole transformation is traced
  using of = F;
  [[no_unique_address]] F f;

  constexpr product_function() : f(remade<F>()) {}
  constexpr explicit product_function(F const& g) : f(g) {}

  template <class Result, class... Args> static consteval bool refuses() { return false; }
  template <class Result, class... Args> static constexpr void report() {}
  template <class Result> using refused_pair =
      typename product_result<Self, refused_tree<Result, expr>, refused_part<I>...>::type;
  // (If `Pair` is known, it is the pair of value and derivative.)
  template <class Pair, class...> using refused_result =
      std::conditional_t<is_inner<Pair>, refused_tree<Pair, tensor>, refused_pair<Pair>>;
  template <class Result> using refused_expressions = refused_pair<Result>;

  template <class... X> constexpr auto trace(X const&... x) const {
    constexpr int extra = Self::extra;
    constexpr bool enough = static_cast<int>(sizeof...(X)) >= extra &&
                            ((I >= 0 && I < static_cast<int>(sizeof...(X)) - extra) && ...);
    if constexpr ((tree_has<X, tree_kind::refusal> || ...)) return refused_pair<refused>();
    else if constexpr (!enough) {
      Self::template report_directions<X...>();
      return refused_pair<refused>();
    } else
      return on(std::make_index_sequence<sizeof...(X) - static_cast<std::size_t>(extra)>{},
                std::make_index_sequence<static_cast<std::size_t>(extra)>{}, x...);
  }

private:
  template <std::size_t... K, std::size_t... D, class... X>
  constexpr auto on(std::index_sequence<K...> arguments, std::index_sequence<D...>, X const&... x) const {
    using result = typename called_with<F, decltype(arguments), X...>::type;
    constexpr unfit why = unfit_result<F, result, sizeof...(K)>();
    if constexpr (why != unfit::nothing) {
      detail::report_unfit<why, F, argument_at<static_cast<int>(K), X...>...>();
      return refused_pair<result>();
    } else if constexpr (!Self::template directions_fit<
                             result_tree<result>, parts<argument_at<I, X...>...>,
                             parts<argument_at<static_cast<int>(sizeof...(K) + D), X...>...>>) {
      Self::template report_directions<X...>();
      return refused_pair<result>();
    } else {
      using pair = typename product_result<Self, result_tree<result>, argument_at<I, X...>...>::type;
      found_builder found;
      (visit_leaves(x, found), ...);
      argument_list<std::index_sequence_for<X...>, X...> own{{x}...};
      auto const call = [&] {
        return detail::called(
            f, static_cast<held<K, argument_at<static_cast<int>(K), X...>> const&>(own).value...);
      };
      if (found.b == nullptr) return detail::without_graph<pair>(found, call);
      builder& b = *found.b;
      renamed_leaves wrt{b};
      (visit_leaves(static_cast<held<I, argument_at<I, X...>>&>(own).value, wrt), ...);
      symbols_of_leaves directions{b};
      (visit_leaves(
           static_cast<held<sizeof...(K) + D, argument_at<static_cast<int>(sizeof...(K) + D), X...>> const&>(
               own)
               .value,
           directions),
       ...);
      std::source_location const where = b.place;
      result const y = call();
      b.place = where; // (the function's lines are not those of wrong directions)
      symbols_of_leaves out{b};
      visit_leaves(y, out);
      array<symbol> all = out.ids;
      if (b.failed().why == nullptr) Self::template append<X...>(b, wrt.ids, out.ids, directions.ids, all);
      while (all.size() < leaf_count<pair>) all.push(b.refused());
      leaf_from_symbols make{b, all.data()};
      return build_tree<pair>(make);
    }
  }
};

template <class F, int... I> struct jvp_function;
template <class F, int... I, class Result, class... Wrt>
struct product_result<jvp_function<F, I...>, Result, Wrt...> {
  using type = std::pair<Result, Result>;
};
template <class F, int... I> struct jvp_function : product_function<jvp_function<F, I...>, F, I...> {
  using product_function<jvp_function, F, I...>::product_function;
  static constexpr int extra = sizeof...(I);
  template <class Result, class Wrt, class Directions> static constexpr bool directions_fit =
      std::is_same_v<Wrt, Directions>;
  template <class... X> static constexpr void report_directions() { refusals::tangents_of_kind::report<F>(); }

  template <class... X>
  static constexpr void append(builder& b, array<symbol> const& wrt, array<symbol> const& out,
                               array<symbol> const& seeds, array<symbol>& all) {
    array<symbol> results(out.size() + 1, none);
    if (in_graph<X...> && !are_like<refusals::tangents_of_kind>(b, seeds, wrt)) return;
    detail::append_tangents<X...>(b, wrt, seeds, out, results.data());
    if (b.failed().why != nullptr) return;
    for (int k = 0; k < out.size(); ++k)
      all.push(results[k] != none ? results[k]
                                  : extend::constant(b, b.tensor(out[k]).type, b.tensor(out[k]).shape, 0).id);
  }
};

/// Forward over reverse: the tangent of the gradient.
template <class F, int... I> struct hvp_function : transformation<hvp_function<F, I...>> {
  using function = hvp_function; // the whole transformation is traced
  using of = F;
  using tangents = jvp_function<gradient_function<F, false, I...>, I...>;
  static constexpr int extra = sizeof...(I);
  [[no_unique_address]] tangents f;

  constexpr hvp_function() = default;
  constexpr explicit hvp_function(F const& g) : f(gradient_function<F, false, I...>(g)) {}

  template <class Result, class... Args> static consteval bool refuses() { return false; }
  template <class Result, class... Args> static constexpr void report() {}
  template <class Result> using refused_expressions = typename packed<refused_part<I>...>::type;
  template <class Result, class...>
  using refused_result = std::conditional_t<is_inner<Result>, refused_tree<Result, tensor>, refused_expressions<Result>>;

  template <class... X> constexpr auto trace(X const&... x) const { return f.trace(x...).second; }
};

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// The value of a function, and its derivative along directions: `auto [y, dy] = ct::jvp(f)(x, dx)`. One
/// tangent for each position follows the arguments.
template <int... I, class F> constexpr auto jvp(F f) {
  if constexpr (sizeof...(I) == 0) return detail::jvp_function<F, 0>(f);
  else return detail::jvp_function<F, I...>(f);
}

/// The product of the Hessian of a scalar function and a direction: `ct::hvp(f)(x, v)`, the derivative of the gradient
/// along v. One direction for each position follows the arguments; the result is a tree like `ct::grad<I...>(f)(x)`.
///
/// Refuses: what `ct::grad` refuses; directions that differ from the arguments at the positions.
/// Cost: at most about twice the gradient; the Hessian is not computed.
/// Checked: tests/static/jacobians.cpp, tests/runtime/jacobians.cpp.
template <int... I, class F> constexpr auto hvp(F f) {
  if constexpr (sizeof...(I) == 0) return detail::hvp_function<F, 0>(f);
  else return detail::hvp_function<F, I...>(f);
}

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
