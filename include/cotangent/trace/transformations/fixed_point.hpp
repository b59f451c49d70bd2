// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_FIXED_POINT_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_FIXED_POINT_HPP

#include <cotangent/trace/expressions/functions.hpp>
#include <cotangent/trace/functions/loops.hpp>
#include <cotangent/trace/transformations/custom.hpp>
#include <cotangent/trace/transformations/vjp.hpp>

#include <cstdint>
#include <limits>
#include <source_location>
#include <tuple>
#include <type_traits>

// Solutions of x = step(x, args...), with the derivative of the solution by the implicit function theorem.

namespace cotangent {
inline namespace COTANGENT_ABI {

/// Options of `fixed_point`: `ct::fixed_point<ct::solver{.tolerance = 1e-8}>(step, start, x...)`.
struct solver {
  /// Iteration ends if no element changes by more than this, relative to `scale` plus the largest element; at least 4 units in the
  /// last place of the element type.
  double tolerance = 1e-14;
  /// Iteration ends after this number of steps at the latest; 0: no limit.
  std::int64_t max_iterations = 1000;
  /// The size of elements below which changes count as absolute; 0: none.
  double scale = 1;
};

} // namespace COTANGENT_ABI

namespace detail {
inline namespace COTANGENT_ABI {

/// Refuses options that no iteration fulfils.
template <solver Options> constexpr void refuse_unfit() {
  static_assert(Options.tolerance >= 0 && Options.max_iterations >= 0 && Options.scale >= 0,
                "cotangent: solver: tolerance, max_iterations and scale must be at least 0");
}

template <class T, solver Options> inline constexpr T least_change = static_cast<T>(
    Options.tolerance > 4 * static_cast<double>(std::numeric_limits<T>::epsilon()) ? Options.tolerance
                                                                                   : 4 * static_cast<double>(std::numeric_limits<T>::epsilon()));

/// Repeats `next` from `start` until the value no longer changes, relative to `scale` plus its largest element. (The change less the
/// allowed one is compared with 0, since a quotient of zeros is no number.)
template <solver Options, class Next, class X, class Scale> constexpr X iterated(Next const& next, X const& start, Scale const& scale) {
  detail::refuse_unfit<Options>();
  using T = typename X::value_type;
  auto const moves = [](auto, auto, auto excess) { return excess > T(0); };
  auto const step = [&](auto, auto x, auto) {
    auto const y = next(x);
    return std::tuple(y, cotangent::max(cotangent::abs(y - x)) - least_change<T, Options> * (scale + cotangent::max(cotangent::abs(y))));
  };
  // (found by its arguments: expressions of run-time graphs have their own)
  return std::get<0>(while_loop<loop{.max_iterations = Options.max_iterations}>(moves, step, start, T(1)));
}
template <solver Options, class Next, class X> constexpr X solution_by(Next const& next, X const& start) {
  return detail::iterated<Options>(next, start, static_cast<typename X::value_type>(Options.scale));
}
/// The solution u of u = first + linear(u). Its scale is that of `first`, so that it is linear in it.
template <solver Options, class Linear, class X> constexpr X series_of(Linear const& linear, X const& first) {
  return detail::iterated<Options>([&](auto u) { return first + linear(u); }, first, cotangent::max(cotangent::abs(first)));
}

template <class X> inline constexpr bool is_floating_expr = false;
template <class T, extent... E> inline constexpr bool is_floating_expr<expr<T, E...>> = std::is_floating_point_v<T>;
template <graph_expr X> inline constexpr bool is_floating_expr<X> =
    std::is_floating_point_v<typename X::value_type>;

/// A number as an expression like `x`, of the same graph.
template <class X, class A> constexpr auto as_argument(X const& x, A const& a) {
  if constexpr (in_graph<X> && element_type<A>)
    return X::front_end::attached(typename X::front_end::template expression<A>(a), x);
  else return detail::as_traced(a);
}

/// False if a run-time graph knows that two shapes differ. (Types of compiled functions have them.)
template <class X, class Y> constexpr bool may_be_like(X const& x, Y const& y) {
  if constexpr (graph_expr<X> && graph_expr<Y>) {
    shape const a = x.shape(), b = y.shape();
    if (a.rank != b.rank) return false;
    for (int k = 0; k < a.rank; ++k)
      if (a[k].number >= 0 && b[k].number >= 0 && a[k].number != b[k].number) return false;
  }
  return true;
}

/// A solution that depends on arguments through a function. `Rules` has the solution, its tangent and the cotangent of the
/// arguments from `f(x, all)`, where `all` is the tuple of the arguments; and the refusals of a wrong start or function.
template <class Rules, class F, class X, class... Args>
constexpr auto implicit_solution(F const& f, X const& start, Args const&... args) {
  using value = result_tree<result_among<X, X, Args...>>;
  if constexpr (!for_transformations<X, Args...>) {
    refusals::solver_of_eager::report<X, Args...>();
    return refused{};
  } else if constexpr (is_half_expr<value> && graph_expr<value>) {
    value const from = value::front_end::attached(start, args...);
    return detail::implicit_solution<Rules>(f, detail::widened_tree(from), args...);
  } else if constexpr (!is_floating_expr<value>) {
    Rules::start_refusal::template report<X>();
    return refused{};
  } else {
    value from = start;
    if constexpr (in_graph<value>)
      from = value::front_end::attached(from, args...); // a number joins the graph of the arguments
    auto const call = [&f](auto const& x, auto const& all) {
      auto const y = std::apply([&](auto const&... a) { return f(x, a...); }, all);
      if constexpr (graph_expr<value>)
        if (!detail::may_be_like(x, y)) value::front_end::template refuse<typename Rules::value_refusal>(x);
      return y;
    };
    // (its elements are named: a tuple deduced from one tuple is a copy of it)
    using arguments = std::tuple<decltype(detail::as_argument(from, args))...>;
    using found = decltype(call(from, arguments(detail::as_argument(from, args)...)));
    if constexpr (std::is_same_v<found, refused>) return refused{}; // reported where the function was refused
    else if constexpr (!for_transformations<found>) {
      refusals::solver_of_eager::report<found>();
      return refused{};
    } else if constexpr (!in_graph<value> && in_graph<found>) { // a number joins the graph of the captured expressions
      graph_search graph(from);
      graph.template search<std::tuple<value, result_tree<Args>...>>(f);
      using joined = typename found::front_end::template expression<typename value::value_type>;
      joined const first = graph.b == nullptr ? joined() : joined(*graph.b, from.attach(*graph.b));
      return detail::implicit_solution<Rules>(f, first, args...);
    } else if constexpr (!is_like<value, found>) {
      Rules::value_refusal::template report<value, found>();
      return refused{};
    } else if constexpr (sizeof...(Args) == 0) return value(cotangent::stop_gradient(Rules::solution(call, from, arguments())));
    else {
      auto const solve = [&](auto const& all) { return Rules::solution(call, from, all); };
      auto const tangent = [&](auto const& all, auto y, auto const& d) { return Rules::tangent(call, all, y, d); };
      auto const backward = [&](auto const& all, auto y, auto dy) {
        auto const w = Rules::cotangent(call, all, y, dy);
        return cotangent::vjp([&](auto const& a) { return call(y, a); })(all, w).second;
      };
      using solved = custom_function<decltype(solve), decltype(tangent), decltype(backward)>;
      return solved(solve, tangent, backward)(arguments(detail::as_argument(from, args)...));
    }
  }
}

template <solver Options> struct fixed_point_rules {
  using start_refusal = refusals::fixed_point_of_kind;
  using value_refusal = refusals::fixed_point_step;
  static constexpr auto solution(auto const& step, auto const& from, auto const& all) {
    return detail::solution_by<Options>([&](auto x) { return step(x, all); }, from);
  }
  static constexpr auto tangent(auto const& step, auto const& all, auto y, auto const& d) {
    auto const dx = cotangent::jvp([&](auto const& a) { return step(y, a); })(all, d).second;
    return detail::series_of<Options>([&](auto u) { return cotangent::jvp([&](auto x) { return step(x, all); })(y, u).second; }, dx);
  }
  static constexpr auto cotangent(auto const& step, auto const& all, auto y, auto dy) {
    return detail::series_of<Options>([&](auto u) { return ::cotangent::vjp([&](auto x) { return step(x, all); })(y, u).second; }, dy);
  }
};

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// The solution x of x = step(x, args...), by iteration from `start`, for use in traced functions.
///
/// Shapes: step returns an expression like its first argument.
/// Adjoint, tangent: of the solution, by the implicit function theorem, with respect to `args`, which are expressions or trees of
///   floating ones; by an iteration of the same kind, w = dx + J' w, that records nothing of the first one. `start`, and expressions
///   that step captures, are constants to derivatives; without `args` the derivative is 0.
/// Domain: step is a contraction near the solution. Without convergence the last value is returned.
/// Checked: tests/static/fixed_point.cpp, tests/runtime/fixed_point.cpp.
template <solver Options = solver{}, class Step, class X, class... Args>
  requires(sizeof...(Args) > 0)
constexpr auto fixed_point(Step const& step, X const& start, Args const&... args) {
  return detail::implicit_solution<detail::fixed_point_rules<Options>>(step, start, args...);
}
// Default arguments cannot follow a pack: in run-time graphs the first overloads are written out, for the user's source location.
template <solver Options = solver{}, class Step, class X>
constexpr auto fixed_point(Step const& step, X const& start, std::source_location where = std::source_location::current()) {
  if constexpr (detail::in_graph<X>) detail::front_end_of<X>::mark(where, start);
  return detail::implicit_solution<detail::fixed_point_rules<Options>>(step, start);
}
template <solver Options = solver{}, class Step, class X, class First>
  requires detail::in_graph<X, First>
auto fixed_point(Step const& step, X const& start, First const& first,
                 std::source_location where = std::source_location::current()) {
  detail::front_end_of<X, First>::mark(where, start, first);
  return detail::implicit_solution<detail::fixed_point_rules<Options>>(step, start, first);
}
template <solver Options = solver{}, class Step, class X, class First, class Second>
  requires detail::in_graph<X, First, Second>
auto fixed_point(Step const& step, X const& start, First const& first, Second const& second,
                 std::source_location where = std::source_location::current()) {
  detail::front_end_of<X, First, Second>::mark(where, start, first, second);
  return detail::implicit_solution<detail::fixed_point_rules<Options>>(step, start, first, second);
}

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
