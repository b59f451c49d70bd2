// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_FUNCTIONS_FUNCTION_HPP
#define COTANGENT_TRACE_FUNCTIONS_FUNCTION_HPP

#include <cotangent/graph/builder_scope.hpp>
#include <cotangent/trace/functions/graph_calls.hpp>

#include <cstddef>
#include <source_location>
#include <type_traits>
#include <utility>

// Transformations: functions that return functions. Called with tensors the results run; called with
// expressions they are traced into the graph of these. They compose, and can be used inside traced functions.

namespace cotangent {
inline namespace COTANGENT_ABI {
template <class F, class... Args> struct program;
} // namespace COTANGENT_ABI

namespace detail {
inline namespace COTANGENT_ABI {

// In trace/program/program.hpp and trace/program/stages.hpp.
template <class F, class... Args> struct stages;
template <class Failure, unsigned Line> constexpr void line_of_your_source();

/// An argument of a traced call: expressions unchanged, literals as expressions.
template <class A> constexpr auto as_traced(A const& a) {
  if constexpr (element_type<A>) return expr<arithmetic_type<A>>(static_cast<arithmetic_type<A>>(a));
  else return a;
}
template <class A> using traced_argument = decltype(as_traced(std::declval<A const&>()));
template <class A> inline constexpr bool is_traceable = holds_expressions<A> || element_type<A>;

// Without exceptions there is no checked call at run time; in a constant evaluation every failure is a
// compile error.
#if COTANGENT_EXCEPTIONS
#  define COTANGENT_CHECKED_CALL constexpr
#else
#  define COTANGENT_CHECKED_CALL consteval
#endif

/// The call operators of a transformation `Self`, which defines `function`, the user's function, and
/// `trace<Result>(expressions...)`. `refuses<Result, Args...>()` tells whether it cannot transform;
/// `report<Result, Args...>()` says why. It then returns `refused_result<Result, Args...>`, or inside a
/// traced function `refused_expressions<Result>`, with as many parts as a result; `Result` is `refused` if it
/// is unknown. (All tests are here, close to the user's call, so that errors are short.) If `function` is
/// `Self`, the whole transformation is traced, and `trace(expressions...)` makes the tests.
template <class Self> class transformation : public calls_in_graph<Self> {
  // Runs, given the `Result` of the user's function.
  template <class Result, class... Args> static COTANGENT_CHECKED_CALL auto run(Args const&... args) {
    constexpr unfit why = unfit_result<typename Self::function, Result, sizeof...(Args)>();
    if constexpr (why != unfit::nothing) {
      detail::report_unfit<why, typename Self::function, Args...>();
      return typename Self::template refused_result<Result, Args...>();
    } else if constexpr (Self::template refuses<Result, Args...>()) {
      Self::template report<Result, Args...>();
      return typename Self::template refused_result<Result, Args...>();
    } else if constexpr (stages<Self, Args...>::failed) {
      using found = typename stages<Self, Args...>::found;
      detail::line_of_your_source<found, found::value.where.line()>();
      return typename Self::template refused_result<Result, Args...>();
    } else return program<Self, Args...>::call(args...);
  }
  template <std::size_t... I, class... Args>
  static COTANGENT_CHECKED_CALL auto run_numbered(std::index_sequence<I...>, Args const&... args) {
    using result = decltype(std::declval<callable<typename Self::function> const&>()(
        std::declval<expr_tree<Args, first_leaf<I, Args...>> const&>()...));
    return run<result>(args...);
  }

public:
  using calls_in_graph<Self>::operator();
  /// True if arguments are expressions of a run-time graph, and the transformation applies to functions of
  /// them.
  template <class... Args> static constexpr bool is_open = false;

  template <class... Args>
    requires(!(detail::holds_expressions<Args> || ...))
  COTANGENT_CHECKED_CALL auto operator()(Args const&... args) const {
    using F = typename Self::function;
    if constexpr (Self::template is_open<Args...>) return static_cast<Self const&>(*this).call_open(args...);
    else if constexpr (constexpr unfit arguments = unfit_arguments<F, Args...>(); arguments != unfit::nothing) {
      detail::report_unfit<arguments, F, Args...>();
      return typename Self::template refused_result<refused, Args...>();
    } else if constexpr ((has_anonymous<Args> || ...))
      return run_numbered(std::index_sequence_for<Args...>{}, args...);
    else {
      // Instantiates the body of the user's function close to the call, so that its errors are short.
      using result =
          decltype(std::declval<callable_with<F, Args...> const&>()(std::declval<expr_tree<Args, 0> const&>()...));
      return run<result>(args...);
    }
  }
  template <class... Args>
    requires((detail::holds_expressions<Args> || ...) && !in_graph<Args...>)
  constexpr auto operator()(Args const&... args) const {
    using F = typename Self::function;
    if constexpr (!(is_traceable<Args> && ...)) {
      static_assert(refusals::tensor_meets_expression::report<Args...>());
      return typename Self::template refused_expressions<refused>();
    } else if constexpr (std::is_same_v<F, Self>)
      return static_cast<Self const&>(*this).trace(as_traced(args)...);
    else if constexpr (constexpr unfit of_arguments = unfit_arguments<F, traced_argument<Args>...>();
                       of_arguments != unfit::nothing) {
      detail::report_unfit<of_arguments, F, Args...>();
      return typename Self::template refused_expressions<refused>();
    } else {
      using result =
          decltype(std::declval<callable<F> const&>()(std::declval<traced_argument<Args> const&>()...));
      constexpr unfit of_result = unfit_result<F, result, sizeof...(Args)>();
      if constexpr (of_result != unfit::nothing) {
        detail::report_unfit<of_result, F, Args...>();
        return typename Self::template refused_expressions<result>();
      } else if constexpr (Self::template refuses<result, traced_argument<Args>...>()) {
        Self::template report<result, traced_argument<Args>...>();
        return typename Self::template refused_expressions<result>();
      } else return static_cast<Self const&>(*this).template trace<result>(as_traced(args)...);
    }
  }
  template <class... Args> auto call_at(std::source_location where, Args const&... args) const {
    if constexpr (Self::template is_open<Args...>) {
      front_end_of<Args...>::mark(where, args...);
      return static_cast<Self const&>(*this).call_open(args...);
    } else
      return front_end_of<Args...>::transformed(
          where, [&](auto const&... x) { return this->in_run_time_graph(x...); }, args...);
  }

private:
  template <class... X> auto in_run_time_graph(X const&... x) const {
    using F = typename Self::function;
    if constexpr (std::is_same_v<F, Self>) return static_cast<Self const&>(*this).trace(x...);
    else if constexpr (!is_function<F>) return detail::report_unfit<unfit::no_function, F, X...>(), refused{};
    else {
      using result = result_of_call<F, X...>;
      constexpr unfit why = unfit_result<F, result, sizeof...(X)>();
      if constexpr (why != unfit::nothing) return detail::report_unfit<why, F, X...>(), refused{};
      else if constexpr (Self::template refuses<result, X...>())
        return (void)Self::template report<result, X...>(), refused{};
      else return static_cast<Self const&>(*this).template trace<result>(x...);
    }
  }
};

/// The base of transformations with the same arguments, results and refusals as their function.
template <class Self, class F> struct like_function : transformation<Self> {
  using function = F;
  [[no_unique_address]] F f;

  constexpr like_function() : f(remade<F>()) {}
  constexpr explicit like_function(F const& g) : f(g) {}

  template <class Result, class... X> constexpr Result trace(X const&... x) const {
    return detail::called(f, x...);
  }
  template <class Result, class... Args> static consteval bool refuses() { return false; }
  template <class Result, class... Args> static constexpr void report() {}
  template <class Result, class...> using refused_result = refused_tree<Result, tensor>;
  template <class Result> using refused_expressions = refused_tree<Result, expr>;
};

template <class F> struct compiled_function : like_function<compiled_function<F>, F> {
  using like_function<compiled_function, F>::like_function;
};

/// The function without rewrites of its graph; inside a traced function, of its nodes.
template <class F> struct exact_function : like_function<exact_function<F>, F> {
  using like_function<exact_function, F>::like_function;

  template <class Result, class... X> constexpr Result trace(X const&... x) const {
    found_builder found;
    (visit_leaves(x, found), ...);
    if (found.b == nullptr) return this->f(x...);
    builder_scope const outer(*found.b);
    found.b->flags.exact = true;
    return this->f(x...);
  }
};

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// Compiles a function: called with tensors, arrays, vectors, numbers, or trees of them it runs as a static
/// program.
///
/// Refuses: captures that are used; arguments that are not such trees; everything that the operations inside
/// refuse.
/// Throws: `shape_error` if one named extent is bound to two sizes.
template <class F> constexpr auto compiled(F f) { return detail::compiled_function<F>(f); }

/// Like `compiled`, but `simplify` changes no rounding: only rewrites that keep every bit apply. Inside
/// another traced function this holds for its nodes and for their adjoints.
template <class F> constexpr auto exact(F f) { return detail::exact_function<F>(f); }

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
