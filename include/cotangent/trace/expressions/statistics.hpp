// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_STATISTICS_HPP
#define COTANGENT_TRACE_EXPRESSIONS_STATISTICS_HPP

#include <cotangent/ops/functions/sorting.hpp>
#include <cotangent/ops/movement.hpp>
#include <cotangent/ops/scan.hpp>
#include <cotangent/trace/expressions/indexing.hpp>
#include <cotangent/trace/expressions/reductions.hpp>

#include <cstdint>
#include <limits>
#include <source_location>

// Reductions that are formulas over others: products, norms, variances, tests of bools. (The formulas are templates, so that a
// file pays for those that it calls.)

namespace cotangent {

namespace refusals {
COTANGENT_REFUSAL(quantile_rank, equal, zero_axes, axes_of_q, "cotangent: quantile: q must be one number")
COTANGENT_REFUSAL(norm_order, at_least, number_given, one, "cotangent: norm: the order must be at least 1")
} // namespace refusals

/// The largest absolute value, as the order of `norm`.
inline constexpr int max_norm = std::numeric_limits<int>::max();

namespace detail {

/// The axes of a mask as one axis, the last.
constexpr term lined_up(auto x, std::uint32_t mask) {
  std::int64_t order[max_rank]{};
  int count = 0, merged = 0;
  for (int k = 0; k < x.rank(); ++k)
    if ((mask >> k & 1u) == 0) order[count++] = k;
  for (int k = 0; k < x.rank(); ++k)
    if ((mask >> k & 1u) != 0) order[count++] = k, ++merged;
  bool moves = false;
  for (int k = 0; k < count; ++k) moves = moves || order[k] != k;
  term y = moves ? op::permute::of(x, order) : x;
  for (; merged > 1; --merged) y = extend::merge_axes(y, y.rank() - 2);
  return y;
}
/// The root, a constant at 0: all derivatives are 0 there.
constexpr term root_from_zero(auto x) {
  auto const zero = x == 0;
  return extend::select(zero, extend::constant_like(x, 0), extend::apply<op::sqrt>(extend::select(zero, extend::constant_like(x, 1), x)));
}

struct prod_fn {
  static constexpr char const* name = "prod";
  using emits = operations<>;
  static constexpr term of(auto x, std::uint32_t mask, bool keep) {
    if (mask == 0) return x;
    // The last of the running products, whose derivative is right at zeros, too; of no elements 1.
    auto const line = detail::lined_up(x, mask);
    int const axis = line.rank() - 1;
    auto const one = extend::constant(*x.b, x.type(), extend::kept_shape(line, 1u << axis), 1);
    auto const all = detail::joined_along(axis, line, one);
    auto const y = extend::at(op::cumprod::of(all, axis, 1), axis, 0);
    return keep ? op::reshape::of(y, extend::kept_shape(x, mask)) : y;
  }
};
struct any_fn {
  static constexpr char const* name = "any";
  using emits = operations<>;
  static constexpr element gives = element::boolean;
  static constexpr term of(auto x, std::uint32_t mask, bool keep) {
    if (x.type() != element::boolean) return x.b->template refuse<refusals::element_not_boolean>(0, 0, x.b->place), x;
    return extend::max(extend::convert(x, element::int32), mask, keep) > 0;
  }
};
struct all_fn {
  static constexpr char const* name = "all";
  using emits = operations<>;
  static constexpr element gives = element::boolean;
  static constexpr term of(auto x, std::uint32_t mask, bool keep) {
    if (x.type() != element::boolean) return x.b->template refuse<refusals::element_not_boolean>(0, 0, x.b->place), x;
    return extend::min(extend::convert(x, element::int32), mask, keep) > 0;
  }
};
struct count_fn {
  static constexpr char const* name = "count";
  using emits = operations<>;
  static constexpr element gives = element::int64;
  static constexpr term of(auto x, std::uint32_t mask, bool keep) {
    if (x.type() != element::boolean) return x.b->template refuse<refusals::element_not_boolean>(0, 0, x.b->place), x;
    return extend::sum(extend::convert(x, element::int64), mask, keep);
  }
};
struct var_fn {
  static constexpr char const* name = "var";
  using emits = operations<>;
  static constexpr term of(auto x, std::uint32_t mask, bool keep) {
    auto const apart = x - extend::mean(x, mask, true);
    return extend::mean(apart * apart, mask, keep);
  }
};
struct std_fn {
  static constexpr char const* name = "std";
  using emits = operations<>;
  static constexpr term of(auto x, std::uint32_t mask, bool keep) {
    return detail::root_from_zero(var_fn::of(x, mask, keep));
  }
};
/// The quantile q, a number in [0, 1], between its neighbors by their distance.
constexpr term quantile_of(auto x, auto q, std::uint32_t mask, bool keep) {
  builder& b = *x.b;
  if (mask == 0) return x;
  if (!is_floating(x.type())) return b.template refuse<refusals::element_not_floating>(0, 0, b.place), x;
  if (q.rank() != 0) return b.template refuse<refusals::quantile_rank>(0, q.rank(), b.place), x;
  std::int32_t const scalar = b.shape(dimensions{});
  auto const line = lined_up(x, mask);
  int const last = line.rank() - 1;
  auto const sorted = extend::move_axis(sort_fn::of(line, last), last, 0);
  auto const number = extend::count_of(extend::convert(x, element::float64), mask, scalar);
  auto const wide = extend::convert(q, element::float64), outside = extend::constant_like(wide, -1);
  auto const place = extend::select(wide >= 0, extend::select(wide > 1, outside, wide * (number - 1)), outside); // a NaN is outside, too
  auto const below = extend::apply<op::floor>(place);
  auto const above = extend::apply<op::min>(below + 1, number - 1);
  auto const at = [&](auto i) { return extend::gather(sorted, extend::convert(i, element::int64)); };
  auto const low = at(below), high = at(above), rest = extend::convert(place - below, x.type());
  auto const between = extend::select(rest == 0, low, (1 - rest) * low + rest * high), greatest = at(number - 1);
  auto const y = extend::select(greatest != greatest, greatest, between); // NaN is last
  return keep ? op::reshape::of(y, extend::kept_shape(x, mask)) : y;
}
struct median_fn {
  static constexpr char const* name = "median";
  using emits = operations<>;
  static constexpr term of(auto x, std::uint32_t mask, bool keep) {
    return quantile_of(x, extend::constant(*x.b, element::float64, x.b->shape(dimensions{}), 0.5), mask, keep);
  }
};
struct quantile_fn {
  static constexpr char const* name = "quantile";
  using emits = operations<>;
  constexpr term operator()(auto x, auto q) const { return quantile_of(x, q, (1u << x.rank()) - 1, false); }
};
template <bool Keep> struct quantile_along {
  static constexpr char const* name = "quantile";
  using emits = operations<>;
  static constexpr term of(number_list const& axes, auto x, auto q) {
    std::uint32_t const mask = mask_of(x, axes);
    return x.b->failed().why != nullptr ? x : quantile_of(x, q, mask, Keep);
  }
};
struct argmin_fn {
  static constexpr char const* name = "argmin";
  using emits = operations<>;
  static constexpr element gives = element::int64;
  static constexpr term of(auto x, int axis) { return extend::argmax(order_reversed(x), axis); }
};
template <int P> struct norm_fn {
  static constexpr char const* name = "norm";
  using emits = operations<op::pow>;
  static constexpr term of(auto x, std::uint32_t mask, bool keep) {
    auto const size = extend::apply<op::abs>(x);
    if constexpr (P < 1) return x.b->fail({why<refusals::norm_order>(), extent::of(P), extent::of(1), none, x.b->place}), size;
    else if constexpr (P == 1) return extend::sum(size, mask, keep);
    else if constexpr (P == 2) return root_from_zero(extend::sum(x * x, mask, keep));
    else if constexpr (P == max_norm) {
      auto const largest = extend::max(size, mask, keep);
      for (int k = 0; k < x.rank(); ++k) // of nothing it is 0
        if ((mask >> k & 1u) != 0 && x.dims().size[k] <= 0) return extend::select(largest < 0, extend::constant_like(largest, 0), largest);
      return largest;
    }
    else {
      auto const sum = extend::sum(extend::apply<op::pow>(size, extend::constant_like(size, P)), mask, keep);
      auto const zero = sum == 0;
      auto const safe = extend::select(zero, extend::constant_like(sum, 1), sum);
      return extend::select(zero, sum, extend::apply<op::pow>(safe, extend::constant_like(sum, 1. / P)));
    }
  }
};

} // namespace detail

// Over all axes, or over some: `prod(x)`, `prod(x, ct::axes<0, 2>)`, `prod(x, ct::axes<1>, ct::keep)`.

/// The product. Adjoint: dy times the product of the others, also at zeros. Of no elements: 1. Elements: any numbers.
template <detail::operand X>
constexpr auto prod(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_all<detail::prod_fn>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto prod(X const& x, axes_t<Axis...>, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::prod_fn, false, Axis...>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto prod(X const& x, axes_t<Axis...>, keep_t, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::prod_fn, true, Axis...>{}, x);
}
/// True if an element of x, a tensor of bools, is. Of no elements: false.
template <detail::operand X>
constexpr auto any(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_all<detail::any_fn>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto any(X const& x, axes_t<Axis...>, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::any_fn, false, Axis...>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto any(X const& x, axes_t<Axis...>, keep_t, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::any_fn, true, Axis...>{}, x);
}
template <detail::operand X>
constexpr auto all_t::operator()(X const& x, std::source_location where) const {
  return detail::lift(where, detail::along_all<detail::all_fn>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto all_t::operator()(X const& x, axes_t<Axis...>, std::source_location where) const {
  return detail::lift(where, detail::along_axes<detail::all_fn, false, Axis...>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto all_t::operator()(X const& x, axes_t<Axis...>, keep_t, std::source_location where) const {
  return detail::lift(where, detail::along_axes<detail::all_fn, true, Axis...>{}, x);
}
/// The number (int64) of true elements of x, a tensor of bools.
template <detail::operand X>
constexpr auto count(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_all<detail::count_fn>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto count(X const& x, axes_t<Axis...>, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::count_fn, false, Axis...>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto count(X const& x, axes_t<Axis...>, keep_t, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::count_fn, true, Axis...>{}, x);
}
/// The variance, the mean of the squared distances to the mean.
template <detail::operand X>
constexpr auto var(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_all<detail::var_fn>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto var(X const& x, axes_t<Axis...>, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::var_fn, false, Axis...>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto var(X const& x, axes_t<Axis...>, keep_t, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::var_fn, true, Axis...>{}, x);
}
/// The standard deviation, the root of var. Edges: the adjoint is 0 where it is 0.
template <detail::operand X>
constexpr auto std(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_all<detail::std_fn>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto std(X const& x, axes_t<Axis...>, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::std_fn, false, Axis...>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto std(X const& x, axes_t<Axis...>, keep_t, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::std_fn, true, Axis...>{}, x);
}
/// The number between the lower and the upper half, the mean of two for an even number. NaN if an element is NaN.
template <detail::operand X>
constexpr auto median(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_all<detail::median_fn>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto median(X const& x, axes_t<Axis...>, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::median_fn, false, Axis...>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto median(X const& x, axes_t<Axis...>, keep_t, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::median_fn, true, Axis...>{}, x);
}
/// The quantile q in [0, 1], interpolated between two elements: `quantile(x, 0.9)`, `quantile(x, 0.9, ct::axes<0>)`. q may be an expression.
template <detail::operand X, detail::operand Q>
constexpr auto quantile(X const& x, Q const& q, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::quantile_fn{}, x, q);
}
template <detail::operand X, detail::operand Q, int... Axis>
constexpr auto quantile(X const& x, Q const& q, axes_t<Axis...>, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::with_constants<detail::quantile_along<false>, Axis...>{}, x, q);
}
template <detail::operand X, detail::operand Q, int... Axis>
constexpr auto quantile(X const& x, Q const& q, axes_t<Axis...>, keep_t, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::with_constants<detail::quantile_along<true>, Axis...>{}, x, q);
}
/// The position (int64) of the minimum along the last axis, or another one; the first of equals.
template <int Axis = -1, detail::operand X>
constexpr auto argmin(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axis<detail::argmin_fn, Axis>{}, x);
}
template <int Axis, detail::operand X>
constexpr auto argmin(X const& x, axes_t<Axis>, std::source_location where = std::source_location::current()) {
  return cotangent::argmin<Axis>(x, where);
}
/// The norm of order P, 2 if left out: `norm(x)`, `norm<1>(x, ct::axes<0>)`, `norm<ct::max_norm>(x)`. Edges: the adjoint is 0 at 0.
template <int P = 2, detail::operand X>
constexpr auto norm(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_all<detail::norm_fn<P>>{}, x);
}
template <int P = 2, detail::operand X, int... Axis>
constexpr auto norm(X const& x, axes_t<Axis...>, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::norm_fn<P>, false, Axis...>{}, x);
}
template <int P = 2, detail::operand X, int... Axis>
constexpr auto norm(X const& x, axes_t<Axis...>, keep_t, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::norm_fn<P>, true, Axis...>{}, x);
}

template <class X, class... Keep>
  requires detail::is_expr<X>
constexpr auto prod(X const&, detail::axis_values, Keep...) {
  static_assert(refusals::axis_as_value::report<X>());
  return refused{};
}
template <class X, class... Keep>
  requires detail::is_expr<X>
constexpr auto any(X const&, detail::axis_values, Keep...) {
  static_assert(refusals::axis_as_value::report<X>());
  return refused{};
}
template <class X, class... Keep>
  requires detail::is_expr<X>
constexpr auto count(X const&, detail::axis_values, Keep...) {
  static_assert(refusals::axis_as_value::report<X>());
  return refused{};
}
template <class X, class... Keep>
  requires detail::is_expr<X>
constexpr auto var(X const&, detail::axis_values, Keep...) {
  static_assert(refusals::axis_as_value::report<X>());
  return refused{};
}
template <class X, class... Keep>
  requires detail::is_expr<X>
constexpr auto std(X const&, detail::axis_values, Keep...) {
  static_assert(refusals::axis_as_value::report<X>());
  return refused{};
}
template <class X, class... Keep>
  requires detail::is_expr<X>
constexpr auto median(X const&, detail::axis_values, Keep...) {
  static_assert(refusals::axis_as_value::report<X>());
  return refused{};
}
template <int P = 2, class X, class... Keep>
  requires detail::is_expr<X>
constexpr auto norm(X const&, detail::axis_values, Keep...) {
  static_assert(refusals::axis_as_value::report<X>());
  return refused{};
}
template <class X>
  requires detail::is_expr<X>
constexpr auto argmin(X const&, detail::axis_values) {
  static_assert(refusals::axis_as_value::report<X>());
  return refused{};
}

} // namespace cotangent

#endif
