// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_FUNCTIONS_NUMERIC_HPP
#define COTANGENT_OPS_FUNCTIONS_NUMERIC_HPP

#include <cotangent/ops/along.hpp>
#include <cotangent/ops/functions/composed.hpp>
#include <cotangent/ops/functions/scattering.hpp>
#include <cotangent/ops/matmul.hpp>

#include <cstdint>
#include <source_location>
#include <type_traits>

// Functions of numerical programs, as formulas over other operations: differences and integrals of samples, covariances, spaced
// numbers, units of angles. (Not part of cotangent.hpp.)

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(samples_needed, at_least, axes_needed, axes_of_operand, "cotangent: diff, trapezoid, kron: the operands must have an axis, and equal numbers of axes")
COTANGENT_REFUSAL(trapezoid_positions, equal, samples, positions, "cotangent: trapezoid: there must be a position for each sample along the last axis")
COTANGENT_REFUSAL(average_weights, at_most, axes_of_weights, axes_of_operand, "cotangent: average: the weights must broadcast to the shape of the operand, or be a vector along its axis")
COTANGENT_REFUSAL(covariance_rank, equal, axes_needed, axes_of_operand, "cotangent: cov, corrcoef: the operand must be a matrix whose rows are variables; cov also takes a vector")
// clang-format on
} // namespace refusals

namespace detail {

struct degrees_fn {
  static constexpr char const* name = "degrees";
  using emits = operations<>;
  constexpr term operator()(auto x) const { return 57.295779513082320876798154814105 * x; }
};
struct radians_fn {
  static constexpr char const* name = "radians";
  using emits = operations<>;
  constexpr term operator()(auto x) const { return 0.017453292519943295769236907684886 * x; }
};
template <class Op> struct mod_fn {
  static constexpr char const* name = "mod";
  using emits = operations<Op>;
  constexpr term operator()(auto x, auto y) const {
    auto const rest = extend::apply<Op>(x, y);
    return extend::select((rest < 0 && y > 0) || (rest > 0 && y < 0), rest + y, rest);
  }
};
struct nan_to_num_fn {
  static constexpr char const* name = "nan_to_num";
  using emits = operations<>;
  constexpr term operator()(auto x) const {
    auto const top = largest_of(x), zero = extend::constant_like(x, 0);
    auto const bounded = extend::select(x > top, top, extend::select(x < -top, -top, x));
    return extend::select(x != x, zero, bounded);
  }
};
struct geomspace_kind {
  static constexpr char const* name = "geomspace";
  using emits = operations<op::pow>;
  static constexpr term of(number_list const& count, auto first, auto last) { // (quotients of negative numbers are positive, too)
    term const exponents = linspace_kind::of(count, extend::constant_like(first, 0), term(extend::apply<op::log>(last / first)));
    return first * extend::apply<op::exp>(exponents);
  }
};
struct logspace_kind {
  static constexpr char const* name = "logspace";
  using emits = operations<op::pow>;
  static constexpr term of(number_list const& count, auto first, auto last) {
    term const exponents = linspace_kind::of(count, first, last);
    return extend::apply<op::pow>(extend::constant_like(exponents, 10), exponents);
  }
};
/// Of two literals: powers have no value before there is a graph.
template <class Kind, extent Count, class A, class B> constexpr auto spaced(std::source_location where, A const& first, B const& last) {
  using T = std::conditional_t<std::is_same_v<A, float> && std::is_same_v<B, float>, float, double>;
  if constexpr (literal<A> && literal<B>) return detail::lift(where, with_extent<Kind, Count>{}, expr<T>(first), last);
  else return detail::lift(where, with_extent<Kind, Count>{}, first, last);
}

/// All positions of an axis but the first, and all but the last.
struct neighbors {
  term behind, before;
  constexpr neighbors(auto x, int axis) : behind(x), before(x) {
    builder& b = *x.b;
    dimension const n = x.dims().size[axis];
    dimension const count = n > 0 ? n - 1 : n == 0 ? 0 : b.size(b.extent_of(n) - extent::of(1));
    behind = extend::slice(x, axis, n == 0 ? 0 : 1, count), before = extend::slice(x, axis, 0, count);
  }
};
template <int Axis> struct diff_fn {
  static constexpr char const* name = "diff";
  using emits = operations<>;
  constexpr term operator()(auto x) const {
    if (x.rank() == 0) return x.b->template refuse<refusals::samples_needed>(1, 0, x.b->place), x;
    int const axis = axis_of(x, Axis);
    if (x.b->failed().why != nullptr) return x;
    neighbors const two(x, axis);
    return two.behind - two.before;
  }
};
struct trapezoid_fn {
  static constexpr char const* name = "trapezoid";
  using emits = operations<>;
  /// Samples at distances of 1, or at positions x along the last axis.
  constexpr term operator()(auto y, auto... x) const {
    if (y.rank() == 0) return y.b->template refuse<refusals::samples_needed>(1, 0, y.b->place), y;
    int const last = y.rank() - 1;
    for (term const position : {term(x)..., term(y)})
      if (dimension const n = y.dims().size[last], given = position.rank() == 0 ? 1 : position.dims().size[position.rank() - 1]; n != given)
        return y.b->template refuse<refusals::trapezoid_positions>(n, given, y.b->place), y;
    neighbors const two(y, last);
    term area = 0.5 * (two.behind + two.before);
    ((area = area * diff_fn<-1>{}(x)), ...);
    return area.b->failed().why != nullptr ? y : extend::sum(area, 1u << (area.rank() - 1));
  }
};
/// The deviations from the mean along the last axis.
constexpr term centered(auto x) { return x - extend::mean(x, 1u << (x.rank() - 1), true); }
struct cov_fn {
  static constexpr char const* name = "cov";
  using emits = operations<>;
  constexpr term operator()(auto x) const {
    builder& b = *x.b;
    if (x.rank() != 1 && x.rank() != 2) return b.template refuse<refusals::covariance_rank>(2, x.rank(), b.place), x;
    term const count = extend::count_of(x, 1u << (x.rank() - 1), b.shape(dimensions{}));
    term const apart = centered(x), number = extend::apply<op::max>(count, extend::constant_like(count, 1)) - 1;
    return (x.rank() == 1 ? extend::sum(apart * apart, 1u) : extend::matmul(apart, extend::transpose(apart))) / number;
  }
};
struct corrcoef_fn {
  static constexpr char const* name = "corrcoef";
  using emits = operations<>;
  constexpr term operator()(auto x) const {
    if (x.rank() != 2) return x.b->template refuse<refusals::covariance_rank>(2, x.rank(), x.b->place), x;
    term const apart = centered(x);
    term const rows = apart * extend::apply<op::reciprocal>(extend::apply<op::sqrt>(extend::sum(apart * apart, 2u, true)));
    term const count = extend::count_of(x, 2u, x.b->shape(dimensions{}));
    term const defined = extend::apply<op::min>(count, extend::constant_like(count, 1)); // 0 of no observations, for 0 / 0
    return extend::matmul(rows, extend::transpose(rows)) / defined;
  }
};
struct kron_fn {
  static constexpr char const* name = "kron";
  using emits = operations<>;
  constexpr term operator()(auto a, auto b) const {
    builder& g = *a.b;
    int const rank = a.rank();
    if (rank == 0 || b.rank() != rank) return g.template refuse<refusals::samples_needed>(rank, b.rank(), g.place), a;
    if (2 * rank > max_rank) return g.template refuse<refusals::rank_too_large>(2 * rank, max_rank, g.place), a;
    dimensions of_a, of_b, all;
    of_a.rank = of_b.rank = 2 * rank, all.rank = rank;
    for (int k = 0; k < rank; ++k) {
      of_a.size[2 * k] = a.dims().size[k], of_b.size[2 * k + 1] = b.dims().size[k];
      of_a.size[2 * k + 1] = of_b.size[2 * k] = 1;
      all.size[k] = g.product(a.dims().size[k], b.dims().size[k]);
    }
    return op::reshape::of(op::reshape::of(a, g.shape(of_a)) * op::reshape::of(b, g.shape(of_b)), g.shape(all));
  }
};
template <bool All, int Axis> struct average_fn {
  static constexpr char const* name = "average";
  using emits = operations<>;
  constexpr term operator()(auto x, auto weights) const {
    builder& b = *x.b;
    int const axis = All ? 0 : axis_of(x, Axis);
    if (b.failed().why != nullptr) return x;
    std::uint32_t const mask = All ? (1u << x.rank()) - 1 : 1u << axis;
    term given = weights;
    if (!All && given.rank() == 1 && given.dims().size[0] == x.dims().size[axis]) { // along the axis
      dimensions along = x.dims();
      for (int k = 0; k < along.rank; ++k) along.size[k] = k == axis ? along.size[k] : 1;
      given = op::reshape::of(given, b.shape(along));
    }
    if (extend::broadcast_shape(b, x.shape_id(), given.shape_id()) != x.shape_id()) {
      if (b.failed().why == nullptr) b.template refuse<refusals::average_weights>(weights.rank(), x.rank(), b.place);
      return x;
    }
    term const w = extend::broadcast_to(given, x.shape_id());
    return extend::sum(x * w, mask) / extend::sum(w, mask);
  }
};

} // namespace detail

/// Radians in degrees.
template <detail::operand X> constexpr auto degrees(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::degrees_fn{}, x);
}
/// Degrees in radians.
template <detail::operand X> constexpr auto radians(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::radians_fn{}, x);
}
/// The remainder of x / y with the sign of y, as Python's %; with the limits of fmod. Integers, too. Adjoints: dy, -dy floor(x / y).
template <detail::operand X, detail::operand Y>
constexpr auto mod(X const& x, Y const& y, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::mod_fn<detail::remainder_of<X, Y>>{}, x, y);
}
/// x; but 0 for NaN, and the largest finite numbers for infinities. Adjoint: 0 there.
template <detail::operand X> constexpr auto nan_to_num(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::nan_to_num_fn{}, x);
}
/// Count numbers from first to last with equal quotients. Both are positive, or both negative. One of them is an expression, as 0 * x + 1.
template <extent Count, detail::operand A, detail::operand B>
constexpr auto geomspace(A const& first, B const& last, std::source_location where = std::source_location::current()) {
  return detail::spaced<detail::geomspace_kind, Count>(where, first, last);
}
/// Count powers of 10, whose exponents are equally spaced from first to last. One of these is an expression, as 0 * x + 1.
template <extent Count, detail::operand A, detail::operand B>
constexpr auto logspace(A const& first, B const& last, std::source_location where = std::source_location::current()) {
  return detail::spaced<detail::logspace_kind, Count>(where, first, last);
}
/// The differences of neighbors along the last axis, or another one. Of no elements: none; but along an extent n,
/// whose differences have the extent n-1, a call with n = 0 throws `shape_error`.
template <int Axis = -1, detail::operand X>
constexpr auto diff(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::diff_fn<Axis>{}, x);
}
/// The integral of samples along the last axis, by the trapezoidal rule, at distances of 1.
template <detail::operand Y> constexpr auto trapezoid(Y const& y, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::trapezoid_fn{}, y);
}
/// The integral of samples y at positions x, which broadcast, along the last axis.
template <detail::operand Y, detail::operand X>
constexpr auto trapezoid(Y const& y, X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::trapezoid_fn{}, y, x);
}
/// The covariance matrix of variables, the rows, with the divisor n - 1; of a vector, its variance.
template <detail::operand X> constexpr auto cov(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::cov_fn{}, x);
}
/// The correlation matrix of variables, the rows. Edges: NaN for a constant row.
template <detail::operand X> constexpr auto corrcoef(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::corrcoef_fn{}, x);
}
/// The Kronecker product of operands of equal rank.
template <detail::operand A, detail::operand B>
constexpr auto kron(A const& a, B const& b, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::kron_fn{}, a, b);
}
/// The weighted mean over all axes, or along one: `average(x, w)`, `average<0>(x, w)`; the weights broadcast to x, or are a vector
/// along that axis.
template <detail::operand X, detail::operand W>
constexpr auto average(X const& x, W const& weights, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::average_fn<true, 0>{}, x, weights);
}
template <int Axis, detail::operand X, detail::operand W>
constexpr auto average(X const& x, W const& weights, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::average_fn<false, Axis>{}, x, weights);
}

} // namespace cotangent

#endif
