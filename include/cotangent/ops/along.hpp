// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_ALONG_HPP
#define COTANGENT_OPS_ALONG_HPP

#include <cotangent/ops/function.hpp>
#include <cotangent/ops/repeat.hpp>

#include <cstdint>
#include <source_location>
#include <type_traits>

// Functions along one axis, which is a template argument, `ct::axes<K>` or a number: `Kind::of(x, axis)` computes them. Functions
// with several numbers, which are template arguments or arguments: `Kind::of(numbers, x...)` computes them.

namespace cotangent {
template <int...> struct axes_t;
}

namespace cotangent::detail {

template <class A>
concept expression = is_expr<A> || open_expr<A>;

template <class A> inline constexpr bool names_one_axis = false;
template <int Axis> inline constexpr bool names_one_axis<axes_t<Axis>> = true;
/// One axis as an argument: `ct::axes<0>`, or an integer.
template <class A>
concept one_axis = names_one_axis<A> || (std::is_integral_v<A> && !std::is_same_v<A, bool>);

/// The axis, counted from the first; 0 after a refusal.
constexpr int axis_of(term x, std::int64_t axis) {
  int const rank = x.rank();
  if (axis >= -rank && axis < rank) return static_cast<int>(axis < 0 ? axis + rank : axis);
  x.b->refuse<refusals::axis_out_of_range>(axis < 0 ? -(axis + 1) : axis, rank, x.b->place);
  return 0;
}

template <class Kind> struct emitted_by {};
template <class Kind>
  requires requires { typename Kind::emits; }
struct emitted_by<Kind> {
  using emits = typename Kind::emits;
};
/// The element type of the result, if it is not that of x, and what the function emits.
template <class Kind> struct element_given : emitted_by<Kind> {};
template <class Kind>
  requires requires { Kind::gives; }
struct element_given<Kind> : emitted_by<Kind> {
  static constexpr element gives = Kind::gives;
};

template <class Kind, int Axis> struct along_axis : element_given<Kind> {
  static constexpr char const* name = Kind::name;
  constexpr term operator()(term x) const {
    int const axis = axis_of(x, Axis);
    return x.b->failed().why != nullptr ? x : Kind::of(x, axis);
  }
};
template <class Kind> struct along_value : element_given<Kind> {
  static constexpr char const* name = Kind::name;
  std::int64_t at;
  constexpr explicit along_value(std::int64_t axis) : at(axis) {}
  constexpr term operator()(term x) const {
    int const axis = axis_of(x, at);
    return x.b->failed().why != nullptr ? x : Kind::of(x, axis);
  }
};

/// The numbers beside the operands of a function: axes, sizes, counts.
struct number_list {
  std::int64_t const* at;
  int count;
  constexpr std::int64_t operator[](int k) const { return at[k]; }
};
template <class Kind, std::int64_t... N> struct with_constants : element_given<Kind> {
  static constexpr char const* name = Kind::name;
  static constexpr std::int64_t numbers[]{N..., 0};
  constexpr term operator()(auto... x) const { return Kind::of(number_list{numbers, sizeof...(N)}, x...); }
};
/// The number is an extent, which may have a name.
template <class Kind, extent N> struct with_extent : element_given<Kind> {
  static constexpr char const* name = Kind::name;
  constexpr term operator()(auto first, auto... x) const {
    std::int64_t const n = first.b->size(N);
    return Kind::of(number_list{&n, 1}, first, x...);
  }
};
template <class Kind> struct with_values : element_given<Kind> {
  static constexpr char const* name = Kind::name;
  number_list numbers;
  constexpr explicit with_values(number_list const& given) : numbers(given) {}
  constexpr term operator()(auto... x) const { return Kind::of(numbers, x...); }
};

// In trace/expressions/lift.hpp: along an axis that is an argument; the result has the shape of x.
template <class Kind, class X, one_axis A> constexpr auto lift_along(std::source_location where, X const& x, A axis);

} // namespace cotangent::detail

#endif
