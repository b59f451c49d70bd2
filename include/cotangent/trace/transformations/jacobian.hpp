// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_JACOBIAN_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_JACOBIAN_HPP

#include <cotangent/trace/transformations/products.hpp>
#include <cotangent/transform/batch/jacobian.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

// Whole Jacobians: all tangents or cotangents as rows of one batch.

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

template <extent... Front> struct in_front {
  template <class X> struct made;
  template <class T, extent... E> struct made<expr<T, E...>> {
    using type = expr<T, Front..., E...>;
  };
  template <graph_expr X> struct made<X> {
    using type = X;
  };
  template <class X> using of = typename made<X>::type;
};
/// The derivative of an output with respect to the arguments: trees like these, with the axes of the output in front.
template <class... Wrt> struct derivative_of {
  template <class Y> struct made;
  template <class T, extent... E> struct made<expr<T, E...>> {
    using type = typename packed<replace_leaves<Wrt, in_front<E...>>...>::type;
  };
  template <graph_expr Y> struct made<Y> {
    using type = typename packed<Wrt...>::type;
  };
  template <class Y> using of = typename made<Y>::type;
};

/// The largest rank of a leaf.
template <class Tree> consteval int largest_rank() {
  if constexpr (is_inner<Tree>)
    return []<class... Part>(parts<Part...>) {
      int most = 0;
      ((most = largest_rank<Part>() > most ? largest_rank<Part>() : most), ...);
      return most;
    }(typename parts_of<Tree>::type{});
  else if constexpr (graph_expr<Tree>) return 0; // known at run time only
  else return Tree::rank;
}

constexpr int largest_rank(builder const& b, array<symbol> const& all) {
  int most = 0;
  for (symbol const t : all) most = b.dims(t).rank > most ? b.dims(t).rank : most;
  return most;
}

template <int... I> struct refused_derivative {
  template <class> using of = typename packed<refused_part<I>...>::type;
};

template <class F, jacobian_mode Mode, int... I>
struct jacobian_function : transformation<jacobian_function<F, Mode, I...>> {
  using function = jacobian_function; // the whole transformation is traced
  using of = F;
  static constexpr int extra = 0;
  [[no_unique_address]] F f;

  constexpr jacobian_function() : f(remade<F>()) {}
  constexpr explicit jacobian_function(F const& g) : f(g) {}

  template <class Result, class... Args> static consteval bool refuses() { return false; }
  template <class Result, class... Args> static constexpr void report() {}
  template <class Result> static consteval auto find_refused() {
    if constexpr (is_result<Result>()) return std::type_identity<replace_leaves<result_tree<Result>, refused_derivative<I...>>>{};
    else return std::type_identity<typename packed<refused_part<I>...>::type>{};
  }
  template <class Result> using refused_expressions = typename decltype(find_refused<Result>())::type;
  template <class Result, class...>
  using refused_result = std::conditional_t<is_inner<Result>, refused_tree<Result, tensor>, refused_expressions<Result>>;

  template <class Outputs, class... X>
  using derivatives = replace_leaves<Outputs, derivative_of<argument_at<I, X...>...>>;

  template <class... X> constexpr auto trace(X const&... x) const {
    if constexpr ((tree_has<X, tree_kind::refusal> || ...)) return refused_expressions<refused>();
    else {
      using result = typename called_with<F, std::index_sequence_for<X...>, X...>::type;
      if constexpr (!takes_derivatives<F, result, I...>(parts<X...>{})) return refused_expressions<result>();
      else {
        using outputs = result_tree<result>;
        constexpr int axes = detail::largest_rank<outputs>() + detail::largest_rank<std::tuple<argument_at<I, X...>...>>();
        if constexpr (!std::is_void_v<typename integer_in<outputs>::type>) {
          refusals::output_not_floating::report<typename integer_in<outputs>::type, refusals::wanted>();
          return refused_expressions<result>();
        } else if constexpr (axes > max_rank) {
          refusals::jacobian_rank::report<extent::of(axes), extent::of(max_rank)>();
          return refused_expressions<result>();
        } else if constexpr (in_graph<X...> && tree_has<derivatives<outputs, X...>, tree_kind::refusal>) {
          refusals::struct_of_kind::report<outputs>(); // its members cannot be derivatives
          return refused_expressions<result>();
        } else return trace_on<outputs>(std::index_sequence_for<X...>{}, x...);
      }
    }
  }

private:
  template <class Outputs, std::size_t... K, class... X>
  constexpr auto trace_on(std::index_sequence<K...>, X const&... x) const {
    using all = derivatives<Outputs, X...>;
    found_builder found;
    (visit_leaves(x, found), ...);
    if (found.b == nullptr) return detail::without_graph<all>(found, [&] { return f(x...); });
    builder& b = *found.b;
    argument_list<std::index_sequence<K...>, X...> own{{x}...};
    renamed_leaves wrt{b};
    (visit_leaves(static_cast<held<I, argument_at<I, X...>>&>(own).value, wrt), ...);
    auto const y = detail::called(f, static_cast<held<K, X> const&>(own).value...);
    symbols_of_leaves out{b};
    visit_leaves(y, out);
    array<symbol> results(leaf_count<all> + 1, b.refused());
    jacobian_request const request{out.ids.data(), out.ids.size(), wrt.ids.data(), wrt.ids.size(), Mode};
    if constexpr (in_graph<X...>) {
      if (int const axes = largest_rank(b, out.ids) + largest_rank(b, wrt.ids); axes > max_rank)
        b.refuse<refusals::jacobian_rank>(axes, max_rank, b.place);
      if (b.failed().why == nullptr) front_end_of<X...>::jacobian(b, request, results.data());
    } else if (b.failed().why == nullptr) jacobian(b, request, results.data());
    leaf_from_symbols make{b, results.data()};
    return build_tree<all>(make);
  }
};

/// The tangent of each element of the gradient along the unit vector of that element.
template <class F, int... I> struct diagonal_function : transformation<diagonal_function<F, I...>> {
  using function = diagonal_function; // the whole transformation is traced
  using of = F;
  using gradient_of_function = gradient_function<F, false, I...>;
  static constexpr int extra = 0;
  [[no_unique_address]] gradient_of_function f;

  constexpr diagonal_function() = default;
  constexpr explicit diagonal_function(F const& g) : f(g) {}

  template <class Result, class... Args> static consteval bool refuses() { return false; }
  template <class Result, class... Args> static constexpr void report() {}
  template <class> using refused_expressions = typename packed<refused_part<I>...>::type;
  template <class Result, class...>
  using refused_result = std::conditional_t<is_inner<Result>, refused_tree<Result, tensor>, refused_expressions<Result>>;

  template <class... X> constexpr auto trace(X const&... x) const {
    using result = std::remove_cvref_t<decltype(f(x...))>;
    if constexpr (tree_has<result, tree_kind::refusal>) return refused_expressions<result>();
    else return on<result>(std::index_sequence_for<X...>{}, x...);
  }

private:
  template <class Result, std::size_t... K, class... X>
  constexpr Result on(std::index_sequence<K...>, X const&... x) const {
    found_builder found;
    (visit_leaves(x, found), ...);
    if (found.b == nullptr) return detail::without_graph<Result>(found, [&] { return f(x...); });
    builder& b = *found.b;
    argument_list<std::index_sequence<K...>, X...> own{{x}...};
    renamed_leaves wrt{b};
    (visit_leaves(static_cast<held<I, argument_at<I, X...>>&>(own).value, wrt), ...);
    auto const y = detail::called(f, static_cast<held<K, X> const&>(own).value...);
    symbols_of_leaves out{b};
    visit_leaves(y, out);
    array<symbol> results(wrt.ids.size() + 1, b.refused());
    jacobian_request const request{out.ids.data(), out.ids.size(), wrt.ids.data(), wrt.ids.size()};
    if (b.failed().why == nullptr) {
      if constexpr (in_graph<X...>) front_end_of<X...>::jacobian_diagonal(b, request, results.data());
      else jacobian_diagonal(b, request, results.data());
    }
    leaf_from_symbols make{b, results.data()};
    return build_tree<Result>(make);
  }
};

template <jacobian_mode Mode, int... I, class F> constexpr auto jacobian_of(F const& f) {
  if constexpr (sizeof...(I) == 0) return jacobian_function<F, Mode, 0>(f);
  else return jacobian_function<F, Mode, I...>(f);
}

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// The Jacobian of a function with respect to the arguments at positions I (0 if omitted), by forward mode: the tangents
/// of all unit vectors, as one batch.
///
/// Shapes: the axes of the output, then those of the argument. Trees: like the output, each leaf replaced by a tree like
///   the argument; for several positions by a `std::tuple` of them.
/// Refuses: a position without an argument; integer arguments and outputs; more than 8 axes.
/// Cost: the values once, and a tangent for each element of the arguments.
/// Checked: tests/static/jacobians.cpp, tests/runtime/jacobians.cpp.
template <int... I, class F> constexpr auto jacfwd(F f) { return detail::jacobian_of<detail::jacobian_mode::forward, I...>(f); }

/// The Jacobian like `jacfwd`, by reverse mode: the cotangents of all unit vectors, as one batch.
///
/// Cost: the values once, and a gradient for each element of the outputs.
template <int... I, class F> constexpr auto jacrev(F f) { return detail::jacobian_of<detail::jacobian_mode::reverse, I...>(f); }

/// The Jacobian by the cheaper of both: `jacfwd` if the arguments have at most 1.5 times as many elements as the outputs,
/// else `jacrev`. A named extent counts as 1,000.
template <int... I, class F> constexpr auto jacobian(F f) { return detail::jacobian_of<detail::jacobian_mode::by_size, I...>(f); }

/// The Hessian of a function that returns a scalar: the Jacobian of its gradient, forward over reverse.
///
/// Shapes: the axes of the argument twice. Several positions: a `std::tuple` of rows, each a `std::tuple`.
/// Refuses: what `ct::grad` refuses.
/// Cost: the gradient once, and a tangent of it for each element of the arguments.
template <int... I, class F> constexpr auto hessian(F f) { return jacfwd<I...>(grad<I...>(f)); }

/// The diagonal of the Hessian of a function that returns a scalar: the second derivative with respect to each element.
///
/// Shapes: like `ct::grad<I...>(f)(x...)`.
/// Refuses: what `ct::grad` refuses; arguments with 8 axes.
/// Cost: that of the Hessian, which is not stored.
/// Checked: tests/static/jacobians.cpp, tests/runtime/jacobians.cpp.
template <int... I, class F> constexpr auto diagonal_hessian(F f) {
  if constexpr (sizeof...(I) == 0) return detail::diagonal_function<F, 0>(f);
  else return detail::diagonal_function<F, I...>(f);
}

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
