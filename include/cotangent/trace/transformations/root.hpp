// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_ROOT_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_ROOT_HPP

#include <cotangent/trace/expressions/movement.hpp>
#include <cotangent/trace/transformations/fixed_point.hpp>
#include <cotangent/trace/transformations/jacobian.hpp>

#include <source_location>

// Solutions of residual(x, args...) = 0 by Newton's method, with the derivative by the implicit function theorem.

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

/// True if systems of the Jacobian can be solved: ct::solve is found by its arguments, if its header is included.
template <class X> inline constexpr bool has_solver = true;
template <class T, extent N> inline constexpr bool has_solver<expr<T, N>> =
    requires(expr<T, N, N> j, expr<T, N> v) { solve(j, v); };
template <graph_expr X> inline constexpr bool has_solver<X> = requires(X j, X v) { solve(j, v); };

/// The solution of J u = v or J' u = v, where J is the Jacobian of the residual with respect to x: a division for a number, and
/// ct::solve of linalg.hpp for a vector.
template <bool Transposed> constexpr auto solved_by_jacobian(auto const& residual, auto const& all, auto x, auto v) {
  using X = decltype(x);
  auto const f = [&](auto z) { return residual(z, all); };
  auto const of_number = [&] { return v / cotangent::jvp(f)(x, 0 * x + 1).second; };
  auto const of_vector = [&](auto const& jacobian) {
    if constexpr (Transposed) return solve(cotangent::transpose(jacobian), v);
    else return solve(jacobian, v);
  };
  if constexpr (graph_expr<X>) { // the rank is known when the graph is built
    if (x.rank() == 0) return X(of_number());
    if constexpr (has_solver<X>) return X(of_vector(cotangent::jacobian(f)(x)));
    else return X::front_end::template refuse<refusals::header_of_linalg>(x);
  } else if constexpr (X::rank() == 0) return of_number();
  else return of_vector(cotangent::jacobian(f)(x));
}
template <class X> inline constexpr int axes_of_start = 0;
template <class T, extent... E> inline constexpr int axes_of_start<expr<T, E...>> = sizeof...(E);

template <solver Options> struct root_rules {
  using start_refusal = refusals::root_of_kind;
  using value_refusal = refusals::root_residual;
  static constexpr auto solution(auto const& residual, auto const& from, auto const& all) {
    return detail::solution_by<Options>([&](auto x) { return x - solved_by_jacobian<false>(residual, all, x, residual(x, all)); }, from);
  }
  static constexpr auto tangent(auto const& residual, auto const& all, auto y, auto const& d) {
    auto const moved = cotangent::jvp([&](auto const& a) { return residual(y, a); })(all, d).second;
    return -solved_by_jacobian<false>(residual, all, y, moved);
  }
  static constexpr auto cotangent(auto const& residual, auto const& all, auto y, auto dy) {
    return -solved_by_jacobian<true>(residual, all, y, dy);
  }
};

template <solver Options, class Residual, class X, class... Args>
constexpr auto root_of(Residual const& residual, X const& start, Args const&... args) {
  using value = result_tree<result_among<X, X, Args...>>;
  if constexpr (axes_of_start<value> > 1) {
    refusals::root_rank::report<value>();
    return refused{};
  } else if constexpr (graph_expr<value>) {
    value const from = start;
    if (from.rank() > 1)
      return decltype(detail::implicit_solution<root_rules<Options>>(residual, from, args...))(
          value::front_end::template refuse<refusals::root_rank>(from));
    return detail::implicit_solution<root_rules<Options>>(residual, from, args...);
  } else if constexpr (!has_solver<value>) {
    refusals::header_of_linalg::report<value>();
    return refused{};
  } else return detail::implicit_solution<root_rules<Options>>(residual, start, args...);
}

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// The solution x of residual(x, args...) = 0 near `start`, by Newton's method, for use in traced functions.
///
/// Shapes: x is a number or a vector; the residual has the shape of x. Vectors need `<cotangent/linalg.hpp>`.
/// Adjoint, tangent: of the solution, by the implicit function theorem, with respect to `args`, which are expressions or trees of
///   floating ones: one linear system, and nothing of the iterations. `start`, and expressions that the residual captures, are
///   constants to derivatives; without `args` the derivative is 0.
/// Domain: the Jacobian is regular along the iterations. Without convergence the last value is returned: check the residual.
/// Checked: tests/static/root.cpp.
template <solver Options = solver{}, class Residual, class X, class... Args>
  requires(sizeof...(Args) > 0)
constexpr auto root(Residual const& residual, X const& start, Args const&... args) {
  return detail::root_of<Options>(residual, start, args...);
}
// Default arguments cannot follow a pack: in run-time graphs the first overloads are written out, for the user's source location.
template <solver Options = solver{}, class Residual, class X>
constexpr auto root(Residual const& residual, X const& start, std::source_location where = std::source_location::current()) {
  if constexpr (detail::in_graph<X>) detail::front_end_of<X>::mark(where, start);
  return detail::root_of<Options>(residual, start);
}
template <solver Options = solver{}, class Residual, class X, class First>
  requires detail::in_graph<X, First>
auto root(Residual const& residual, X const& start, First const& first,
          std::source_location where = std::source_location::current()) {
  detail::front_end_of<X, First>::mark(where, start, first);
  return detail::root_of<Options>(residual, start, first);
}
template <solver Options = solver{}, class Residual, class X, class First, class Second>
  requires detail::in_graph<X, First, Second>
auto root(Residual const& residual, X const& start, First const& first, Second const& second,
          std::source_location where = std::source_location::current()) {
  detail::front_end_of<X, First, Second>::mark(where, start, first, second);
  return detail::root_of<Options>(residual, start, first, second);
}

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
