// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_FIXED_POINT_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_FIXED_POINT_HPP

#include <cotangent/trace/functions/loops.hpp>
#include <cotangent/trace/transformations/custom.hpp>
#include <cotangent/trace/transformations/vjp.hpp>

#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>

// Solutions of x = step(x, args...), with the derivative of the solution by the implicit function theorem.

namespace cotangent {
inline namespace COTANGENT_ABI {

/// Options of `fixed_point`: `ct::fixed_point<ct::solver{.tolerance = 1e-8}>(step, start, x...)`.
struct solver {
  /// Iteration ends if no element changes by more than this, relative to 1 plus the largest element; at least 4 units in the last
  /// place of the element type.
  double tolerance = 1e-14;
  /// Iteration ends after this number of steps at the latest.
  std::int64_t max_iterations = 1000;
};

} // namespace COTANGENT_ABI

namespace detail {
inline namespace COTANGENT_ABI {

template <class T, solver Options> inline constexpr T least_change = static_cast<T>(
    Options.tolerance > 4 * static_cast<double>(std::numeric_limits<T>::epsilon()) ? Options.tolerance
                                                                                   : 4 * static_cast<double>(std::numeric_limits<T>::epsilon()));

/// Repeats `next` from `start` until the value no longer changes.
template <solver Options, class Next, class T, extent... E>
constexpr expr<T, E...> iterated(Next const& next, expr<T, E...> const& start) {
  auto const moves = [](auto, auto, auto change) { return change > least_change<T, Options>; };
  auto const step = [&](auto, auto x, auto) {
    auto const y = next(x);
    return std::tuple(y, cotangent::max(cotangent::abs(y - x)) / (1 + cotangent::max(cotangent::abs(y))));
  };
  return std::get<0>(cotangent::while_loop<loop{.max_iterations = Options.max_iterations}>(moves, step, start, T(1)));
}

template <class X> inline constexpr bool is_floating_expr = false;
template <class T, extent... E> inline constexpr bool is_floating_expr<expr<T, E...>> = std::is_floating_point_v<T>;

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// The solution x of x = step(x, args...), by iteration from `start`, for use in traced functions.
///
/// Shapes: step returns an expression like its first argument.
/// Adjoint, tangent: of the solution, by the implicit function theorem, with respect to `args`, which are expressions or trees of
///   floating ones; by an iteration of the same kind, w = dx + J' w, that records nothing of the first one. `start`, and expressions
///   that step captures, are constants to derivatives.
/// Domain: step is a contraction near the solution. Without convergence the last value is returned.
/// Checked: tests/static/fixed_point.cpp, tests/runtime/fixed_point.cpp.
template <solver Options = solver{}, class Step, class X, class First, class... Args>
constexpr auto fixed_point(Step const& step, X const& start, First const& first, Args const&... args) {
  if constexpr (!detail::is_floating_expr<detail::result_tree<X>>) {
    refusals::fixed_point_of_kind::report<X>();
    return refused{};
  } else {
    using value = detail::result_tree<X>;
    value const from = start;
    auto const call = [&step](auto const& x, auto const& all) {
      return std::apply([&](auto const&... a) { return step(x, a...); }, all);
    };
    using stepped = decltype(call(from, std::tuple(detail::as_traced(first), detail::as_traced(args)...)));
    if constexpr (std::is_same_v<stepped, refused>) return refused{}; // reported where the step was refused
    else if constexpr (!detail::is_like<value, stepped>) {
      refusals::fixed_point_step::report<value, stepped>();
      return refused{};
    } else {
      auto const solve = [&](auto const& all) {
        return detail::iterated<Options>([&](auto x) { return call(x, all); }, from);
      };
      auto const tangent = [&](auto const& all, auto y, auto const& d) {
        auto const dx = cotangent::jvp([&](auto const& a) { return call(y, a); })(all, d).second;
        return detail::iterated<Options>(
            [&](auto u) { return dx + cotangent::jvp([&](auto x) { return call(x, all); })(y, u).second; }, dx);
      };
      auto const backward = [&](auto const& all, auto y, auto dy) {
        auto const w = detail::iterated<Options>(
            [&](auto u) { return dy + cotangent::vjp([&](auto x) { return call(x, all); })(y, u).second; }, dy);
        return cotangent::vjp([&](auto const& a) { return call(y, a); })(all, w).second;
      };
      using solved = detail::custom_function<decltype(solve), decltype(tangent), decltype(backward)>;
      return solved(solve, tangent, backward)(std::tuple(detail::as_traced(first), detail::as_traced(args)...));
    }
  }
}

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
