// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_INDEXING_HPP
#define COTANGENT_TRACE_EXPRESSIONS_INDEXING_HPP

#include <cotangent/ops/control/rows.hpp>
#include <cotangent/trace/expressions/lift.hpp>
#include <cotangent/trace/expressions/part.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

// x(i, ct::all, ct::range<0, 8, 2>): elements, rows and windows of an expression.

namespace cotangent {

template <int...> struct axes_t;
struct keep_t;

struct all_t {
  /// True if every element of x, a tensor of bools, is: `ct::all(x > 0)`. Of no elements: true. (In statistics.hpp.)
  template <detail::operand X>
  constexpr auto operator()(X const& x, std::source_location where = std::source_location::current()) const;
  template <detail::operand X, int... Axis>
  constexpr auto operator()(X const& x, axes_t<Axis...>, std::source_location where = std::source_location::current()) const;
  template <detail::operand X, int... Axis>
  constexpr auto operator()(X const& x, axes_t<Axis...>, keep_t, std::source_location where = std::source_location::current()) const;
  // Of run-time graphs, whose axes may be numbers. (In dynamic/expressions/functions.hpp.)
  template <detail::open_expr X>
  auto operator()(X const& x, typename X::axis_list const& axes, std::source_location where = std::source_location::current()) const;
  template <detail::open_expr X>
  auto operator()(X const& x, typename X::axis_list const& axes, keep_t, std::source_location where = std::source_location::current()) const;
  template <detail::open_expr X>
  auto operator()(X const& x, typename X::no_numbers, std::source_location where = std::source_location::current()) const;
  template <detail::open_expr X>
  auto operator()(X const& x, typename X::no_numbers, keep_t, std::source_location where = std::source_location::current()) const;
};
/// Keeps an axis.
inline constexpr all_t all{};

template <std::int64_t Start, std::int64_t Stop, std::int64_t Step = 1> struct range_t {};
/// Keeps the positions Start, Start + Step, ... below Stop. Negative bounds count from the end of the axis,
/// also if its extent has a name: `ct::range<0, -1>` is all but the last.
template <std::int64_t Start, std::int64_t Stop = end, std::int64_t Step = 1>
inline constexpr range_t<Start, Stop, Step> range{};

namespace detail {

template <class Index> struct place_traits {
  static constexpr bool known = std::convertible_to<Index, std::int64_t> && !std::is_same_v<Index, bool> && !std::is_floating_point_v<Index>;
  static constexpr place_on_axis place{.drops = true};
};
/// True for places that are values, which run-time graphs take.
template <class Index> inline constexpr bool is_place_at_run_time = false;
template <> struct place_traits<all_t> {
  static constexpr bool known = true;
  static constexpr place_on_axis place{.whole = true};
};
template <std::int64_t Start, std::int64_t Stop,
          std::int64_t Step> struct place_traits<range_t<Start, Stop, Step>> {
  static constexpr bool known = true;
  static constexpr place_on_axis place{.start = Start, .stop = Stop, .step = Step};
};

template <class... Index> inline constexpr place_on_axis places_of[]{place_traits<Index>::place...};

/// Integers are values, so they are checked only when the function is traced; all other indices are checked
/// by type.
template <class... Index> struct take_fn {
  static constexpr char const* name = "x(i, j, ...)";
  using emits = operations<>;
  std::int64_t at[sizeof...(Index)]{};
  bool on_trial = true;

  constexpr term operator()(term x) const {
    return indexed_part(x, places_of<Index...>, on_trial ? nullptr : at, sizeof...(Index)).read();
  }
};

template <class Index> constexpr std::int64_t position_of_index(Index const& i) {
  if constexpr (std::convertible_to<Index, std::int64_t>) return static_cast<std::int64_t>(i);
  else return (void)i, 0;
}

/// True for an integer that is computed: the iteration of a loop, say.
template <class Index> inline constexpr bool is_computed_index = false;
template <std::integral T> inline constexpr bool is_computed_index<expr<T>> = !std::is_same_v<T, bool>;
template <open_expr Index>
  requires std::integral<typename Index::value_type>
inline constexpr bool is_computed_index<Index> = !std::is_same_v<typename Index::value_type, bool>;

/// A computed index keeps its axis at first.
template <class Index> constexpr auto without_computed(Index const& i) {
  if constexpr (is_computed_index<Index>) return all;
  else return i;
}
/// The row that a computed index selects along an axis, which the result lacks; along the first of its axes by another one.
template <int Axis> struct row_at_fn {
  static constexpr char const* name = "x(i, j, ...)";
  using emits = operations<>;
  constexpr term operator()(term x, auto... index) const { return extend::row_at(extend::move_axis(x, Axis, 0), index...); }
};
/// The number of computed indices before the first other one.
template <class... Index> consteval int count_of_first_computed() {
  bool const computed[]{is_computed_index<Index>..., false};
  int k = 0;
  while (computed[k]) ++k;
  return k;
}
/// The part that computed indices at the begin select, of which `take` takes the part of the others.
template <class X, class Take, class... Index>
constexpr auto take_by_first_computed(std::source_location where, X const& x, Take take, Index const&... index) {
  constexpr int first = count_of_first_computed<Index...>();
  std::tuple<Index const&...> const all(index...);
  auto const part = [&]<std::size_t... K>(std::index_sequence<K...>) {
    return detail::lift(where, row_at_fn<0>{}, x, std::get<K>(all)...);
  }(std::make_index_sequence<first>{});
  if constexpr (first == sizeof...(Index)) return static_cast<void>(take), part;
  else
    return [&]<std::size_t... K>(std::index_sequence<K...>) { return take(part, std::get<first + K>(all)...); }(std::make_index_sequence<sizeof...(Index) - first>{});
}

template <class X> struct index_list {
  /// Selects by the computed ones of these indices, from the last on; the first stands for axis `Axis` of `x`.
  template <int Axis, class Part> static constexpr auto take_rows(std::source_location, Part const& x) { return x; }
  template <int Axis, class Part, class Index, class... Rest>
  static constexpr auto take_rows(std::source_location where, Part const& x, Index const& index, Rest const&... rest) {
    constexpr bool computed = is_computed_index<Index>;
    auto const part = take_rows<Axis + (computed || !place_traits<Index>::place.drops ? 1 : 0)>(where, x, rest...);
    if constexpr (computed) return detail::lift(where, row_at_fn<Axis>{}, part, index);
    else return part;
  }

  /// True for a computed index and others, none of which is refused: then the row is selected first, and the others read it alone.
  template <class First, class... Rest> static consteval bool begins_with_row() {
    if constexpr (is_computed_index<First> && sizeof...(Rest) > 0 && sizeof...(Rest) < X::rank &&
                  (place_traits<decltype(without_computed(std::declval<Rest>()))>::known && ...))
      return !inferred<take_fn<all_t, decltype(without_computed(std::declval<Rest>()))...>, X>::refuses;
    else return false;
  }
  template <class... Index>
  static constexpr auto take(std::source_location where, X const& x, Index const&... index) {
    if constexpr (begins_with_row<Index...>())
      return take_by_first_computed(
          where, x, [&]<class Part>(Part const& part, auto const&... rest) { return index_list<Part>::take(where, part, rest...); }, index...);
    else if constexpr ((is_computed_index<Index> || ...))
      return take_rows<0>(where, take(where, x, without_computed(index)...), index...);
    else if constexpr (!(place_traits<Index>::known && ...)) {
      static_assert(refusals::index_of_kind::report<Index...>());
      return refused{};
    } else if constexpr (static_cast<int>(sizeof...(Index)) > X::rank) {
      refusals::number_of_places::report<extent::of(sizeof...(Index)), extent::of(X::rank)>();
      return refused{};
    } else {
      // As in `lift`, but with fewer frames between an error and the user's line.
      using trial = inferred<take_fn<Index...>, X>;
      if constexpr (trial::refuses) {
        static_assert(refusal_behind<trial::value.why>::template report<trial::value.left, trial::value.right>());
        return refused{};
      } else {
        return detail::lift_as<typename trial::type>(
            where, take_fn<Index...>{{position_of_index(index)...}, false}, x);
      }
    }
  }

  /// Reads a part for an assignment: `from` records that it was read from `x`, which is at `variable`.
  template <class... Index>
  static constexpr auto part(std::source_location where, X const& x, standing& variable, origin const* outer,
                             origin& from, bool is_temporary, Index const&... index) {
    using result = decltype(take(where, x, index...));
    if constexpr ((is_computed_index<Index> || ...)) return take(where, x, index...);
    else if constexpr (is_expr<result>) {
      standing const at = take(where, x, index...).standing();
      from.variable = &variable;
      from.type = X::type;
      from.extents = &X::extents;
      from.places = places_of<Index...>;
      from.count = sizeof...(Index);
      int k = 0;
      ((from.at[k++] = position_of_index(index)), ...);
      from.is_temporary = is_temporary;
      from.outer = outer;
      from.where = where;
      return result(at, &from);
    } else return result{};
  }
};

} // namespace detail
} // namespace cotangent

#endif
