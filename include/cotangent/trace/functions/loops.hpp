// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_FUNCTIONS_LOOPS_HPP
#define COTANGENT_TRACE_FUNCTIONS_LOOPS_HPP

#include <cotangent/ops/control/loop_builder.hpp>
#include <cotangent/trace/functions/control.hpp>
#include <cotangent/trace/functions/loop_options.hpp>

#include <cstdint>
#include <source_location>
#include <tuple>
#include <type_traits>

// Loops of traced functions. A body is called once, with expressions for the values of an iteration; expressions of the
// surrounding function that it uses are captured.

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

using loop_count = located_integer<refusals::count_of_kind>;

template <class Like, class Given> inline constexpr bool needs_zeros = false;
template <class T, extent First, extent... E> inline constexpr bool needs_zeros<expr<T>, expr<T, First, E...>> = true;

/// Expressions like those of X....
template <class T, class... X> consteval auto find_number_like() {
  if constexpr (in_graph<X...>)
    return std::type_identity<typename front_end_of<X...>::template expression<T>>{};
  else return std::type_identity<expr<T>>{};
}
template <class... X> using count_like = typename decltype(find_number_like<std::int64_t, X...>())::type;
template <class... X> using bool_like = typename decltype(find_number_like<bool, X...>())::type;

/// The reason why a loop cannot be built. `said`: it was reported before.
enum class unfit_loop : unsigned char { none, said, first_value, without_graph, condition, condition_type, body, number_of_values, value };

/// The types of a loop. `Condition` may be void.
template <class Condition, class Body, class... X> struct loop_types {
  using carried = values_passed<X...>;
  using values = typename carried::type;
  using result = typename carried::returned;
  using asked = body_result<Condition, values, count_like<X...>>;
  using next = body_result<Body, values, count_like<X...>>;

  /// The number of next values: one that is a tuple counts as its parts where several are carried.
  static consteval int count_given() {
    if constexpr (sizeof...(X) > 1 && tree_kind_of<typename next::type> == tree_kind::product)
      return static_cast<int>(std::tuple_size<typename next::type>::value);
    else return 1;
  }
  static consteval unfit_loop find_reason() {
    if constexpr (carried::said) return unfit_loop::said;
    else if constexpr (!carried::known) return unfit_loop::first_value;
    else {
      if constexpr (!std::is_void_v<Condition>) {
        if constexpr (asked::why != unfit::nothing) return unfit_loop::condition;
        else if constexpr (!is_like<bool_like<X...>, typename asked::type>) return unfit_loop::condition_type;
      }
      if constexpr (!in_graph<X...> && in_graph<typename next::type>) return unfit_loop::without_graph;
      else if constexpr (next::why != unfit::nothing) return unfit_loop::body;
      else if constexpr (count_given() != sizeof...(X)) return unfit_loop::number_of_values;
      else return is_like<result, typename next::type> ? unfit_loop::none : unfit_loop::value;
    }
  }
  static constexpr unfit_loop why = find_reason();
};

/// Appends a loop. `count` or `condition` may be null.
template <loop Options, class Types, class Condition, class Body, class... X>
constexpr typename Types::result append_loop(loop_count const* count, Condition const* condition, Body const& body,
                                             X const&... init) {
  using values = typename Types::values;
  using result = typename Types::result;
  graph_search graph(init...);
  if (count != nullptr) count->tell(graph);
  if constexpr (!in_graph<X...>) {
    expr<std::int64_t> const first(standing{nullptr, standing::refused});
    if constexpr (!std::is_void_v<Condition>) graph.template search<values>(*condition, first);
    graph.template search<values>(body, first);
  }
  if (!graph.found()) return graph.template result<result>();
  builder& b = *graph.b;
  if constexpr (in_graph<X...>)
    if (count != nullptr) front_end_of<X...>::same_graph(b, count->at);
  if (count != nullptr) b.place = count->where;
  std::source_location const where = b.place;
  array<symbol> inits;
  (attach_leaves<result_tree<X>>(b, init, inits), ...);
  symbol limit = none, most = none;
  if (count != nullptr) limit = extend::convert({&b, count->attach(b)}, element::int64).id;
  refuse_negative<Options>();
  if constexpr (Options.max_iterations > 0) most = loop_count(Options.max_iterations).attach(b);
  loop_builder made(b, {.inits = inits.data(),
                        .carried = inits.size(),
                        .limit = limit,
                        .flags = Options.reverse ? std::int64_t{loop_layout::reverse} : 0,
                        .tape_limit = Options.tape_limit,
                        .most = most});
  if constexpr (!std::is_void_v<Condition>) {
    symbol const* const in = made.open_condition();
    body_scope<X...> const here(b, made);
    symbol goes_on =
        detail::run_body<bool_like<X...>, values>(b, in + 1, *condition, count_like<X...>(b, in[0]))[0];
    hold_prints(b, &goes_on, 1);
    here.finish();
    made.close_condition(goes_on);
  }
  {
    symbol const* const in = made.open_body_of_rows();
    body_scope<X...> const here(b, made);
    array<symbol> next = detail::run_body<result, values>(b, in + 1, body, count_like<X...>(b, in[0]));
    hold_prints(b, next);
    here.finish();
    made.close_body(next.data(), next.size());
  }
  if (count != nullptr) b.place = where;
  (void)made.finish(b.place);
  array<symbol> last;
  for (int k = 0; k < inits.size(); ++k) last.push(made.last(k));
  leaf_from_symbols make{b, last.data()};
  return build_tree<result>(make);
}

/// The same, or a report. (All reports are here, close to the user's call, so that errors are short.)
template <loop Options, class Condition, class Body, class... X>
constexpr auto traced_loop(loop_count const* count, Condition const* condition, Body const& body, X const&... init) {
  using types = loop_types<Condition, Body, X...>;
  if constexpr (types::why == unfit_loop::none)
    return detail::append_loop<Options, types>(count, condition, body, init...);
  else if constexpr (types::why == unfit_loop::value && can_widen<X...>)
    return detail::traced_loop<Options>(count, condition, body, detail::widened_tree(init)...);
  else {
    if constexpr (types::why == unfit_loop::first_value && types::carried::are_trees) refusals::struct_of_kind::report<X...>();
    else if constexpr (types::why == unfit_loop::first_value) refusals::carried_of_kind::report<X...>();
    else if constexpr (types::why == unfit_loop::without_graph) refusals::carried_without_graph::report<X...>();
    else if constexpr (types::why == unfit_loop::condition)
      detail::report_unfit<types::asked::why, Condition, expr<std::int64_t>, result_tree<X>...>();
    else if constexpr (types::why == unfit_loop::condition_type)
      refusals::condition_type::report<typename types::asked::type, refusals::wanted>();
    else if constexpr (types::why == unfit_loop::body)
      detail::report_unfit<types::next::why, Body, expr<std::int64_t>, result_tree<X>...>();
    else if constexpr (types::why == unfit_loop::number_of_values)
      refusals::loop_count::report<extent::of(sizeof...(X)), extent::of(types::count_given())>();
    else if constexpr (types::why == unfit_loop::value) {
      using differs = misfit_of<typename types::result, typename types::next::type>;
      if constexpr (needs_zeros<typename differs::like, typename differs::given>)
        refusals::carried_rank::report<typename differs::like, typename differs::given>();
      else refusals::carried_type::report<typename differs::like, typename differs::given>();
    }
    if constexpr (types::why == unfit_loop::first_value) return refused();
    else return refused_tree<typename types::result, expr>();
  }
}

/// Such a loop of expressions of a run-time graph, for a call at `where`.
template <loop Options, class Condition, class Body, class... X>
auto loop_in_graph(std::source_location where, loop_count const* count, Condition const* condition, Body const& body, X const&... init) {
  return front_end_of<X...>::transformed(
      where, [&](auto const&... x) { return detail::traced_loop<Options>(count, condition, body, x...); }, init...);
}

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// While `condition(i, x...)` is true, the next x... are `body(i, x...)`; i counts the iterations from 0. Returns the final
/// values: one as it is, several as a tuple. The condition is evaluated before each iteration.
///
/// The values are numbers, expressions, or trees of expressions; each keeps its type. Condition and body are called once,
/// when the function is traced, and may use expressions of the surrounding function.
///
/// Adjoint: a loop in reverse, over values that the iterations record.
/// Refuses: a condition that is not one bool; a body that returns other types.
/// Checked: tests/static/loops.cpp.
template <loop Options = loop{}, class Condition, class Body, class... X>
  requires(detail::for_trees<X...> && sizeof...(X) != 0)
constexpr auto while_loop(Condition const& condition, Body const& body, X const&... init) {
  if constexpr (detail::in_graph<X...>) return detail::loop_in_graph<Options>({}, nullptr, &condition, body, init...);
  else return detail::traced_loop<Options>(nullptr, &condition, body, init...);
}
// Default arguments cannot follow a pack: in run-time graphs the first overloads are written out, for the user's source location.
template <loop Options = loop{}, class Condition, class Body, class X>
  requires(detail::for_trees<X> && detail::in_graph<X>)
auto while_loop(Condition const& condition, Body const& body, X const& x,
                std::source_location where = std::source_location::current()) {
  return detail::loop_in_graph<Options>(where, nullptr, &condition, body, x);
}
template <loop Options = loop{}, class Condition, class Body, class X, class Y>
  requires(detail::for_trees<X, Y> && detail::in_graph<X, Y>)
auto while_loop(Condition const& condition, Body const& body, X const& x, Y const& y,
                std::source_location where = std::source_location::current()) {
  return detail::loop_in_graph<Options>(where, nullptr, &condition, body, x, y);
}

/// Calls `body(i, x...)` for i = 0, 1, ..., count - 1; otherwise like `while_loop`. The count is an integer or an integer
/// expression. `ct::for_loop<ct::loop{.reverse = true}>` counts from count - 1 down to 0.
template <loop Options = loop{}, class Body, class... X>
  requires(detail::for_trees<X...> && sizeof...(X) != 0)
constexpr auto for_loop(detail::loop_count count, Body const& body, X const&... init) {
  if constexpr (detail::in_graph<X...>)
    return detail::loop_in_graph<Options, void>(count.where, &count, nullptr, body, init...);
  else return detail::traced_loop<Options, void>(&count, nullptr, body, init...);
}

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
