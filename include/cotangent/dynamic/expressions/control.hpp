// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EXPRESSIONS_CONTROL_HPP
#define COTANGENT_DYNAMIC_EXPRESSIONS_CONTROL_HPP

#include <cotangent/dynamic/expressions/expr.hpp>

#include <cotangent/ops/control/loop_builder.hpp>
#include <cotangent/trace/functions/control_refusals.hpp>
#include <cotangent/trace/functions/held_prints.hpp>
#include <cotangent/trace/functions/loop_options.hpp>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

// Loops and branches of dynamic expressions. A body is a function that is called once, with expressions for
// the values of an iteration. Outer expressions that it uses are captured automatically.

COTANGENT_COLD_BEGIN
namespace cotangent {
namespace dynamic::inline COTANGENT_ABI::detail {

// ---- one expression, a tuple of several, or none

template <class X> inline constexpr bool is_several = false;
template <class... X> inline constexpr bool is_several<std::tuple<X...>> = true;
template <class A, class B> inline constexpr bool is_several<std::pair<A, B>> = true;

/// True for an expression of a run-time graph, and for a tuple of such.
template <class A> inline constexpr bool holds_open = open_expr<A>;
template <class... A> inline constexpr bool holds_open<std::tuple<A...>> = (holds_open<A> || ...);

template <class A> struct expression_of {
  using type = expr<typename element_taken<A>::type>;
};

/// The symbols of a body's results. Each is an expression or a number, which takes the element of `Like`. Half precision is widened
/// to float. `Refusal` is that of another element.
template <class Refusal, class Like, class R> void push_results(graph_state& s, R const& r, request const& q,
                                                 std::vector<symbol>& to) {
  static_assert(open_expr<R> || is_expr<R> || literal<R>,
                "cotangent: a loop or branch must return expressions, one or a std::tuple of several");
  using T = std::conditional_t<std::is_void_v<Like>, typename element_taken<R>::type, Like>;
  if constexpr (is_half_for<T, R>) to.push_back(symbol_of<T>(s, widened(q.where, r), q));
  else if constexpr (open_expr<R> && !std::is_same_v<typename element_taken<R>::type, T>) Refusal::template report<expr<T>, R>();
  else to.push_back(symbol_of<T>(s, r, q));
}
template <class Refusal, class Likes, class R> std::vector<symbol> results_of(graph_state& s, R const& r, request const& q) {
  std::vector<symbol> all_of_them;
  if constexpr (is_several<R>) {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      if constexpr (std::tuple_size_v<Likes> == sizeof...(K))
        (push_results<Refusal, std::tuple_element_t<K, Likes>>(s, std::get<K>(r), q, all_of_them), ...);
      else (push_results<Refusal, void>(s, std::get<K>(r), q, all_of_them), ...);
    }(std::make_index_sequence<std::tuple_size_v<R>>{});
  } else if constexpr (std::tuple_size_v<Likes> == 1)
    push_results<Refusal, std::tuple_element_t<0, Likes>>(s, r, q, all_of_them);
  else push_results<Refusal, void>(s, r, q, all_of_them);
  return all_of_them;
}

/// The result types of a body, as expressions.
template <class R> struct returned {
  using type = std::tuple<typename expression_of<R>::type>;
};
template <class... R> struct returned<std::tuple<R...>> {
  using type = std::tuple<typename expression_of<R>::type...>;
};
template <class A, class B> struct returned<std::pair<A, B>> : returned<std::tuple<A, B>> {};

template <class Tuple> struct elements_of_expressions;
template <class... T> struct elements_of_expressions<std::tuple<expr<T>...>> {
  using type = std::tuple<T...>;
};
template <class Tuple> using elements_in_tuple = typename elements_of_expressions<Tuple>::type;

/// A single expression unwrapped, several as a tuple.
template <class Tuple> auto one_or_several(Tuple&& t) {
  if constexpr (std::tuple_size_v<std::remove_cvref_t<Tuple>> == 1) return std::get<0>(t);
  else return std::move(t);
}

/// While it lives, operations go to a region of the loop or branch under construction, and outer values are
/// captured. Its destructor withdraws captures, so that a body that throws leaves nothing.
class open_body {
  graph_state& s_;
  std::int32_t outer_;

public:
  template <class Maker> open_body(graph_state& s, Maker& maker, std::int32_t outer) : s_(s), outer_(outer) {
    frame f;
    f.region = s.b.region;
    f.maker = &maker;
    s.frames.push_back(std::move(f));
  }
  open_body(open_body const&) = delete;
  open_body& operator=(open_body const&) = delete;
  ~open_body() {
    s_.frames.pop_back();
    s_.b.region = outer_;
  }
};

/// Tensors of a body without any written piece are zero.
inline void fill_unwritten(graph_state& s, std::source_location where) {
  for (symbol const t : s.frames.back().pieces) {
    std::int64_t const zero = 0;
    auto const writers = s.written.find(t);
    if (s.b.tensor(t).producer == none && (writers == s.written.end() || writers->second.empty()))
      (void)s.b.assign(info_of<op::constant>(), nullptr, 0, &t, 1, &zero, 1, where);
  }
}

/// Restores the builder's region if a loop or branch fails midway.
struct same_region {
  graph_state& s;
  std::int32_t region = s.b.region;
  ~same_region() { s.b.region = region; }
};

/// The source location of a loop or branch. If the caller could not pass it (a parameter pack leaves no room
/// for it), the location of the last operation inside.
inline std::source_location place_among(graph_state const& s, std::int32_t first, std::source_location where) {
  for (std::int32_t k = s.b.get().nodes.size(); k-- > first && where.line() == 0;)
    where = s.b.get().nodes[k].where;
  return where;
}

/// The location of a call of the user. Functions of the library call each other: those calls keep the location of the user's one.
inline std::source_location place_of_call(graph_state const& s, std::source_location where) {
  std::string_view headers = std::source_location::current().file_name(); // .../cotangent/dynamic/expressions/control.hpp
  headers.remove_suffix(std::string_view("dynamic/expressions/control.hpp").size());
  return std::string_view(where.file_name()).starts_with(headers) ? s.b.place : where;
}

template <class... T, class... A, std::size_t... K>
std::tuple<expr<T>...> expressions_from(graph_state& s, symbol const* at, std::index_sequence<K...>,
                                        std::type_identity<std::tuple<expr<T>...>>) {
  return {expr<T>(standing(s, at[K]))...};
}
template <class Tuple> Tuple expressions(graph_state& s, symbol const* at) {
  return expressions_from(s, at, std::make_index_sequence<std::tuple_size_v<Tuple>>{},
                          std::type_identity<Tuple>{});
}

// ---- half precision: operations give float

/// The element of a value that meets one of element U: float for half precision that meets another element.
template <class T, class U> using settled_element = std::conditional_t<std::is_same_v<T, U>, T, arithmetic_type<T>>;
template <std::size_t K, class T, class Tuple> struct element_or {
  using type = T;
};
template <std::size_t K, class T, class Tuple>
  requires(K < std::tuple_size_v<Tuple>)
struct element_or<K, T, Tuple> {
  using type = typename std::tuple_element_t<K, Tuple>::value_type;
};
/// Expressions that meet those of other tuples: branches, or the next values of a loop.
template <class Indices, class First, class... Rest> struct all_settled {
  using type = First;
};
template <std::size_t... K, class... T, class Next, class... Rest>
struct all_settled<std::index_sequence<K...>, std::tuple<expr<T>...>, Next, Rest...>
    : all_settled<std::index_sequence<K...>, std::tuple<expr<settled_element<T, typename element_or<K, T, Next>::type>>...>, Rest...> {};
template <class First, class... Rest>
struct settled_among : all_settled<std::make_index_sequence<std::tuple_size_v<First>>, First, Rest...> {};
template <class... All> using settled_values = typename settled_among<All...>::type;

/// The results of a function of the values of a tuple, as expressions.
template <class F, class Values>
using returned_by = typename returned<std::remove_cvref_t<decltype(std::apply(std::declval<F const&>(), std::declval<Values>()))>>::type;

template <class Tuple> inline constexpr bool has_half = false;
template <class... T> inline constexpr bool has_half<std::tuple<expr<T>...>> = (is_half_type<T> || ...);
/// True if a body that gets values of half precision returns float for some.
template <class Carried, class Body> consteval bool widens_carried() {
  if constexpr (has_half<Carried>) {
    using given = decltype(std::tuple_cat(std::declval<std::tuple<expr<std::int64_t>>>(), std::declval<Carried>()));
    return !std::is_same_v<settled_values<Carried, returned_by<Body, given const&>>, Carried>;
  } else return false;
}
/// A value of half precision as float.
template <class A> auto as_wide(std::source_location where, A const& a) {
  if constexpr (open_expr<A>) return widened(where, a);
  else if constexpr (is_half_type<A>) return static_cast<float>(a);
  else return a;
}

/// Appends a loop of its parts. `Condition` may be `std::nullptr_t`; then there is a limit.
template <loop Options, class Inits, class Condition, class Body, class Limit>
auto append_loop(std::source_location where, char const* name, Condition const& condition, Body const& body,
               Limit const& limit, Inits const& inits) {
  using carried = typename returned<Inits>::type;
  constexpr int count = static_cast<int>(std::tuple_size_v<Inits>);
  request r{name, static_cast<int>(std::string_view(name).size()), nullptr, 0, where};
  graph_state* const found = [&] {
    return std::apply([&](auto const&... x) { return state_among(limit, x...); }, inits);
  }();
  if (found == nullptr) {
    static builder const nothing;
    raise<refusals::dynamic_detached>(nothing, r);
  }
  graph_state& s = *found;
  r.where = where = place_of_call(s, where);
  same_region const region{s};
  undo back(s);
  std::vector<symbol> first = [&] {
    std::vector<symbol> at;
    std::apply(
        [&](auto const&... x) {
          (at.push_back(symbol_of<typename element_taken<std::remove_cvref_t<decltype(x)>>::type>(s, x, r)),
           ...);
        },
        inits);
    return at;
  }();
  symbol last = none, most = none;
  s.b.place = where;
  if constexpr (!std::is_null_pointer_v<Limit>) {
    last = symbol_of<std::int64_t>(s, limit, r);
    if (is_index(s.b.get().tensors[last].type)) last = extend::convert({&s.b, last}, element::int64).id; // (others are refused)
  }
  cotangent::detail::refuse_negative<Options>();
  if constexpr (Options.max_iterations > 0) most = scalar_symbol(s, element::int64, Options.max_iterations, where);
  loop_builder loop(s.b, {.inits = first.data(),
                          .carried = count,
                          .limit = last,
                          .flags = Options.reverse ? std::int64_t{loop_layout::reverse} : 0,
                          .tape_limit = Options.tape_limit,
                          .most = most});
  back.check(r);
  std::int32_t const before = s.b.get().nodes.size();
  auto const each = [&](auto const& f, symbol const* in) {
    expr<std::int64_t> const i(standing(s, in[0]));
    return std::apply([&](auto const&... x) { return f(i, x...); }, expressions<carried>(s, in + 1));
  };
  if constexpr (!std::is_null_pointer_v<Condition>) {
    symbol const* const in = loop.open_condition();
    open_body const here(s, loop, region.region);
    auto const goes_on = each(condition, in);
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(goes_on)>, expr<bool>>,
                  "cotangent: loop: the condition must be one bool");
    s.b.place = r.where = place_among(s, before, where);
    symbol asked = symbol_of<bool>(s, goes_on, r);
    hold_prints(s.b, &asked, 1);
    fill_unwritten(s, r.where);
    loop.close_condition(asked);
  }
  back.check(r);
  {
    symbol const* const in = loop.open_body_of_rows();
    open_body const here(s, loop, region.region);
    auto const made = each(body, in);
    using likes = elements_in_tuple<carried>;
    s.b.place = r.where = place_among(s, before, where);
    std::vector<symbol> next = results_of<refusals::carried_type, likes>(s, made, r);
    hold_prints(s.b, next);
    fill_unwritten(s, r.where);
    loop.close_body(next.data(), static_cast<int>(next.size()));
  }
  s.b.region = region.region;
  back.check(r);
  (void)loop.finish(r.where);
  back.check(r);
  symbol results[count + 1]{};
  for (int k = 0; k < count; ++k) results[k] = loop.last(k);
  back.keep();
  tell_made(s);
  return one_or_several(expressions<carried>(s, results));
}

/// Builds a loop from its parts, with float in place of half precision where the body computes float.
template <loop Options, class Inits, class Condition, class Body, class Limit>
auto make_loop(std::source_location where, char const* name, Condition const& condition, Body const& body,
               Limit const& limit, Inits const& inits) {
  if constexpr (widens_carried<typename returned<Inits>::type, Body>())
    return std::apply(
        [&](auto const&... x) {
          return detail::append_loop<Options>(where, name, condition, body, limit, std::tuple(as_wide(where, x)...));
        },
        inits);
  else return detail::append_loop<Options>(where, name, condition, body, limit, inits);
}

/// True if the call is for expressions of a run-time graph. (Loops of trees are in trace/functions/loops.hpp.)
template <class... A>
concept for_open = (cotangent::detail::graph_expr<A> || ...) && ((cotangent::detail::graph_expr<A> || is_expr<A> || literal<A>) && ...);

} // namespace dynamic::detail

/// While `condition(i, x...)` is true, the next x... are `body(i, x...)`; i counts the iterations from 0.
/// Returns the final carried values: one expression, or a tuple of several. The condition is evaluated before
/// each iteration, so there may be none.
///
///     auto y = ct::while_loop([](auto i, auto x) { return i < 5; }, [&](auto i, auto x) { return ct::log(x * w); }, x0);
template <loop Options = loop{}, class Condition, class Body, class... X>
  requires dynamic::detail::for_open<X...>
auto while_loop(Condition const& condition, Body const& body, X const&... init) {
  return dynamic::detail::make_loop<Options>(std::source_location{}, "while_loop", condition, body, nullptr,
                                             std::tuple<X...>(init...));
}
// Default arguments cannot follow a pack: the first overloads are written out, for the user's source
// location.
template <loop Options = loop{}, class Condition, class Body, class X0>
  requires dynamic::detail::for_open<X0>
auto while_loop(Condition const& condition, Body const& body, X0 const& x0,
                std::source_location where = std::source_location::current()) {
  return dynamic::detail::make_loop<Options>(where, "while_loop", condition, body, nullptr,
                                             std::tuple<X0>(x0));
}
template <loop Options = loop{}, class Condition, class Body, class X0, class X1>
  requires dynamic::detail::for_open<X0, X1>
auto while_loop(Condition const& condition, Body const& body, X0 const& x0, X1 const& x1,
                std::source_location where = std::source_location::current()) {
  return dynamic::detail::make_loop<Options>(where, "while_loop", condition, body, nullptr,
                                             std::tuple<X0, X1>(x0, x1));
}
template <loop Options = loop{}, class Condition, class Body, class X0, class X1, class X2>
  requires dynamic::detail::for_open<X0, X1, X2>
auto while_loop(Condition const& condition, Body const& body, X0 const& x0, X1 const& x1, X2 const& x2,
                std::source_location where = std::source_location::current()) {
  return dynamic::detail::make_loop<Options>(where, "while_loop", condition, body, nullptr,
                                             std::tuple<X0, X1, X2>(x0, x1, x2));
}
template <loop Options = loop{}, class Condition, class Body, class X0, class X1, class X2, class X3>
  requires dynamic::detail::for_open<X0, X1, X2, X3>
auto while_loop(Condition const& condition, Body const& body, X0 const& x0, X1 const& x1, X2 const& x2,
                X3 const& x3, std::source_location where = std::source_location::current()) {
  return dynamic::detail::make_loop<Options>(where, "while_loop", condition, body, nullptr,
                                             std::tuple<X0, X1, X2, X3>(x0, x1, x2, x3));
}

/// Calls `body(i, x...)` for i = 0, 1, ..., count - 1; otherwise like `while_loop`.
template <loop Options = loop{}, class Count, class Body, class... X>
  requires(dynamic::detail::for_open<Count, X...> &&
           (dynamic::detail::open_expr<Count> || std::is_integral_v<Count>))
auto for_loop(Count const& count, Body const& body, X const&... init) {
  return dynamic::detail::make_loop<Options>(std::source_location{}, "for_loop", nullptr, body, count,
                                             std::tuple<X...>(init...));
}
template <loop Options = loop{}, class Count, class Body, class X0>
  requires(dynamic::detail::for_open<Count, X0> &&
           (dynamic::detail::open_expr<Count> || std::is_integral_v<Count>))
auto for_loop(Count const& count, Body const& body, X0 const& x0,
              std::source_location where = std::source_location::current()) {
  return dynamic::detail::make_loop<Options>(where, "for_loop", nullptr, body, count, std::tuple<X0>(x0));
}
template <loop Options = loop{}, class Count, class Body, class X0, class X1>
  requires(dynamic::detail::for_open<Count, X0, X1> &&
           (dynamic::detail::open_expr<Count> || std::is_integral_v<Count>))
auto for_loop(Count const& count, Body const& body, X0 const& x0, X1 const& x1,
              std::source_location where = std::source_location::current()) {
  return dynamic::detail::make_loop<Options>(where, "for_loop", nullptr, body, count,
                                             std::tuple<X0, X1>(x0, x1));
}
template <loop Options = loop{}, class Count, class Body, class X0, class X1, class X2>
  requires(dynamic::detail::for_open<Count, X0, X1, X2> &&
           (dynamic::detail::open_expr<Count> || std::is_integral_v<Count>))
auto for_loop(Count const& count, Body const& body, X0 const& x0, X1 const& x1, X2 const& x2,
              std::source_location where = std::source_location::current()) {
  return dynamic::detail::make_loop<Options>(where, "for_loop", nullptr, body, count,
                                             std::tuple<X0, X1, X2>(x0, x1, x2));
}
template <loop Options = loop{}, class Count, class Body, class X0, class X1, class X2, class X3>
  requires(dynamic::detail::for_open<Count, X0, X1, X2, X3> &&
           (dynamic::detail::open_expr<Count> || std::is_integral_v<Count>))
auto for_loop(Count const& count, Body const& body, X0 const& x0, X1 const& x1, X2 const& x2, X3 const& x3,
              std::source_location where = std::source_location::current()) {
  return dynamic::detail::make_loop<Options>(where, "for_loop", nullptr, body, count,
                                             std::tuple<X0, X1, X2, X3>(x0, x1, x2, x3));
}

} // namespace cotangent
COTANGENT_COLD_END

#endif
