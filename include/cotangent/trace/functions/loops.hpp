// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_FUNCTIONS_LOOPS_HPP
#define COTANGENT_TRACE_FUNCTIONS_LOOPS_HPP

#include <cotangent/trace/functions/control.hpp>

#include <cstdint>
#include <source_location>
#include <tuple>
#include <type_traits>

// Loops of traced functions. A body is called once, with expressions for the values of an iteration; expressions of the
// surrounding function that it uses are captured.

namespace cotangent {
inline namespace COTANGENT_ABI {

/// Options of a loop: `ct::while_loop<ct::loop{.max_iterations = 100}>(condition, body, x...)`.
struct loop {
  /// The loop ends after this number of iterations at the latest; 0: no such limit. A bound is needed for gradients, which
  /// record values of each iteration; a constant count and a condition such as `i < 100` are bounds, too.
  std::int64_t max_iterations = 0;
};

} // namespace COTANGENT_ABI

namespace detail {
inline namespace COTANGENT_ABI {

using loop_count = located_integer<refusals::count_of_kind>;

template <class Like, class Given> constexpr void report_carried() {
  if constexpr (is_scalar_expr<Like> && is_expr<Given>) {
    if constexpr (Given::rank != 0 && std::is_same_v<typename Like::value_type, typename Given::value_type>)
      refusals::carried_rank::report<Like, Given>();
    else refusals::carried_type::report<Like, Given>();
  } else refusals::carried_type::report<Like, Given>();
}

/// True if the next values, R, can be carried; else reports why not.
template <class Carried, class R> constexpr bool check_next() {
  using like = typename Carried::returned;
  constexpr int count = static_cast<int>(std::tuple_size_v<typename Carried::type>);
  if constexpr (is_like<like, R>) return true;
  else if constexpr (count > 1 && tree_kind_of<R> != tree_kind::product)
    refusals::loop_count::report<extent::of(count), extent::of(1)>();
  else if constexpr (count > 1 && tree_kind_of<R> == tree_kind::product) {
    if constexpr (std::tuple_size<R>::value != count)
      refusals::loop_count::report<extent::of(count), extent::of(std::tuple_size<R>::value)>();
    else detail::report_carried<typename misfit_of<like, R>::like, typename misfit_of<like, R>::given>();
  } else detail::report_carried<typename misfit_of<like, R>::like, typename misfit_of<like, R>::given>();
  return false;
}

/// True if the loop can be built; else reports why not.
template <class Carried, class Condition, class Body> constexpr bool check_loop() {
  using next = body_result<Body, typename Carried::type, expr<std::int64_t>>;
  if constexpr (!std::is_void_v<Condition>) {
    using goes_on = body_result<Condition, typename Carried::type, expr<std::int64_t>>;
    if constexpr (goes_on::why != unfit::none) return goes_on::report(), false;
    else if constexpr (!is_like<expr<bool>, typename goes_on::type>)
      return refusals::condition_type::report<typename goes_on::type, refusals::wanted>(), false;
  }
  if constexpr (next::why != unfit::none) return next::report(), false;
  else return detail::check_next<Carried, typename next::type>();
}

/// The largest count, or none.
constexpr symbol limit_of(builder& b, loop_count const* count, loop const& options) {
  term n{&b, none};
  if (count != nullptr) n.id = extend::convert({&b, count->attach(b)}, element::int64).id;
  if (options.max_iterations <= 0) return n.id;
  term const most{&b, loop_count(options.max_iterations).attach(b)};
  return count != nullptr ? extend::apply<op::min>(n, most).id : most.id;
}

/// Builds a loop. `count` or `condition` may be null.
template <loop Options, class Condition, class Body, class... X>
constexpr auto traced_loop(loop_count const* count, Condition const* condition, Body const& body, X const&... init) {
  using carried = values_passed<X...>;
  using values = typename carried::type;
  using result = typename carried::returned;
  if constexpr (carried::said) return refused_tree<result, expr>();
  else if constexpr (!carried::known) {
    refusals::carried_of_kind::report<X...>();
    return refused_tree<result, expr>();
  } else if constexpr (!check_loop<carried, Condition, Body>()) return refused_tree<result, expr>();
  else {
    graph_search graph(init...);
    if (count != nullptr) count->tell(graph);
    expr<std::int64_t> const first(standing{nullptr, standing::refused});
    if constexpr (!std::is_void_v<Condition>) graph.template search<values>(*condition, first);
    graph.template search<values>(body, first);
    if (!graph.found()) return graph.template result<result>();
    builder& b = *graph.b;
    if (count != nullptr) b.place = count->where;
    std::source_location const where = b.place;
    array<symbol> inits;
    (attach_leaves<result_tree<X>>(b, init, inits), ...);
    loop_builder made(b, {inits.data(), carried::leaves, limit_of(b, count, Options)});
    if constexpr (!std::is_void_v<Condition>) {
      symbol const* const in = made.open_condition();
      made.close_condition(detail::run_body<expr<bool>, values>(b, in + 1, *condition, expr<std::int64_t>(b, in[0]))[0]);
    }
    symbol const* const in = made.open_body();
    array<symbol> const next = detail::run_body<result, values>(b, in + 1, body, expr<std::int64_t>(b, in[0]));
    made.close_body(next.data(), next.size());
    if (count != nullptr) b.place = where;
    (void)made.finish(b.place);
    array<symbol> last;
    for (int k = 0; k < carried::leaves; ++k) last.push(made.last(k));
    leaf_from_symbols make{b, last.data()};
    return build_tree<result>(make);
  }
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
  requires(detail::for_traced<X...> && sizeof...(X) != 0)
constexpr auto while_loop(Condition const& condition, Body const& body, X const&... init) {
  return detail::traced_loop<Options>(nullptr, &condition, body, init...);
}

/// Calls `body(i, x...)` for i = 0, 1, ..., count - 1; otherwise like `while_loop`. The count is an integer or an integer
/// expression.
template <loop Options = loop{}, class Body, class... X>
  requires(detail::for_traced<X...> && sizeof...(X) != 0)
constexpr auto for_loop(detail::loop_count count, Body const& body, X const&... init) {
  return detail::traced_loop<Options, void>(&count, nullptr, body, init...);
}

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
