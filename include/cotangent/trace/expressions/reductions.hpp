// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_REDUCTIONS_HPP
#define COTANGENT_TRACE_EXPRESSIONS_REDUCTIONS_HPP

#include <cotangent/ops/along.hpp>
#include <cotangent/trace/expressions/lift.hpp>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <source_location>

// Functions along axes: reductions, softmax, cross_entropy.

namespace cotangent {

template <int...> struct axes_t {};
/// The axes of a reduction: `ct::sum(x, ct::axes<0, 2>)`; negative ones count from the last.
template <int... Axis> inline constexpr axes_t<Axis...> axes{};

struct keep_t {};
/// Keeps reduced axes with size 1.
inline constexpr keep_t keep{};

namespace detail {

/// The axes as bits; refuses an axis that does not exist or is named twice.
constexpr std::uint32_t mask_of(term x, number_list const& axes) {
  std::uint32_t mask = 0;
  for (int k = 0; k < axes.count; ++k) {
    std::int64_t const axis = axes[k];
    std::uint32_t const bit = 1u << axis_of(x, axis);
    if ((mask & bit) != 0) x.b->refuse<refusals::axis_repeated>(axis < 0 ? -(axis + 1) : axis, x.rank(), x.b->place);
    mask |= bit;
  }
  return mask;
}

struct sum_fn {
  static constexpr char const* name = "sum";
  using emits = operations<>;
  static constexpr term of(term x, std::uint32_t mask, bool keep) { return extend::sum(x, mask, keep); }
};
struct mean_fn {
  static constexpr char const* name = "mean";
  using emits = operations<>;
  static constexpr term of(term x, std::uint32_t mask, bool keep) { return extend::mean(x, mask, keep); }
};
struct max_fn {
  static constexpr char const* name = "max";
  using emits = operations<>;
  static constexpr term of(term x, std::uint32_t mask, bool keep) { return extend::max(x, mask, keep); }
};
struct min_fn {
  static constexpr char const* name = "min";
  using emits = operations<>;
  static constexpr term of(term x, std::uint32_t mask, bool keep) { return extend::min(x, mask, keep); }
};
struct logsumexp_fn {
  static constexpr char const* name = "logsumexp";
  using emits = operations<>;
  static constexpr term of(auto x, std::uint32_t mask, bool keep) { return extend::logsumexp(x, mask, keep); }
};
template <class Kind> struct along_all : element_given<Kind> {
  static constexpr char const* name = Kind::name;
  constexpr term operator()(term x) const { return Kind::of(x, extend::all_axes(x), false); }
};
/// Along axes, of which each is kept with size 1 or dropped.
template <class Kind, bool Keep> struct along_some : element_given<Kind> {
  static constexpr char const* name = Kind::name;
  static constexpr term of(number_list const& axes, term x) {
    std::uint32_t const mask = mask_of(x, axes);
    return x.b->failed().why != nullptr ? x : Kind::of(x, mask, Keep);
  }
};
template <class Kind, bool Keep, int... Axis> using along_axes = with_constants<along_some<Kind, Keep>, Axis...>;

struct softmax_fn {
  static constexpr char const* name = "softmax";
  using emits = operations<>;
  static constexpr term of(auto x, int axis) { return extend::softmax(x, axis); }
};
struct log_softmax_fn {
  static constexpr char const* name = "log_softmax";
  using emits = operations<>;
  static constexpr term of(auto x, int axis) { return extend::log_softmax(x, axis); }
};
struct argmax_fn {
  static constexpr char const* name = "argmax";
  using emits = operations<>;
  static constexpr element gives = element::int64;
  static constexpr term of(term x, int axis) { return extend::argmax(x, axis); }
};
struct axis_size_fn {
  static constexpr char const* name = "axis_size";
  using emits = operations<>;
  static constexpr element gives = element::int64;
  static constexpr term of(term x, int axis) { return extend::count_of(x, 1u << axis, element::int64, x.b->shape(dimensions{})); }
};
/// Axes as values, which are refused if the type of the result depends on them.
struct axis_values {
  template <std::integral I> constexpr axis_values(I) noexcept {}
  constexpr axis_values(std::initializer_list<int>) noexcept {}
};

struct cross_entropy_fn {
  static constexpr char const* name = "cross_entropy";
  using emits = operations<>;
  constexpr term operator()(auto logits, auto labels) const { return extend::cross_entropy(logits, labels); }
};

} // namespace detail

// Over all axes, or over some: `sum(x)`, `sum(x, ct::axes<0, 2>)`, `sum(x, ct::axes<1>, ct::keep)`. (Written
// out, since a macro would add three lines to each of clang's errors.)

template <detail::operand X>
constexpr auto sum(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_all<detail::sum_fn>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto sum(X const& x, axes_t<Axis...>,
                   std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::sum_fn, false, Axis...>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto sum(X const& x, axes_t<Axis...>, keep_t,
                   std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::sum_fn, true, Axis...>{}, x);
}
template <detail::operand X>
constexpr auto mean(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_all<detail::mean_fn>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto mean(X const& x, axes_t<Axis...>,
                    std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::mean_fn, false, Axis...>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto mean(X const& x, axes_t<Axis...>, keep_t,
                    std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::mean_fn, true, Axis...>{}, x);
}
template <detail::operand X>
constexpr auto max(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_all<detail::max_fn>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto max(X const& x, axes_t<Axis...>,
                   std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::max_fn, false, Axis...>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto max(X const& x, axes_t<Axis...>, keep_t,
                   std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::max_fn, true, Axis...>{}, x);
}
template <detail::operand X>
constexpr auto min(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_all<detail::min_fn>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto min(X const& x, axes_t<Axis...>,
                   std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::min_fn, false, Axis...>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto min(X const& x, axes_t<Axis...>, keep_t,
                   std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::min_fn, true, Axis...>{}, x);
}
/// log(sum(exp(x))), without overflow.
template <detail::operand X>
constexpr auto logsumexp(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_all<detail::logsumexp_fn>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto logsumexp(X const& x, axes_t<Axis...>,
                         std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::logsumexp_fn, false, Axis...>{}, x);
}
template <detail::operand X, int... Axis>
constexpr auto logsumexp(X const& x, axes_t<Axis...>, keep_t,
                         std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axes<detail::logsumexp_fn, true, Axis...>{}, x);
}

template <class X, class... Keep>
  requires detail::is_expr<X>
constexpr auto sum(X const&, detail::axis_values, Keep...) {
  static_assert(refusals::axis_as_value::report<X>());
  return refused{};
}
template <class X, class... Keep>
  requires detail::is_expr<X>
constexpr auto mean(X const&, detail::axis_values, Keep...) {
  static_assert(refusals::axis_as_value::report<X>());
  return refused{};
}
template <class X>
  requires detail::is_expr<X>
constexpr auto max(X const&, std::initializer_list<int>, keep_t = {}) {
  static_assert(refusals::axis_as_value::report<X>());
  return refused{};
}
template <class X>
  requires detail::is_expr<X>
constexpr auto min(X const&, std::initializer_list<int>, keep_t = {}) {
  static_assert(refusals::axis_as_value::report<X>());
  return refused{};
}
template <class X, class... Keep>
  requires detail::is_expr<X>
constexpr auto logsumexp(X const&, detail::axis_values, Keep...) {
  static_assert(refusals::axis_as_value::report<X>());
  return refused{};
}
template <class X>
  requires detail::is_expr<X>
constexpr auto argmax(X const&, detail::axis_values) {
  static_assert(refusals::axis_as_value::report<X>());
  return refused{};
}

/// Along the last axis, or another one: `softmax(x)`, `softmax<0>(x)`, `softmax(x, 0)`.
template <int Axis = -1, detail::operand X>
constexpr auto softmax(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axis<detail::softmax_fn, Axis>{}, x);
}
template <int Axis = -1, detail::operand X>
constexpr auto log_softmax(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axis<detail::log_softmax_fn, Axis>{}, x);
}
template <detail::expression X, detail::one_axis A>
constexpr auto softmax(X const& x, A axis, std::source_location where = std::source_location::current()) {
  return detail::lift_along<detail::softmax_fn>(where, x, axis);
}
template <detail::expression X, detail::one_axis A>
constexpr auto log_softmax(X const& x, A axis, std::source_location where = std::source_location::current()) {
  return detail::lift_along<detail::log_softmax_fn>(where, x, axis);
}
/// The position (int64) of the maximum along the last axis, or another one; the first of equals.
template <int Axis = -1, detail::operand X>
constexpr auto argmax(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axis<detail::argmax_fn, Axis>{}, x);
}
template <int Axis, detail::operand X>
constexpr auto argmax(X const& x, axes_t<Axis>, std::source_location where = std::source_location::current()) {
  return cotangent::argmax<Axis>(x, where);
}

/// The extent (int64) of an axis, as a value of the call: of a named extent, too. It is a bound as the count of a loop.
template <int Axis, detail::operand X>
constexpr auto axis_size(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::along_axis<detail::axis_size_fn, Axis>{}, x);
}
template <int Axis, detail::operand X>
constexpr auto axis_size(X const& x, axes_t<Axis>, std::source_location where = std::source_location::current()) {
  return cotangent::axis_size<Axis>(x, where);
}
template <class X>
  requires detail::is_expr<X>
constexpr auto axis_size(X const&, detail::axis_values) {
  static_assert(refusals::axis_as_value::report<X>());
  return refused{};
}

/// The loss of each row of logits against its label, an integer: logsumexp(z) - z[label] over the last axis.
template <detail::operand Logits, detail::operand Labels>
constexpr auto cross_entropy(Logits const& logits, Labels const& labels,
                             std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::cross_entropy_fn{}, logits, labels);
}

} // namespace cotangent

#endif
